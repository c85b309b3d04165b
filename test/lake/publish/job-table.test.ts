/** Commits of one process to a table that others write too. */
import { beforeEach, expect, test } from 'vitest';
import { CommitUnknownError, FencedError, RetriableError } from '../../../src/core/errors.ts';
import { addDays, silentLog, type TableChange, type VesselDay } from '../../../src/core/model/index.ts';
import { JobTable } from '../../../src/lake/publish/job-table.ts';
import { openTable } from '../../../src/lake/table/table.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';
import { replayTable } from '../../helpers/table.ts';

const PREFIX = 'measurements/';
const CONTENT = {
  job: 'measurements',
  dataset: 'measurements' as const,
  columns: [{ name: 'timestamp', type: 'timestamp' as const }],
};
let store: ObjectStore;
let clock: ManualClock;

beforeEach(async () => {
  store = createMemoryStore();
  clock = createManualClock(Date.parse('2026-01-06T06:15:00Z'));
});

/** The table as another process has it open; `over` is what goes wrong in its store. */
async function openJobTable(over: Partial<ObjectStore> = {}): Promise<JobTable> {
  const ports = { store: { ...store, ...over }, clock, log: silentLog, prefix: PREFIX };
  const table = new JobTable({ ...ports, table: await openTable(ports) });
  await table.prepare(CONTENT);
  return table;
}

function dayOf(n: number): VesselDay {
  return { job: 'measurements', vessel: 'IMO9321483', date: addDays('2026-01-01', n) };
}

function keyOf(n: number, name: string): string {
  return `${PREFIX}vessel=IMO9321483/date=${dayOf(n).date}/${name.padStart(16, '0')}.parquet`;
}

function change(n: number, name: string, since: number, removed?: string): TableChange {
  return {
    remove: removed === undefined ? [] : [{ key: keyOf(n, removed), sizeBytes: 9 }],
    add: { key: keyOf(n, name), sizeBytes: 9, modifiedMs: 0, stats: '{"numRecords":1}' },
    since,
  };
}

const stands = async () => {};
const fenced = async () => {
  throw new FencedError('fenced', 'attempt 2 has taken over');
};

function commit(table: JobTable, n: number, name: string, removed?: string, checkFence = stands) {
  return table.commit({ day: dayOf(n), change: change(n, name, table.version, removed), checkFence });
}

/** Let the second between two entries pass. */
async function passSecond(): Promise<void> {
  await clock.untilSleeping();
  await clock.advance(1_000);
}

test('the first is committed at once, and what is ready within a second with one entry', async () => {
  const table = await openJobTable();
  const first = commit(table, 0, 'a');
  const others = Array.from({ length: 30 }, (_, n) => commit(table, n + 1, 'a'));
  expect(await first).toBe(1);
  await passSecond();
  expect(new Set(await Promise.all(others))).toEqual(new Set([2]));
  expect((await replayTable(store, 'measurements')).operations).toEqual(['CREATE TABLE', 'WRITE', 'WRITE']);
  await table.close();
});

test('of a group that one is fenced in, the others are committed', async () => {
  const table = await openJobTable();
  const first = commit(table, 0, 'a');
  const late = commit(table, 1, 'a', undefined, fenced);
  const other = commit(table, 2, 'a');
  late.catch(() => {});
  await first;
  await passSecond();
  expect(await other).toBe(2);
  await expect(late).rejects.toThrow('attempt 2 has taken over');
  expect([...(await replayTable(store, 'measurements')).view.keys()]).toHaveLength(2);
});

test('who loses a version tries the next one, unless his day was touched', async () => {
  const [table, other] = [await openJobTable(), await openJobTable()];
  await commit(table, 0, 'a');
  expect(await commit(other, 1, 'a')).toBe(2);
  const [touched, untouched] = [commit(other, 0, 'b'), commit(other, 2, 'a')];
  touched.catch(() => {});
  await passSecond();
  await expect(touched).rejects.toMatchObject({ code: 'object-changed' });
  expect(await untouched).toBe(3);
  // What was read before somebody else replaced it is not removed again.
  const again = commit(other, 0, 'c', 'a', fenced);
  again.catch(() => {});
  await commit(await openJobTable(), 0, 'd', 'a');
  await passSecond();
  await expect(again).rejects.toBeInstanceOf(FencedError);
  expect(
    (await replayTable(store, 'measurements')).view.get(`vessel=IMO9321483/date=${dayOf(0).date}`),
  ).toEqual([{ path: keyOf(0, 'd').slice(PREFIX.length), rows: 1 }]);
});

