import { rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parquetMetadata } from 'hyparquet';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CommitUnknownError, DataError, FatalError, RetriableError } from '../../../src/core/errors.ts';
import { openTable, type Table } from '../../../src/lake/table/table.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { newMemoryFolder, type TempFolder } from '../../helpers/temp.ts';
import { expectFault, keysOf } from '../../store/store-suite.ts';
import {
  addOf,
  append,
  LOG_FOLDER,
  MEASUREMENTS,
  namesIn,
  newTable,
  placeOf,
  removeOf,
  VESSEL,
} from './fixtures.ts';

const DATE = '2026-01-05';
const DAY_MS = 86_400_000;
let folder: TempFolder;
let store: ObjectStore;
beforeEach(async () => {
  folder = await newMemoryFolder();
  store = createLocalStore(folder.path);
});
afterEach(() => folder.remove());

const versionName = (version: number) => String(version).padStart(20, '0');
const entryPath = (version: number) => join(folder.path, LOG_FOLDER, `${versionName(version)}.json`);
const checkpoints = async () =>
  (await keysOf(store, LOG_FOLDER)).filter((key) => key.includes('.checkpoint.'));

/** So many commits of a file each, of a vessel of its own. */
async function appendTidied(table: Table, count: number): Promise<void> {
  for (let left = count; left > 0; left--) {
    const number = table.version;
    await append(table, addOf(`file${number}`, DATE, number, `IMO${1_000_000 + number}`));
    await table.tidy();
  }
}

test('no table is version -1, and preparing makes it', async () => {
  const place = placeOf(store);
  expect((await openTable(place)).version).toBe(-1);
  const table = await newTable(place);
  expect(table.version).toBe(0);
  expect(table.preparation(MEASUREMENTS)).toEqual([]);
  const again = await openTable(place);
  expect(again.metadata).toEqual(table.metadata);
  const more = {
    ...MEASUREMENTS,
    columns: [...MEASUREMENTS.columns, { name: 'id', type: 'series' } as const],
  };
  const [added] = again.preparation(more);
  expect(added).toHaveProperty('metaData.id', table.metadata?.id);
});

test('of those who write the same version one wins, and the others read what it wrote', async () => {
  const place = placeOf(store);
  const tables = [await newTable(place), ...(await Promise.all([1, 2, 3, 4, 5].map(() => openTable(place))))];
  const won = await Promise.all(
    tables.map((table, i) => table.commit(0, 'WRITE', [addOf(`racer${i}`, DATE, i)])),
  );
  expect(won.filter(Boolean)).toHaveLength(1);
  const winner = won.indexOf(true);
  for (const table of tables) {
    const entries = await table.refresh();
    expect(entries!.map(({ version }) => version)).toEqual(tables.indexOf(table) === winner ? [] : [1]);
    expect(table.filesOf(VESSEL, DATE).map(({ path }) => path)).toEqual([
      `vessel=${VESSEL}/date=${DATE}/racer${winner}.parquet`,
    ]);
  }
});

test('a day is replaced, emptied, and comes again', async () => {
  const place = placeOf(store);
  const table = await newTable(place);
  const [first, second] = [addOf('a', DATE), addOf('b', DATE, 7)];
  await append(table, first, addOf('x', '2026-01-06', 1, 'IMO1234567'));
  await append(table, removeOf(first, place.clock.nowMs()), second);
  expect(table.filesOf(VESSEL, DATE)).toEqual([{ path: second.add.path, sizeBytes: 1_007, addedIn: 2 }]);
  await append(table, removeOf(second, place.clock.nowMs()));
  expect(table.filesOf(VESSEL, DATE)).toEqual([]);
  expect([...table.tombstones.values()].map(({ path }) => path)).toEqual([first.add.path, second.add.path]);
  await append(table, first);
  expect(table.fileCount).toBe(2);
  expect([...table.tombstones.values()].map(({ path }) => path)).toEqual([second.add.path]);
  expect(await namesIn(place)).toEqual(['a.parquet {"numRecords":1}', 'x.parquet {"numRecords":1}']);
});

/** A store whose answers to the first `faults` puts of entries are lost; `written` says whether the put took place. */
function losingAnswers(faults: number, written: boolean): ObjectStore {
  let left = faults;
  return {
    ...store,
    async putIfAbsent(key, bytes) {
      if (left-- <= 0) return await store.putIfAbsent(key, bytes);
      if (written) await store.putIfAbsent(key, bytes);
      throw new RetriableError('store-unreachable', 'no answer');
    },
  };
}

