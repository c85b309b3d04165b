/** What is left of a vessel-day beside its export: an object whose receipt was removed, a note of a try that failed. */
import { expect, test } from 'vitest';
import { noteRefusals } from '../../src/audit/reconcile/repair.ts';
import { NEXT_STEPS, OTHER_STEPS } from '../../src/audit/status/next-steps.ts';
import type { Dataset, Job, Layout, VesselDay } from '../../src/core/model/index.ts';
import { addDays, silentLog } from '../../src/core/model/index.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import { thisProcess } from '../../src/core/process/process-id.ts';
import { exportVesselDay } from '../../src/export/export-vessel-day.ts';
import { snapshotsBefore } from '../../src/export/metadata-snapshot.ts';
import type { ExportPorts } from '../../src/export/ports.ts';
import { exportJobs } from '../../src/export/run/run-jobs.ts';
import { LAKE_KEY, receiptKey } from '../../src/lake/keys.ts';
import { readNote, readReceipt } from '../../src/lake/ledger/ledger.ts';
import { rebuildLog } from '../../src/lake/upkeep/rebuild-log.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { API, startProcess } from '../helpers/export-process.ts';
import { createMadeUpSource, type MadeUpSeries } from '../helpers/made-up-source.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';

const DATE = '2026-01-05';
const VESSEL = 'IMO9321483';
const DAY: VesselDay = { job: 'm', vessel: VESSEL, date: DATE };

const seriesOf = (at: number): MadeUpSeries => ({
  timeSeriesId: `0000000${at}-0000-4000-8000-000000000000`,
  imo: VESSEL.slice(3),
  names: { flat: `${VESSEL}/S${at}` },
  readings: 3,
});
const BOTH = [1, 2].map(seriesOf);

function jobOf(dataset: Dataset): Job {
  const statistics = { window: '1h', windowMicros: 3_600_000_000, aggregations: ['mean', 'count'] as const };
  const select = ['flat/{vessel}/*'];
  return {
    ...{ name: DAY.job, dataset, vessels: [VESSEL], select, transport: 'ndjson', verify: 'exact' },
    ...(dataset === 'statistics' && statistics),
  };
}

function open(dataset: Dataset, layout: Layout) {
  const [source, store] = [createMadeUpSource([DATE]), createMemoryStore()];
  source.series = BOTH;
  const noonMs = Date.parse(`${DATE}T12:00:00Z`);
  const clock = createManualClock(dataset === 'metadata' ? noonMs : noonMs + 86_400_000);
  /** In a process of its own, which knows nothing of what was there before. */
  const runDay = async (asked: Parameters<typeof run>[2] = {}) => {
    await clock.advance(60_000);
    const ports = startProcess({ store, clock, source, layout });
    return run(ports, dataset, asked).finally(() => ports.tables.close());
  };
  return { source, store, clock, runDay };
}

async function run(ports: ExportPorts, dataset: Dataset, { date = DATE, allowShrink = false } = {}) {
  const job = jobOf(dataset);
  const before = dataset === 'metadata' ? (await snapshotsBefore(ports, job))(VESSEL) : {};
  const how = { force: false, allowShrink, takeover: false, settingsHash: settingsHash(job, API) };
  const task = { job, day: { ...DAY, date }, ...how, ...before };
  return exportVesselDay(ports, task, new AbortController().signal).then(
    ({ status }) => status,
    ({ code }) => code,
  );
}

/** One series is lost, and of the other a reading. */
const LESS = [{ ...BOTH[1]!, readings: 2 }];

for (const layout of ['plain', 'delta'] as const)
  for (const dataset of ['measurements', 'statistics', 'metadata'] as const)
    test(`${layout}, ${dataset}: nothing goes unsaid of a day whose receipt was removed`, async () => {
      const { source, store, runDay } = open(dataset, layout);
      expect(await runDay()).toBe('published');
      await store.remove(receiptKey(DAY));
      source.series = LESS;
      expect(await runDay()).toBe('would-shrink');
      expect(await readReceipt(store, DAY)).toBeUndefined();
      source.series = BOTH;
      expect(await runDay()).toBe('published');
      await store.remove(receiptKey(DAY));
      source.series = LESS;
      expect(await runDay({ allowShrink: true })).toBe('published');
    });

test('a snapshot that equals the last one ends what was noted of its day', async () => {
  const { source, store, clock, runDay } = open('metadata', 'plain');
  expect(await runDay()).toBe('published');
  await clock.advance(86_400_000);
  const date = addDays(DATE, 1);
  source.series = [];
  expect(await runDay({ date })).toBe('no-series');
  expect(await readNote(store, { ...DAY, date })).toMatchObject({ state: 'failed' });
  source.series = BOTH;
  expect(await runDay({ date })).toBe('unchanged');
  expect(await readNote(store, { ...DAY, date })).toBeUndefined();
});

test('what is advised of a refused day publishes it', async () => {
  const { source, store, clock, runDay } = open('measurements', 'plain');
  expect(await runDay()).toBe('published');
  source.series = LESS;
  const { next } = NEXT_STEPS.find(({ codes }) => codes.includes('would-shrink'))!;
  // As a look-back refuses it, the day is done as far as a plan knows.
  for (const advice of [next, OTHER_STEPS.refused]) {
    const how = { force: / --force\b/.test(advice), allowShrink: / --allow-shrink\b/.test(advice) };
    const results: string[] = [];
    const request = { jobs: [jobOf('measurements')], from: DATE, to: addDays(DATE, 1), vessels: [] };
    await exportJobs(
      startProcess({ store, clock, source, layout: 'plain' }),
      { ...request, ...how, takeover: false, concurrency: 1 },
      (event) => event.kind === 'day-result' && results.push(event.result.status),
      new AbortController().signal,
    );
    expect(results).toEqual(['published']);
  }
});

test('a look-back that could compare a day ends what was noted of its receipt', async () => {
  const { store, clock, runDay } = open('measurements', 'plain');
  expect(await runDay()).toBe('published');
  const receipt = (await store.get(receiptKey(DAY)))!.bytes;
  await store.put(receiptKey(DAY), Buffer.from('{'));
  expect(await runDay()).toBe('damaged-receipt');
  await store.put(receiptKey(DAY), receipt);
  const of = (wasCompared: boolean) => ({ job: DAY.job, findings: [], wasCompared: () => wasCompared });
  expect(await noteRefusals({ store, clock }, of(false))).toEqual([]);
  expect(await readNote(store, DAY)).toMatchObject({ code: 'damaged-receipt' });
  expect(await noteRefusals({ store, clock }, of(true))).toEqual([DAY]);
  expect(await readNote(store, DAY)).toBeUndefined();
});

test('which dataset a rebuilt log is of says the earliest day, whichever receipt is read first', async () => {
  const later = addDays(DATE, 1);
  const { store, clock, runDay } = open('measurements', 'plain');
  expect(await runDay()).toBe('published');
  const source = createMadeUpSource([later]);
  source.series = BOTH;
  await clock.advance(86_400_000);
  expect(
    await run(startProcess({ store, clock, source, layout: 'plain' }), 'statistics', { date: later }),
  ).toBe('published');
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
  expect(leftOut.map(({ day }) => day.date)).toEqual([later]);
});
