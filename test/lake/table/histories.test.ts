/**
 * Processes that commit vessel-days to one table, take each other's over and clean its log, in seeded histories of a store
 * whose answers come late or not at all. What somebody was told holds: see `expectTold`.
 */
import { expect, test } from 'vitest';
import {
  CommitFailedError,
  CommitUnknownError,
  FencedError,
  RetriableError,
} from '../../../src/core/errors.ts';
import { type Clock, silentLog, type TableChange, type VesselDay } from '../../../src/core/model/index.ts';
import { JobTable } from '../../../src/lake/publish/job-table.ts';
import { parseActions } from '../../../src/lake/table/parse-actions.ts';
import { TABLE_RETENTION } from '../../../src/lake/table/retention.ts';
import { openTable } from '../../../src/lake/table/table.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';
import { type Draw, randomOf } from '../../simulation/random.ts';
import { createLife, createScheduler } from '../../simulation/scheduler.ts';
import { drawStoreFaults, storeOf } from '../../simulation/store.ts';
import { MEASUREMENTS } from './fixtures.ts';

const PREFIX = 'measurements/';
const DAYS: readonly VesselDay[] = ['2026-01-01', '2026-01-02', '2026-01-03'].map((date) => ({
  ...{ job: 'measurements', vessel: 'IMO9321483', date },
}));
const ENTRY = /_delta_log\/(\d{20})\.json$/;

const SEEDS = Number(process.env.SEEDS ?? 200);

/** What is planted, to see that it is found. */
type Defect = 'none' | 'no fence' | 'overwrites';

/** What somebody was told: a file is in the table since a version, or (undefined) never will be. */
interface Told {
  readonly key: string;
  readonly version: number | undefined;
}

interface ClaimText {
  readonly epoch: number;
  readonly id: number;
  readonly change?: TableChange;
}

/** A process, as the simulated world has them. */
interface World {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Draw;
}

async function history(seed: number, defect: Defect = 'none'): Promise<void> {
  const [scheduler, draw] = [createScheduler(seed), randomOf(seed, 'history')];
  // The first entry of each version is the one that counts, whatever a clean-up makes room for.
  const log = new Map<number, Uint8Array>();
  const disk = createMemoryStore(
    () => scheduler.nowMs,
    (key, bytes) => {
      const version = ENTRY.exec(key)?.[1];
      if (version !== undefined && bytes && !log.has(Number(version))) log.set(Number(version), bytes);
    },
  );
  if (defect === 'overwrites') overwriteNowAndThen(disk, draw);
  const faults = drawStoreFaults(draw);
  const world = { scheduler, disk, faults: () => faults, draw, onEffect: () => {} };
  const told: Told[] = [];
  const isTidy = seed % 8 === 4;
  const exporters = [0, 1, 2].map((id) => {
    const life = createLife(`${id}`);
    const process = { store: storeOf(life, world), clock: scheduler.clockOf(life), random: draw };
    return exporter(process, id, isTidy, defect, told);
  });
  let isOver = false;
  const all = Promise.all(exporters).finally(() => {
    isOver = true;
  });
  all.catch(() => {});
  await scheduler.run(() => isOver);
  await all;
  expectTold(log, told);
}

/** A store that now and then keeps no condition. */
function overwriteNowAndThen(disk: ObjectStore, draw: Draw): void {
  const { putIf } = disk;
  disk.putIf = async (key, bytes, expected) => {
    if (draw(4) > 0) return await putIf(key, bytes, expected);
    await disk.put(key, bytes);
    return (await disk.head(key))?.version;
  };
}

async function exporter(
  world: World,
  id: number,
  isTidy: boolean,
  defect: Defect,
  told: Told[],
): Promise<void> {
  const { store, clock, random } = world;
  const ports = { store, clock, log: silentLog, prefix: PREFIX };
  // Some of them clean up as much as they may: others are then below a checkpoint in the middle of a commit.
  const retention = { filesMs: 1e12, ...(isTidy ? { entriesMs: 0, checkpointVersions: 2 } : {}) };
  const jobTable = new JobTable({
    ...ports,
    table: await openTable({ ...ports, retention: { ...TABLE_RETENTION, ...retention } }),
  });
  for (let round = 0; round < 3; round++)
    try {
      await jobTable.prepare(MEASUREMENTS);
      await exportDay(world, jobTable, DAYS[random(DAYS.length)]!, `${id}${round}`, id, defect, told);
    } catch (error) {
      const isExpected = [FencedError, CommitFailedError, CommitUnknownError, RetriableError];
      if (!isExpected.some((kind) => error instanceof kind)) throw error;
    }
  await jobTable.close();
}

