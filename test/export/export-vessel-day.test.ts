/** An attempt that stands still, and who takes over from it: whole exports in one process, of a lake in memory. */
import { expect, test } from 'vitest';
import { dateToMicros } from '../../src/core/model/index.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { DATE, type OpenLake, openMemoryLake, type Ran, seriesOf } from '../helpers/memory-lake.ts';

const BOTH = [seriesOf('S1', 60), seriesOf('S2', 60)];
const sizes = { rowGroupRows: 20, partBytes: 400 };

interface Run {
  readonly outcome: Promise<Ran>;
  /** The steps that it has taken. */
  readonly steps: string[];
}

/** A process with a clock of its own, ten minutes after the one before. `onStep` is told which step it is, counted from 0. */
function start(lake: OpenLake, onStep: (step: number) => unknown = () => {}): Run {
  const steps: string[] = [];
  const clock = createManualClock(lake.clock.nowMs() + 600_000);
  const outcome = lake.clock.advance(600_000).then(() => {
    const step = async (name: string) => {
      steps.push(name);
      await onStep(steps.length - 1);
    };
    return lake.run({ over: { clock, sizes, onStep: step } });
  });
  return { outcome, steps };
}

/** A process that stands still after a step, as long as it is not woken. */
async function standStillAt(lake: OpenLake, at: number) {
  const [reached, woken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const run = start(lake, (step) => {
    if (step !== at) return undefined;
    reached.resolve();
    return woken.promise;
  });
  await reached.promise;
  return { ...run, wake: () => woken.resolve() };
}

/** What readers see: the receipt, and the bytes that it names. */
const published = async (lake: OpenLake) => ({ receipt: await lake.receipt(), bytes: await lake.bytes() });

for (const layout of ['plain', 'delta'] as const)
  test(`${layout}: whatever step a process stands still after, the next one ends the day with the same bytes, and the first changes nothing`, async () => {
    const undisturbed = openMemoryLake(BOTH, layout);
    const { outcome, steps } = start(undisturbed);
    expect(await outcome).toMatchObject({ code: 'published', resumed: false });
    const bytes = await undisturbed.bytes();
    expect(steps.filter((step) => step === 'checkpoint').length).toBeGreaterThan(2);
    const [sealed, receiptWritten] = [steps.indexOf('sealed'), steps.indexOf('receipt')];
    for (const [at, step] of steps.entries()) {
      const lake = openMemoryLake(BOTH, layout);
      const first = await standStillAt(lake, at);
      const asked = lake.source.requests.length;
      const second = start(lake);
      const end = await second.outcome;
      const hasProgress = steps.slice(0, at + 1).includes('checkpoint') || at >= sealed;
      const expected = at >= receiptWritten ? { code: 'done' } : { code: 'published', resumed: hasProgress };
      expect(end, step).toMatchObject(expected);
      // Only publishing is left.
      if (at >= sealed)
        expect([second.steps.includes('counted'), lake.source.requests.length]).toEqual([false, asked]);
      const before = await published(lake);
      expect(before.bytes === bytes, step).toBe(true);
      expect(await lake.unfinished(), step).toEqual([]);
      first.wake();
      const late = await first.outcome;
      // From there on it has only its claim to remove, which is gone.
      if (at < receiptWritten) expect(late, step).toMatchObject({ code: 'fenced' });
      expect(await published(lake), step).toEqual(before);
      expect(await lake.unfinished(), step).toEqual([]);
    }
  });

test('who goes on from a checkpoint asks for no reading before its cursor', async () => {
  const { outcome, steps } = start(openMemoryLake(BOTH));
  await outcome;
  const lake = openMemoryLake(BOTH);
  await standStillAt(lake, steps.lastIndexOf('checkpoint'));
  const asked = lake.source.requests.length;
  expect(await start(lake).outcome).toMatchObject({ code: 'published', resumed: true });
  const ranges = lake.source.requests.slice(asked).filter(({ family }) => family === 'measurements');
  expect(ranges).toHaveLength(1);
  expect(ranges[0]!.range!.fromMicros).toBeGreaterThan(dateToMicros(DATE));
});
