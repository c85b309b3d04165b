/**
 * One vessel-day against a store in memory and a source without a network: a process stands still after each step, another
 * one takes over, and the first one wakes again.
 */
import { expect, test } from 'vitest';
import type { Job, Layout, Receipt, VesselDay } from '../../src/core/model/index.ts';
import { dateToMicros } from '../../src/core/model/index.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import { exportVesselDay } from '../../src/export/export-vessel-day.ts';
import type { ExportOutcome } from '../../src/export/ports.ts';
import { readReceipt } from '../../src/lake/ledger/ledger.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { API, startProcess } from '../helpers/export-process.ts';
import { createMadeUpSource, type MadeUpSeries } from '../helpers/made-up-source.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';

const DATE = '2026-01-05';
const VESSEL = 'IMO9321483';
const DAY: VesselDay = { job: 'm', vessel: VESSEL, date: DATE };
const JOB: Job = {
  ...{ name: DAY.job, dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/*'] },
  ...{ transport: 'ndjson', verify: 'exact' },
};
const NEVER = new AbortController().signal;
const START_MS = Date.parse('2026-01-06T12:00:00Z');

const seriesOf = (at: number, readings = 60): MadeUpSeries => ({
  timeSeriesId: `0000000${at}-0000-4000-8000-000000000000`,
  imo: VESSEL.slice(3),
  names: { flat: `${VESSEL}/S${at}` },
  readings,
});
const BOTH = [seriesOf(1), seriesOf(2)];

interface Run {
  readonly outcome: Promise<ExportOutcome | { readonly code: string }>;
  /** The steps that it has taken. */
  readonly steps: string[];
}

/** A lake and its source; processes begin ten minutes after each other, each with a clock of its own. */
function open(layout: Layout) {
  const [source, store] = [createMadeUpSource([DATE]), createMemoryStore()];
  source.series = BOTH;
  let processes = 0;
  /** `onStep` is told which step it is, counted from 0. */
  const start = (onStep: (step: number, name: string) => unknown = () => {}, allowShrink = false): Run => {
    const clock = createManualClock(START_MS + 600_000 * processes++);
    const steps: string[] = [];
    const ports = {
      ...startProcess({ store, clock, source, layout }),
      sizes: { rowGroupRows: 20, partBytes: 400 },
      onStep: async (name: string) => {
        steps.push(name);
        await onStep(steps.length - 1, name);
      },
    };
    const how = { force: false, allowShrink, takeover: false, settingsHash: settingsHash(JOB, API) };
    const outcome = exportVesselDay(ports, { job: JOB, day: DAY, ...how }, NEVER)
      .catch(({ code, message }) => ({ code: code ?? message }))
      .finally(() => ports.tables.close());
    return { outcome, steps };
  };
  return { source, store, start };
}

/** A process that stands still after a step, as long as it is not woken. */
async function standStillAt({ start }: ReturnType<typeof open>, at: number) {
  const [reached, woken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const run = start((step) => {
    if (step !== at) return undefined;
    reached.resolve();
    return woken.promise;
  });
  await reached.promise;
  return { ...run, wake: () => woken.resolve() };
}

/** What readers see: the receipt, and the bytes that it names. */
async function published(store: ObjectStore): Promise<{ receipt: Receipt; bytes: string }> {
  const receipt = (await readReceipt(store, DAY))!;
  const object = await store.get(receipt.object!.key);
  return { receipt, bytes: Buffer.from(object!.bytes).toString('base64') };
}

async function claimsIn(store: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list('_checkpoints/')) keys.push(key);
  return keys;
}

for (const layout of ['plain', 'delta'] as const)
  test(`${layout}: whatever step a process stands still after, the next one ends the day with the same bytes, and the first changes nothing`, async () => {
    const undisturbed = open(layout);
    const { outcome, steps } = undisturbed.start();
    expect(await outcome).toMatchObject({ status: 'published', resumed: false });
    const { bytes } = await published(undisturbed.store);
    expect(steps.filter((step) => step === 'checkpoint').length).toBeGreaterThan(2);
    const [sealed, receiptWritten] = [steps.indexOf('sealed'), steps.indexOf('receipt')];
    for (const [at, step] of steps.entries()) {
      const lake = open(layout);
      const first = await standStillAt(lake, at);
      const second = lake.start();
      const end = await second.outcome;
      const hasProgress = steps.slice(0, at + 1).includes('checkpoint') || at >= sealed;
      const expected =
        at >= receiptWritten ? { status: 'done' } : { status: 'published', resumed: hasProgress };
      expect(end, step).toMatchObject(expected);
      if (at >= sealed) expect(second.steps, step).not.toContain('counted');
      const before = await published(lake.store);
      expect(before.bytes === bytes, step).toBe(true);
      expect(await claimsIn(lake.store), step).toEqual([]);
      first.wake();
      const late = await first.outcome;
      // From there on it has only its claim to remove, which is gone.
      if (at < receiptWritten) expect(late, step).toMatchObject({ code: 'fenced' });
      expect(await published(lake.store), step).toEqual(before);
      expect(await claimsIn(lake.store), step).toEqual([]);
    }
  });

test('who goes on from a checkpoint asks for no reading before its cursor', async () => {
  const lake = open('plain');
  await standStillAt(lake, lastCheckpoint(await stepsOf(lake)));
  const asked = lake.source.requests.length;
  expect(await lake.start().outcome).toMatchObject({ status: 'published', resumed: true });
  const ranges = lake.source.requests.slice(asked).filter(({ family }) => family === 'measurements');
  expect(ranges).toHaveLength(1);
  expect(ranges[0]!.range!.fromMicros).toBeGreaterThan(dateToMicros(DATE));
});

test.for([
  ['a reading before the cursor is gone', [seriesOf(1, 5), seriesOf(2)], false, 65],
  ['a series is gone', [seriesOf(1)], false, 60],
  ['readings came after the cursor', [seriesOf(1, 80), seriesOf(2)], true, 140],
] as const)('where %s, a checkpoint is used only if it is still true', async ([, series, resumed, rows]) => {
  const lake = open('plain');
  await standStillAt(lake, lastCheckpoint(await stepsOf(lake)));
  lake.source.series = series;
  expect(await lake.start().outcome).toMatchObject({ status: 'published', resumed, receipt: { rows } });
});

test('a published day is not replaced by a smaller one unless that is allowed', async () => {
  const lake = open('plain');
  await lake.start().outcome;
  const before = await published(lake.store);
  lake.source.series = [seriesOf(1, 59), seriesOf(2)];
  const force = { ...before.receipt, settingsHash: 'other' };
  await lake.store.put((await keyOfReceipt(lake.store))!, Buffer.from(JSON.stringify(force)));
  expect(await lake.start().outcome).toEqual({ code: 'would-shrink' });
  expect((await published(lake.store)).bytes).toBe(before.bytes);
  expect(await lake.start(undefined, true).outcome).toMatchObject({ receipt: { rows: 119 } });
});

/** The steps of an undisturbed export of the same. */
async function stepsOf(lake: ReturnType<typeof open>): Promise<string[]> {
  const other = open('plain');
  other.source.series = lake.source.series;
  const { outcome, steps } = other.start();
  await outcome;
  return steps;
}

function lastCheckpoint(steps: readonly string[]): number {
  return steps.lastIndexOf('checkpoint');
}

async function keyOfReceipt(store: ObjectStore): Promise<string | undefined> {
  for await (const { key } of store.list('_ledger/')) if (key.includes(DATE)) return key;
  return undefined;
}