test.for([true, false])('a lost answer costs nothing, written or not: %s', async (written) => {
  const place = placeOf(store);
  await newTable(place);
  const table = await openTable({ ...place, store: losingAnswers(1, written) });
  const committed = table.commit(0, 'WRITE', [addOf('a', DATE)]);
  await place.clock.untilSleeping();
  await place.clock.advance(1_000);
  expect(await committed).toBe(true);
  expect(await namesIn(place)).toHaveLength(1);
  expect((await openTable(place)).version).toBe(1);
});

test('a lost answer is none of ours where another has won meanwhile', async () => {
  const place = placeOf(store);
  const other = await newTable(place);
  const table = await openTable({ ...place, store: losingAnswers(1, false) });
  const committed = table.commit(0, 'WRITE', [addOf('a', DATE)]);
  await place.clock.untilSleeping();
  await append(other, addOf('b', DATE));
  await place.clock.advance(1_000);
  expect(await committed).toBe(false);
});

test('an outcome that nobody tells is said to be unknown, and the next look finds it', async () => {
  const place = placeOf(store);
  await newTable(place);
  const table = await openTable({ ...place, store: losingAnswers(99, true) });
  const committed = table.commit(0, 'WRITE', [addOf('a', DATE)]);
  const fault = expectFault(() => committed, CommitUnknownError, 'commit-unknown');
  // No further than this sleep: one that begins at once would be over too, and waited for in vain.
  for (const delayMs of [500, 1_000, 1_500, 2_000]) {
    await place.clock.untilSleeping((found) => found === delayMs);
    await place.clock.advance(delayMs);
  }
  await fault;
  expect(table.version).toBe(0);
  await table.refresh();
  expect(table.version).toBe(1);
  expect(table.filesOf(VESSEL, DATE)).toHaveLength(1);
});

test('checkpoints come by themselves, and readers need no entry before them', async () => {
  const place = placeOf(store, { checkpointVersions: 10 });
  const table = await newTable(place);
  const days = Array.from({ length: 25 }, (_, i) => addOf(`file${i}`, DATE, i, `IMO${1_000_000 + i}`));
  for (const day of days) {
    await append(table, day);
    await table.tidy();
  }
  await append(table, removeOf(days[3]!, place.clock.nowMs()));
  expect((await checkpoints()).map((key) => Number(key.slice(LOG_FOLDER.length).slice(0, 20)))).toEqual([
    10, 20,
  ]);
  const expected = await namesIn(place);
  expect(expected).toHaveLength(24);
  expect(expected).toContain('file7.parquet {"numRecords":7}');
  for (let version = 0; version < 20; version++) await rm(entryPath(version));
  expect(await namesIn(place)).toEqual(expected);
  const again = await openTable(place);
  expect(again.metadata).toEqual(table.metadata);
  expect([...again.tombstones.values()]).toHaveLength(1);
  expect(place.warnings).toEqual([]);
});

test.for([
  ['is missing', (path: string) => rm(path)],
  ['is no JSON', (path: string) => writeFile(path, '{"version":')],
  ['names a checkpoint that is not there', (path: string) => writeFile(path, '{"version":11}')],
  ['names one of a thousand parts', (path: string) => writeFile(path, '{"version":10,"parts":1000}')],
  ['is half a number', (path: string) => writeFile(path, '{"version":1.5}')],
] as const)('a _last_checkpoint that %s costs a list', async ([, damage]) => {
  const place = placeOf(store, { checkpointVersions: 10 });
  const table = await newTable(place);
  await appendTidied(table, 12);
  await damage(join(folder.path, LOG_FOLDER, '_last_checkpoint'));
  for (let version = 0; version < 10; version++) await rm(entryPath(version));
  expect(await namesIn(place)).toHaveLength(12);
});

test('a _last_checkpoint beyond the newest entry tells that newer ones are lost', async () => {
  const place = placeOf(store);
  const table = await newTable(place);
  for (const name of ['a', 'b', 'c']) await append(table, addOf(name, DATE));
  await table.checkpoint();
  for (const key of await checkpoints()) await store.remove(key);
  expect((await openTable(place)).version).toBe(3);
  await rm(entryPath(3));
  expect((await expectFault(() => openTable(place), DataError, 'damaged-log')).message).toContain(
    'found version 3, expected no version beyond 2, the last that is there',
  );
});

test('a damaged checkpoint is passed over as long as entries say the same', async () => {
  const place = placeOf(store, { checkpointVersions: 5 });
  const table = await newTable(place);
  await appendTidied(table, 12);
  const [older, newer] = await checkpoints();
  await writeFile(join(folder.path, newer!), 'no Parquet');
  expect(await namesIn(place)).toHaveLength(12);
  expect(place.warnings).toContain('the last checkpoint is damaged: reading the log without it');
  const again = await openTable(place);
  expect(again.checkpointFault).toBeInstanceOf(DataError);
  await again.checkpoint();
  await store.remove((await checkpoints()).at(-1)!);
  await writeFile(join(folder.path, older!), 'no Parquet either');
  expect(await namesIn(place)).toHaveLength(12);
  await rm(entryPath(0));
  await expectFault(() => openTable(place), DataError, 'damaged-log');
});