/** Claim, settle what a predecessor has sealed, seal, commit: as claim.ts and publish.ts do. */
async function exportDay(
  { store }: World,
  jobTable: JobTable,
  day: VesselDay,
  unique: string,
  id: number,
  defect: Defect,
  told: Told[],
): Promise<void> {
  const claimKey = `claim/${day.date}`;
  const read = async () => {
    const found = await store.get(claimKey);
    return found && { version: found.version, file: JSON.parse(`${Buffer.from(found.bytes)}`) as ClaimText };
  };
  const put = (file: ClaimText, expected: string | null) =>
    store.putIf(claimKey, Buffer.from(JSON.stringify(file)), expected);
  const before = await read();
  const own: ClaimText = { epoch: (before?.file.epoch ?? 0) + 1, id };
  const claimed = await put(own, before?.version ?? null);
  if (claimed === undefined) return;
  const sealed = before?.file.change;
  const version = sealed && (await jobTable.settle(day, sealed));
  const remove = await jobTable.filesOf(day, undefined);
  const name = `${own.epoch}${unique}`.padStart(16, '0');
  const key = `${PREFIX}vessel=${day.vessel}/date=${day.date}/${name}.parquet`;
  const add = { key, sizeBytes: 1, modifiedMs: 1, stats: '{"numRecords":1}' };
  const change: TableChange = { since: jobTable.version, remove, add };
  if ((await put({ ...own, change }, claimed)) === undefined) return;
  // By now nobody had fenced it.
  if (sealed?.add) told.push({ key: sealed.add.key, version });
  const checkFence = async () => {
    const now = (await read())?.file;
    if (defect !== 'no fence' && (now?.epoch !== own.epoch || now.id !== id))
      throw new FencedError('fenced', 'taken over');
  };
  told.push({ key, version: await jobTable.commit({ day, change, checkFence }) });
}

/** The log has no hole, no day twice and no file twice, and each file is in it by the version that was told. */
function expectTold(log: ReadonlyMap<number, Uint8Array>, told: readonly Told[]): void {
  const addedIn = new Map<string, number>();
  const files = new Map<string, string | undefined>();
  for (let version = 0; version < log.size; version++) {
    const bytes = log.get(version);
    if (bytes === undefined) throw new Error(`no version ${version} of ${log.size}`);
    for (const action of parseActions(bytes, `${version}`)) {
      if ('remove' in action) files.delete(action.remove.path);
      if (!('add' in action)) continue;
      const { path, partitionValues } = action.add;
      if (addedIn.has(path)) throw new Error(`${path} is added twice`);
      addedIn.set(path, version);
      files.set(path, partitionValues.date ?? undefined);
    }
    const dates = [...files.values()];
    if (new Set(dates).size < dates.length) throw new Error(`a day is there twice in version ${version}`);
  }
  for (const { key, version } of told) {
    const found = addedIn.get(key.slice(PREFIX.length));
    // Of a file that was read from a checkpoint its version is known.
    const isSame = found === undefined || version === undefined ? found === version : found <= version;
    if (!isSame) throw new Error(`${key}: told version ${version}, and the log has ${found}`);
  }
}

/** Messages of the histories that fail. */
async function faultsOf(seeds: number, defect: Defect): Promise<string[]> {
  const faults: string[] = [];
  for (let seed = 1; seed <= seeds; seed++)
    await history(seed, defect).catch((error: Error) => faults.push(`seed ${seed}: ${error.message}`));
  return faults;
}

test('whatever the store does, what was told holds, and a sound log is never called damaged', async () => {
  expect(await faultsOf(SEEDS, 'none')).toEqual([]);
});

test.each(['no fence', 'overwrites'] as const)('a planted defect is found: %s', async (defect) => {
  expect((await faultsOf(40, defect)).length).toBeGreaterThan(0);
});
