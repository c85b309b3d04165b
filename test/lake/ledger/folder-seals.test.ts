/** Receipts that are shown by the word of their folders are those that lie there, whoever wrote what in between. */
import { statSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Receipt } from '../../../src/core/model/index.ts';
import { addDays, datesBetween, silentLog } from '../../../src/core/model/index.ts';
import { indexKey, indexPieceKey, keyPrefix, receiptKey } from '../../../src/lake/keys.ts';
import { packIndex, unpackIndex } from '../../../src/lake/ledger/index-file.ts';
import { toIndexRow } from '../../../src/lake/ledger/indexed-receipt.ts';
import { listVessels, parseReceipt } from '../../../src/lake/ledger/ledger.ts';
import { scanLedger } from '../../../src/lake/ledger/ledger-index.ts';
import type { ShownDates } from '../../../src/lake/ledger/ledger-month.ts';
import { folderStateOf } from '../../../src/store/local/folder-state.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { makeReceipt, vesselIds, writeReceipt, writeReceipts } from '../../helpers/ledger.ts';
import { newTempFolder, type TempFolder } from '../../helpers/temp.ts';

const JOB = 'measurements';
const FROM = '2026-01-05';
const DATES = datesBetween(FROM, addDays(FROM, 3));
/** Enough that it is worth it to seal a single date. */
const VESSELS = vesselIds(70);
const HOUR_MS = 3_600_000;
const MONTH = indexKey(JOB, '2026-01');

let temp: TempFolder;
let store: ObjectStore;
/** Prefixes that were listed. */
let listed: string[];
/** What happens between the look at a folder and its list, and between the list and what follows. */
let onList: (when: 'before' | 'after', prefix: string) => Promise<unknown>;

/** Folders count as settled at once: an hour is added to the clock that says so. */
beforeEach(async () => {
  temp = await newTempFolder();
  const local = createLocalStore(temp.path);
  [listed, onList] = [[], async () => {}];
  store = {
    ...local,
    folderState: async (prefix) => folderStateOf(join(temp.path, prefix), Date.now() + HOUR_MS),
    async *listPages(prefix) {
      listed.push(prefix);
      await onList('before', prefix);
      yield* local.listPages(prefix);
      await onList('after', prefix);
    },
  };
  await writeReceipts(
    store,
    DATES.flatMap((date) => VESSELS.map((vessel) => makeReceipt({ job: JOB, vessel, date }))),
  );
});
afterEach(() => temp.remove());

const day = (vessel: number, date = FROM) => ({ job: JOB, vessel: VESSELS[vessel]!, date });
const pathOf = (vessel: number, date = FROM) => join(temp.path, receiptKey(day(vessel, date)));

/** A change of names now gets other times than every one before. */
async function untilTimesDiffer(): Promise<void> {
  const probe = join(temp.path, 'probe');
  await writeFile(probe, '');
  const before = statSync(probe).ctimeMs;
  for (let name = 0; statSync(probe).ctimeMs === before; name++) {
    await rename(probe, `${probe}${name}`);
    await rename(`${probe}${name}`, probe);
  }
}

interface Asked {
  readonly nowMs?: number;
  readonly dates?: readonly string[];
  readonly vessels?: ReadonlySet<string>;
  /** False: for those who act. */
  readonly isShown?: boolean;
}

/** What is read: by vessel-day the rows, or `damaged`; and how many dates were listed for it. */
async function ask({ nowMs = 0, dates = DATES, vessels, isShown = true }: Asked = {}) {
  const rows: Record<string, number | string> = {};
  listed = [];
  const shown: ShownDates = {
    nowMs: () => Date.now() + nowMs,
    isSame: () => false,
    isListed: () => false,
    begin() {},
  };
  const { damaged, fetched } = await scanLedger({
    ...{ store, job: JOB, dates, writeIndex: true, log: silentLog, members: ['rows'] as const },
    ...(vessels && { vessels }),
    ...(isShown && { shown }),
    take: (receipt) => {
      rows[`${receipt.vessel} ${receipt.date}`] = receipt.rows;
    },
  });
  for (const one of damaged) rows[`${one.day.vessel} ${one.day.date}`] = 'damaged';
  return { rows, lists: listed.length, fetched };
}