test('a version that was taken away is found, and never written anew', async () => {
  const place = placeOf(store);
  const table = await newTable(place);
  for (let i = 1; i <= 6; i++) await append(table, addOf(`file${i}`, DATE, i, `IMO${1_000_000 + i}`));
  for (const gone of [6, 5, 3, 0]) {
    const kept = await store.get(`${LOG_FOLDER}${versionName(gone)}.json`);
    await rm(entryPath(gone));
    // Without the last one it is an older table; without any other it is none.
    if (gone === 6) expect((await openTable(place)).version).toBe(5);
    else {
      const fault = await expectFault(() => openTable(place), DataError, 'damaged-log');
      expect(fault.message).toContain(`${versionName(gone)}.json: found no file`);
    }
    await writeFile(entryPath(gone), kept!.bytes);
  }
});

test('commits go on while a checkpoint is written, which is of the version that it began with', async () => {
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const begin: ObjectStore['begin'] = async (...upload) => {
    begun.resolve();
    await held.promise;
    return await store.begin(...upload);
  };
  const place = placeOf(store);
  const table = await newTable({ ...place, store: { ...store, begin } });
  const early = addOf('early', DATE);
  await append(table, early);
  const written = table.checkpoint();
  await begun.promise;
  await append(table, removeOf(early, place.clock.nowMs()), addOf('late', DATE));
  held.resolve();
  await written;
  expect(await checkpoints()).toEqual([`${LOG_FOLDER}${versionName(1)}.checkpoint.parquet`]);
  expect(await namesIn(place)).toEqual(['late.parquet {"numRecords":1}']);
  await rm(entryPath(2));
  expect(await namesIn(place)).toEqual(['early.parquet {"numRecords":1}']);
});

test('a checkpoint that cannot be written is logged, and harms nothing', async () => {
  const place = placeOf(store, { checkpointVersions: 1 });
  const refusing = { ...store, begin: () => Promise.reject(new FatalError('disk-full', 'no room')) };
  const table = await newTable({ ...place, store: refusing });
  await append(table, addOf('a', DATE));
  await table.tidy();
  expect(place.warnings).toEqual(['no checkpoint could be written']);
  expect(await checkpoints()).toEqual([]);
  await append(table, addOf('b', '2026-01-06'));
  expect(await namesIn(place)).toHaveLength(2);
});

test('old entries go once a checkpoint as old has what they say, and not before', async () => {
  const place = placeOf(store, { checkpointVersions: 10, entriesMs: 30 * DAY_MS });
  const table = await newTable(place);
  await appendTidied(table, 25);
  const old = new Date(place.clock.nowMs() - 31 * DAY_MS);
  // Versions up to 15 are old: those before the checkpoint at 10 can go, those from it on can still be read.
  for (let version = 0; version <= 15; version++) await utimes(entryPath(version), old, old);
  await appendTidied(table, 5);
  const names = (await keysOf(store, LOG_FOLDER)).map((key) => key.slice(LOG_FOLDER.length));
  expect(names[0]).toBe(`${versionName(10)}.checkpoint.parquet`);
  expect(names.filter((name) => name.endsWith('.json'))).toHaveLength(21);
  expect(await namesIn(place)).toHaveLength(30);
});

test('by a clock that is ahead nothing grows old, neither entries nor files that left the table', async () => {
  const place = placeOf(store, { checkpointVersions: 10 });
  await place.clock.advance(40 * DAY_MS);
  const table = await newTable(place);
  const gone = addOf('gone', '2026-01-01');
  await append(table, gone);
  await append(table, removeOf(gone, Date.now()));
  await appendTidied(table, 18);
  expect((await keysOf(store, LOG_FOLDER)).filter((key) => key.endsWith('.json'))).toHaveLength(21);
  expect([...(await openTable(place)).tombstones.values()]).toHaveLength(1);
  expect(await checkpoints()).toHaveLength(2);
});