test('a commit whose answer was lost is looked for before anything else is written', async () => {
  let lost = 0;
  const table = await openJobTable({
    async putIfAbsent(key, bytes) {
      const written = await store.putIfAbsent(key, bytes);
      if (key.endsWith('1.json') && lost++ < 100) throw new RetriableError('unreachable', 'no answer');
      return written;
    },
  });
  const committed = commit(table, 0, 'a');
  // One step of the clock is one wait between tries or several, as fast as the disk answers.
  let isOver = false;
  const ended = committed.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await Promise.race([clock.untilSleeping(), ended]);
    await clock.advance(10_000);
  }
  expect(await committed).toBe(1);
  expect(lost).toBeGreaterThan(1);
  const { operations, view } = await replayTable(store, 'measurements');
  expect([operations.length, [...view.values()].flat()]).toMatchObject([2, [{ rows: 1 }]]);
});

test('an entry that is not to be seen for a moment fails nobody', async () => {
  const other = await openJobTable();
  const key = `${PREFIX}_delta_log/${'2'.padStart(20, '0')}.json`;
  let hiddenUntilMs = Number.POSITIVE_INFINITY;
  const isHidden = (asked: string) => asked === key && clock.monotonicMs() < hiddenUntilMs;
  const table = await openJobTable({
    get: async (asked) => (isHidden(asked) ? undefined : store.get(asked)),
    head: async (asked) => (isHidden(asked) ? undefined : store.head(asked)),
    async *list(prefix) {
      for await (const listed of store.list(prefix)) if (!isHidden(listed.key)) yield listed;
    },
  });
  for (const n of [0, 1, 2]) {
    const committed = commit(other, n, 'a');
    if (n > 0) await passSecond();
    await committed;
  }
  hiddenUntilMs = clock.monotonicMs() + 500;
  const committed = commit(table, 3, 'a');
  await passSecond();
  expect(await committed).toBe(4);
});

test('a store that never answers leaves the outcome unknown', async () => {
  const table = await openJobTable();
  const silent = await openJobTable({
    async putIfAbsent() {
      throw new RetriableError('unreachable', 'no answer');
    },
  });
  let outcome: unknown;
  const ended = commit(silent, 0, 'a').catch((error: unknown) => {
    outcome = error;
  });
  while (outcome === undefined) {
    await Promise.race([clock.untilSleeping(), ended]);
    await clock.advance(10_000);
  }
  expect(outcome).toBeInstanceOf(CommitUnknownError);
  expect(await table.settle(dayOf(0), change(0, 'a', 0))).toBeUndefined();
});

test('I5: an entry that was on its way when its attempt was fenced comes to a version that is taken', async () => {
  const successor = await openJobTable();
  const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = await openJobTable({
    async putIfAbsent(key, bytes) {
      reached.resolve();
      await gate.promise;
      return store.putIfAbsent(key, bytes);
    },
  });
  const own = change(0, 'late', slow.version);
  const late = slow.commit({ day: dayOf(0), change: own, checkFence: fenced });
  late.catch(() => {});
  await reached.promise;
  expect(await successor.settle(dayOf(0), own)).toBeUndefined();
  gate.resolve();
  await expect(late).rejects.toBeInstanceOf(FencedError);
  expect((await replayTable(store, 'measurements')).operations).toEqual(['CREATE TABLE', 'FENCE']);
});

test('what a predecessor has committed is found, also a day that it emptied', async () => {
  const [table, successor] = [await openJobTable(), await openJobTable()];
  const first = change(0, 'a', 0);
  await table.commit({ day: dayOf(0), change: first, checkFence: stands });
  expect(await successor.settle(dayOf(0), first)).toBe(1);
  const emptied: TableChange = { remove: [{ key: keyOf(0, 'a'), sizeBytes: 9 }], add: null, since: 1 };
  const emptying = table.commit({ day: dayOf(0), change: emptied, checkFence: stands });
  await passSecond();
  expect(await emptying).toBe(2);
  expect(await successor.settle(dayOf(0), emptied)).toBe(2);
  expect((await replayTable(store, 'measurements')).operations).toEqual(['CREATE TABLE', 'WRITE', 'WRITE']);
});