/** The same from the receipts alone. */
async function truth({ dates = DATES, vessels }: Asked = {}) {
  const rows: Record<string, number | string> = {};
  const local = createLocalStore(temp.path);
  for (const date of dates)
    for (const { key, vessel } of await listVessels(local, JOB, date)) {
      if (vessels?.has(vessel) === false) continue;
      try {
        rows[`${vessel} ${date}`] = parseReceipt((await local.get(key))!.bytes, key).rows;
      } catch {
        rows[`${vessel} ${date}`] = 'damaged';
      }
    }
  return rows;
}

const rewrite = (receipt: Receipt) => writeReceipt(store, receipt);

test('what is sealed is not listed, until something is put there, replaced or removed', async () => {
  expect(await ask()).toMatchObject({ lists: 3, fetched: 210 });
  expect(await ask()).toEqual({ rows: await truth(), lists: 0, fetched: 0 });
  await untilTimesDiffer();
  await rewrite(makeReceipt(day(3), { rows: 7_654_321 }));
  await store.remove(receiptKey(day(4, DATES[1])));
  expect(await ask()).toEqual({ rows: await truth(), lists: 2, fetched: 1 });
  await rewrite(makeReceipt({ ...day(0), vessel: 'IMO8888888' }));
  expect(await ask()).toEqual({ rows: await truth(), lists: 1, fetched: 1 });
});

test('who acts lists, whatever is sealed', async () => {
  await ask();
  expect(await ask({ isShown: false })).toEqual({ rows: await truth(), lists: 3, fetched: 0 });
});

test('bytes in the place of others are seen by those who act, and by all after a day', async () => {
  await ask();
  await untilTimesDiffer();
  const text = await readFile(pathOf(3), 'utf8');
  await writeFile(pathOf(3), text.replace('"rows":1234567', '"rows":7654321'));
  const rows = await truth();
  expect(rows[`${VESSELS[3]} ${FROM}`]).toBe(7_654_321);
  expect(await ask({ nowMs: 23 * HOUR_MS })).toMatchObject({ lists: 0 });
  expect(await ask({ isShown: false })).toEqual({ rows, lists: 3, fetched: 1 });
  expect(await ask({ nowMs: 25 * HOUR_MS })).toEqual({ rows, lists: 3, fetched: 1 });
  // And sealed anew for another day.
  expect(await ask({ nowMs: 26 * HOUR_MS })).toMatchObject({ lists: 0 });
});

test('a seal of a time that has not come is none', async () => {
  await ask({ nowMs: 2 * HOUR_MS });
  expect(await ask()).toEqual({ rows: await truth(), lists: 3, fetched: 0 });
});

test('receipts that cannot be read are looked at every time', async () => {
  await writeFile(pathOf(7), '{"receiptVersion":1,');
  const { startedAt: _, ...lacking } = makeReceipt(day(8));
  await writeFile(pathOf(8), JSON.stringify(lacking));
  await ask();
  expect(await ask()).toEqual({ rows: await truth(), lists: 0, fetched: 0 });
  for (const at of [7, 8]) expect((await ask()).rows[`${VESSELS[at]} ${FROM}`]).toBe('damaged');
});

test('some vessels do not seal a date for all', async () => {
  const vessels = new Set(VESSELS.slice(0, 35));
  await ask({ vessels });
  expect(await ask()).toEqual({ rows: await truth(), lists: 3, fetched: 105 });
  expect(await ask({ vessels })).toEqual({ rows: await truth({ vessels }), lists: 0, fetched: 0 });
});