test.for([
  ['interval 40 days', 30, []],
  ['interval 3 days', 11, []],
  ['forty days', 30, ['nothing of the table is cleaned up']],
] as const)('entries stay as long as the table says: %s', async ([text, left, warnings]) => {
  const place = placeOf(store, { checkpointVersions: 10 });
  const table = await newTable(place);
  const configuration = { ...table.metadata!.configuration, 'delta.logRetentionDuration': text };
  await append(table, { metaData: { ...table.metadata!, configuration } });
  for (let i = 0; i < 18; i++) await append(table, addOf(`file${i}`, DATE, 1, `IMO${1_000_000 + i}`));
  await table.checkpoint();
  const old = new Date(Date.now() - 35 * DAY_MS);
  for (let version = 0; version <= table.version; version++) await utimes(entryPath(version), old, old);
  for (let i = 0; i < 10; i++) await append(table, addOf(`more${i}`, DATE, 1, `IMO${2_000_000 + i}`));
  await table.tidy();
  // Those before the checkpoint at 19 can go; another comes at 29.
  const kept = (await keysOf(store, LOG_FOLDER)).filter((key) => key.endsWith('.json'));
  expect(kept).toHaveLength(left);
  expect(place.warnings).toEqual(warnings);
});

/** As a machine that is far ahead, or an older release, leaves the log: a checkpoint, and no entry before it. */
async function cleanBelowCheckpoint(table: Table): Promise<void> {
  await table.checkpoint();
  for (let version = 0; version < table.version; version++) await rm(entryPath(version), { force: true });
}

test('a commit below a checkpoint is no success, for whoever comes next either', async () => {
  const place = placeOf(store);
  const table = await newTable(place);
  const [early, next] = [await openTable(place), await openTable(place)];
  for (let i = 1; i <= 5; i++) await append(table, addOf(`file${i}`, DATE, 1, `IMO${1_000_000 + i}`));
  await cleanBelowCheckpoint(table);
  const [own, other] = [addOf('own', DATE), addOf('other', '2026-01-06')];
  expect(await early.commit(0, 'WRITE', [own])).toBe(false);
  // What it has put lies where versions were, and looks like the newest one to who was away as long.
  expect(await next.commit(0, 'WRITE', [other])).toBe(false);
  for (const view of [early, next]) {
    await view.refresh();
    expect([view.version, view.fileCount]).toEqual([table.version, table.fileCount]);
    await append(view, view === early ? own : other);
    await table.refresh();
  }
  expect(await namesIn(place)).toHaveLength(7);
});

test('a commit behind an entry that was taken away is no success', async () => {
  const place = placeOf(store);
  const table = await newTable(place);
  await append(table, addOf('a', DATE));
  await rm(entryPath(1));
  expect(await table.commit(1, 'WRITE', [addOf('b', DATE)])).toBe(false);
  await expectFault(() => table.refresh(), DataError, 'damaged-log');
});

test('tombstones stay in checkpoints for their retention', async () => {
  const place = placeOf(store, { checkpointVersions: 1, filesMs: 7 * DAY_MS });
  const table = await newTable(place);
  const [a, b] = [addOf('a', DATE), addOf('b', '2026-01-06')];
  await append(table, a, b);
  const nowMs = place.clock.nowMs();
  await append(table, removeOf(a, nowMs - 8 * DAY_MS), removeOf(b, nowMs - 6 * DAY_MS));
  await table.checkpoint();
  const again = await openTable(place);
  expect([...again.tombstones.values()]).toEqual([
    {
      ...{ path: b.add.path, size: b.add.size, dataChange: true, deletionTimestamp: nowMs - 6 * DAY_MS },
      partitionValues: b.add.partitionValues,
    },
  ]);
});

test('a checkpoint has row groups of bounded size', async () => {
  const place = placeOf(store);
  const table = await newTable(place);
  const days = Array.from({ length: 12_000 }, (_, i) => addOf(`f${i}`, DATE, i, `IMO${1_000_000 + i}`));
  await append(table, ...days.slice(0, 6_000));
  await append(table, ...days.slice(6_000));
  await table.checkpoint();
  const [key] = await checkpoints();
  const { bytes } = (await store.get(key!))!;
  const { row_groups: groups, num_rows: rows } = parquetMetadata(bytes);
  expect(Number(rows)).toBe(12_002);
  expect(groups.every((group) => Number(group.num_rows) <= 5_000)).toBe(true);
  expect(await namesIn(place)).toHaveLength(12_000);
  const last = JSON.parse(Buffer.from((await store.get(`${LOG_FOLDER}_last_checkpoint`))!.bytes).toString());
  expect(last).toEqual({
    ...{ version: 2, size: 12_002, numOfAddFiles: 12_000 },
    sizeInBytes: (await stat(join(folder.path, key!))).size,
  });
});

test('a view that was out of use for long begins anew', async () => {
  const place = placeOf(store, { checkpointVersions: 5 });
  const table = await newTable(place);
  const idle = await openTable(place);
  for (let i = 1; i <= 5; i++) await append(table, addOf(`file${i}`, DATE, 1, `IMO${1_000_000 + i}`));
  await table.tidy();
  for (let version = 0; version < 5; version++) await rm(entryPath(version));
  await place.clock.advance(2 * DAY_MS);
  await idle.refresh();
  expect(idle.fileCount).toBe(5);
});
