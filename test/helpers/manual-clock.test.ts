import { describe, expect, it } from 'vitest';
import { createManualClock } from './manual-clock.ts';

describe('createManualClock', () => {
  it('stands still until it is moved', async () => {
    const clock = createManualClock(1_000);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1_000, 0]);
    await clock.advance(250);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1_250, 250]);
  });

  it('wakes sleepers in the order and at the moment of their times', async () => {
    const clock = createManualClock();
    const woken: [string, number][] = [];
    const sleep = async (name: string, ms: number) => {
      await clock.sleep(ms);
      woken.push([name, clock.monotonicMs()]);
    };
    void sleep('late', 300);
    void sleep('soon', 100).then(() => sleep('again', 100));
    void sleep('never', 1_000);
    expect(clock.sleeping()).toEqual([100, 300, 1_000]);
    await clock.advance(400);
    expect(woken).toEqual([
      ['soon', 100],
      ['again', 200],
      ['late', 300],
    ]);
    expect(clock.sleeping()).toEqual([1_000]);
  });

  it('rejects an aborted sleep with the reason', async () => {
    const clock = createManualClock();
    const controller = new AbortController();
    const reason = new Error('enough');
    const sleep = clock.sleep(100, controller.signal);
    controller.abort(reason);
    await expect(sleep).rejects.toBe(reason);
    await expect(clock.sleep(0, controller.signal)).rejects.toBe(reason);
    expect(clock.sleeping()).toEqual([]);
  });

  it('tells when someone sleeps', async () => {
    const clock = createManualClock();
    const asleep = clock.untilSleeping((delayMs) => delayMs > 50);
    void clock.sleep(10);
    void clock.sleep(60);
    await asleep;
    expect(clock.sleeping()).toEqual([10, 60]);
  });

  it('does not sleep for no time at all', async () => {
    await createManualClock().sleep(0);
  });
});
