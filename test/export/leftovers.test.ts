/** What is left of a vessel-day beside its export: an object whose receipt was removed, a note of a try that failed. */
import { expect, test } from 'vitest';
import { noteRefusals } from '../../src/audit/reconcile/repair.ts';
import { NEXT_STEPS, OTHER_STEPS } from '../../src/audit/status/next-steps.ts';
import type { Dataset, Layout } from '../../src/core/model/index.ts';
import { addDays, silentLog } from '../../src/core/model/index.ts';
import { thisProcess } from '../../src/core/process/process-id.ts';
import { exportJobs } from '../../src/export/run/run-jobs.ts';
import { LAKE_KEY, receiptKey } from '../../src/lake/keys.ts';
import { rebuildLog } from '../../src/lake/upkeep/rebuild-log.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import {
  type Asked,
  DATE,
  DAY,
  jobOf,
  openMemoryLake,
  seriesOf,
  startProcess,
} from '../helpers/memory-lake.ts';

const BOTH = [seriesOf('S1'), seriesOf('S2')];
/** One series is lost, and of the other a reading. */
const LESS = [seriesOf('S2', 2)];

/** Each run answers its code. A snapshot is taken on its day. */
function open(dataset: Dataset, layout: Layout = 'plain') {
  const lake = openMemoryLake(BOTH, layout);
  const runDay = async (asked: Asked = {}) => {
    const noon = Date.parse(`${asked.date ?? DATE}T12:00:00Z`);
    const clock = createManualClock(dataset === 'metadata' ? noon : lake.clock.nowMs());
    return (await lake.run({ job: jobOf(dataset), over: { clock }, ...asked })).code;
  };
  return { ...lake, runDay };
}

for (const layout of ['plain', 'delta'] as const)
  for (const dataset of ['measurements', 'statistics', 'metadata'] as const)
    test(`${layout}, ${dataset}: nothing goes unsaid of a day whose receipt was removed`, async () => {
      const { source, store, runDay, receipt } = open(dataset, layout);
      expect(await runDay()).toBe('published');
      await store.remove(receiptKey(DAY));
      source.series = LESS;
      expect(await runDay()).toBe('would-shrink');
      expect(await receipt()).toBeUndefined();
      source.series = BOTH;
      expect(await runDay()).toBe('published');
      await store.remove(receiptKey(DAY));
      source.series = LESS;
      expect(await runDay({ allowShrink: true })).toBe('published');
    });

test('a snapshot that equals the last one ends what was noted of its day', async () => {
  const { source, runDay, note } = open('metadata');
  expect(await runDay()).toBe('published');
  const date = addDays(DATE, 1);
  source.series = [];
  expect(await runDay({ date })).toBe('no-series');
  expect(await note(date)).toMatchObject({ state: 'failed' });
  source.series = BOTH;
  expect(await runDay({ date })).toBe('unchanged');
  expect(await note(date)).toBeUndefined();
});

test('what is advised of a refused day publishes it', async () => {
  const lake = open('measurements');
  expect(await lake.runDay()).toBe('published');
  lake.source.series = LESS;
  const { next } = NEXT_STEPS.find(({ codes }) => codes.includes('would-shrink'))!;
  // As a look-back refuses it, the day is done as far as a plan knows.
  for (const advice of [next, OTHER_STEPS.refused]) {
    const how = { force: / --force\b/.test(advice), allowShrink: / --allow-shrink\b/.test(advice) };
    const results: string[] = [];
    const request = { jobs: [jobOf()], from: DATE, to: addDays(DATE, 1), vessels: [] };
    await exportJobs(
      startProcess(lake),
      { ...request, ...how, takeover: false, concurrency: 1 },
      (event) => event.kind === 'day-result' && results.push(event.result.status),
      new AbortController().signal,
    );
    expect(results).toEqual(['published']);
  }
});

test('a look-back that could compare a day ends what was noted of its receipt', async () => {
  const { store, clock, runDay, note } = open('measurements');
  expect(await runDay()).toBe('published');
  const receipt = (await store.get(receiptKey(DAY)))!.bytes;
  await store.put(receiptKey(DAY), Buffer.from('{'));
  expect(await runDay()).toBe('damaged-receipt');
  await store.put(receiptKey(DAY), receipt);
  const of = (wasCompared: boolean) => ({ job: DAY.job, findings: [], wasCompared: () => wasCompared });
  expect(await noteRefusals({ store, clock }, of(false))).toEqual([]);
  expect(await note()).toMatchObject({ code: 'damaged-receipt' });
  expect(await noteRefusals({ store, clock }, of(true))).toEqual([DAY]);
  expect(await note()).toBeUndefined();
});

test('which dataset a rebuilt log is of says the earliest day, whichever receipt is read first', async () => {
  const date = addDays(DATE, 1);
  const { store, clock, runDay } = open('measurements');
  expect(await runDay()).toBe('published');
  expect(await runDay({ job: jobOf('statistics'), date })).toBe('published');
  // As after a conversion whose log is lost.
  await store.put(LAKE_KEY, Buffer.from('{"lakeVersion":1,"layout":"delta"}'));
  const slow: ObjectStore = {
    ...store,
    async get(key) {
      if (key === receiptKey(DAY)) await new Promise((resolve) => setTimeout(resolve, 20));
      return store.get(key);
    },
  };
  const ports = { store: slow, clock, log: silentLog, self: thisProcess(), say: () => {} };
  const { leftOut } = await rebuildLog({ ...ports, signal: new AbortController().signal }, DAY.job, false);
  expect(leftOut.map(({ day }) => day.date)).toEqual([date]);
});