test.for(['before', 'after'] as const)(
  'a receipt that is replaced %s its list is not sealed',
  async (then) => {
    await untilTimesDiffer();
    let isDone = false;
    onList = async (when, prefix) => {
      if (isDone || when !== then || !prefix.endsWith(`${FROM}/`)) return;
      isDone = true;
      await rewrite(makeReceipt(day(3), { rows: 7_654_321 }));
    };
    await ask();
    await untilTimesDiffer();
    expect(isDone).toBe(true);
    const { rows, lists } = await ask();
    expect([rows, lists]).toEqual([await truth(), 1]);
    expect(await ask()).toMatchObject({ rows, lists: 0 });
  },
);

test('a piece that comes late, of a receipt that was replaced since, breaks the seal', async () => {
  const before = await listVessels(store, JOB, FROM);
  await untilTimesDiffer();
  await rewrite(makeReceipt(day(3), { rows: 7_654_321 }));
  await ask();
  const rows = VESSELS.map((vessel, at) =>
    toIndexRow(makeReceipt({ job: JOB, vessel, date: FROM }), before[at]!),
  );
  await store.put(indexPieceKey(JOB, '2026-01', 'late'), await packIndex(JOB, rows));
  // Put into the index by somebody who does not look at that date.
  await ask({ dates: DATES.slice(1) });
  const index = await unpackIndex(JOB, (await store.get(MONTH))!.bytes, []);
  expect([...index.seals.keys()].sort()).toEqual(DATES.slice(1));
  expect((await ask()).rows).toEqual(await truth());
});

test('a store that cannot tell is listed', async () => {
  const cannot = { ...store, folderState: async () => undefined };
  await ask();
  store = cannot;
  expect(await ask()).toEqual({ rows: await truth(), lists: 3, fetched: 0 });
});

type Act = readonly [
  name: 'put' | 'spoil' | 'remove' | 'late' | 'read' | 'act' | 'part' | 'drop',
  at: number,
];

test('whatever is written and read in between', async () => {
  const act: fc.Arbitrary<Act> = fc.tuple(
    fc.constantFrom(...(['put', 'spoil', 'remove', 'late', 'read', 'act', 'part', 'drop'] as const)),
    fc.nat(209),
  );
  let rows = 0;
  const perform = async ([name, at]: Act) => {
    const [vessel, date] = [at % 70, DATES[Math.floor(at / 70)]!];
    const key = receiptKey(day(vessel, date));
    if (name === 'put') await rewrite(makeReceipt(day(vessel, date), { rows: ++rows }));
    if (name === 'spoil') await store.put(key, Buffer.from('{'));
    if (name === 'remove') await store.remove(key);
    if (name === 'late') {
      const listedNow = (await listVessels(store, JOB, date)).filter((one) => one.sizeBytes > 1);
      const known = listedNow.map((one) =>
        toIndexRow(makeReceipt({ job: JOB, vessel: one.vessel, date }, { rows: 1 }), { ...one, tag: 'old' }),
      );
      await store.put(indexPieceKey(JOB, '2026-01', `late-${at}`), await packIndex(JOB, known));
    }
    if (name === 'drop') await store.remove(MONTH);
    const dates = name === 'part' ? [date] : DATES;
    if (name === 'read' || name === 'part')
      expect((await ask({ dates })).rows).toEqual(await truth({ dates }));
    if (name === 'act') expect((await ask({ isShown: false })).rows).toEqual(await truth());
    await untilTimesDiffer();
  };
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 12 }), async (acts) => {
      for (const one of acts) await perform(one);
      expect((await ask()).rows).toEqual(await truth());
      expect((await ask()).rows).toEqual(await truth());
    }),
    { numRuns: 20 },
  );
});

test('the prefix of a date is that of its folder', () => {
  expect(keyPrefix('receipt', JOB, FROM).endsWith('/')).toBe(true);
});
