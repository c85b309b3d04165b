import { describe, expect, it } from 'vitest';
import type { RateLimit } from '../../../src/core/model/ports.ts';

/** What the suite needs of an implementation; every factory call gives a fresh one. */
export interface RateLimitUnderTest {
  /** Two handles on the same rate limit: the same object, or two processes' views of a shared one. */
  readonly handles: readonly [RateLimit, RateLimit];
  readonly coolDownMs: number;
  readonly recoverMs: number;
  /** Time since the start. */
  nowMs(): number;
  /** Let time pass for the rate limit, and what it wakes run. */
  passTime(ms: number): Promise<void>;
  /** Resolves when what was called before has taken effect everywhere. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export type RateLimitFactory = (perMinute?: number) => Promise<RateLimitUnderTest>;

interface Setup extends RateLimitUnderTest {
  /** When turns were given. */
  readonly turns: number[];
  /** Ask for turns, through the handles in turn. */
  take(count: number): void;
}

/** Everything that the contract of `RateLimit` promises. */
export function describeRateLimit(name: string, factory: RateLimitFactory): void {
  const withRateLimit = async (perMinute: number | undefined, test: (under: Setup) => Promise<void>) => {
    const under = await factory(perMinute);
    const turns: number[] = [];
    let asked = 0;
    const take = (count: number): void => {
      for (let i = 0; i < count; i++)
        void under.handles[asked++ % 2]!.take().then(() => turns.push(under.nowMs()));
    };
    try {
      await test({ ...under, turns, take });
    } finally {
      await under.close();
    }
  };

  describe(name, () => {
    it(`${name} spreads turns evenly over all handles`, () =>
      withRateLimit(60, async ({ turns, take, passTime }) => {
        take(5);
        await passTime(10_000);
        expect(turns).toEqual([0, 1_000, 2_000, 3_000, 4_000]);
        take(2);
        await passTime(10_000);
        expect(turns.slice(5)).toEqual([10_000, 11_000]);
      }));

    it(`${name} never gives more turns than configured in any minute`, () =>
      withRateLimit(7, async ({ turns, take, passTime }) => {
        for (let i = 0; i < 30; i++) {
          take(1);
          await passTime(i * 700);
        }
        await passTime(60_000);
        expect(turns).toHaveLength(30);
        for (const from of turns)
          expect(turns.filter((at) => at >= from && at < from + 60_000).length).toBeLessThanOrEqual(7);
      }));

    it(`${name} lets everyone go at once when there is none`, () =>
      withRateLimit(undefined, async ({ handles: [rateLimit], turns, take, settle }) => {
        take(1_000);
        await settle();
        expect(turns).toHaveLength(1_000);
        expect(rateLimit.perMinute).toBeUndefined();
      }));

    it(`${name} lets a waiting caller leave without using up a turn`, () =>
      withRateLimit(60, async ({ handles: [rateLimit], turns, take, passTime, settle }) => {
        take(1);
        await settle();
        const controller = new AbortController();
        const reason = new Error('enough');
        const leaving = rateLimit.take(controller.signal);
        take(1);
        controller.abort(reason);
        await expect(leaving).rejects.toBe(reason);
        await expect(rateLimit.take(controller.signal)).rejects.toBe(reason);
        await passTime(5_000);
        expect(turns).toEqual([0, 1_000]);
      }));

    it(`${name} is halved once a cool-down, for every handle, and comes back to what was configured`, () =>
      withRateLimit(100, async ({ handles: [one, other], coolDownMs, recoverMs, passTime, settle }) => {
        one.slowDown();
        other.slowDown();
        one.slowDown();
        await settle();
        expect([one.perMinute, other.perMinute]).toEqual([50, 50]);
        await passTime(coolDownMs);
        other.slowDown();
        await settle();
        expect([one.perMinute, other.perMinute]).toEqual([25, 25]);
        await passTime(recoverMs);
        expect([one.perMinute, other.perMinute]).toEqual([31.25, 31.25]);
        await passTime(recoverMs * 20);
        expect([one.perMinute, other.perMinute]).toEqual([100, 100]);
      }));

    it(`${name} slows down those who wait already`, () =>
      withRateLimit(60, async ({ handles: [rateLimit], turns, take, passTime }) => {
        take(4);
        await passTime(500);
        rateLimit.slowDown();
        await passTime(10_000);
        expect(turns).toEqual([0, 2_000, 4_000, 6_000]);
      }));

    it(`${name} never goes below one turn in ten seconds`, () =>
      withRateLimit(20, async ({ handles: [rateLimit], coolDownMs, passTime }) => {
        for (let i = 0; i < 10; i++) {
          rateLimit.slowDown();
          await passTime(coolDownMs);
        }
        expect(rateLimit.perMinute).toBe(6);
      }));

    it(`${name} begins with thirty turns a minute when it saw too little to tell`, () =>
      withRateLimit(undefined, async ({ handles: [rateLimit], take, settle }) => {
        take(2);
        await settle();
        rateLimit.slowDown();
        await settle();
        expect(rateLimit.perMinute).toBe(30);
      }));

    it(`${name} takes half of what everyone did when none was configured, and forgets it in time`, () =>
      withRateLimit(undefined, async ({ handles: [one, other], recoverMs, take, passTime, settle }) => {
        for (let second = 0; second < 90; second++) {
          take(4);
          await passTime(1_000);
        }
        one.slowDown();
        await settle();
        // Reports of the last seconds may still be on their way.
        expect(other.perMinute).toBeGreaterThan(100);
        expect(other.perMinute).toBeLessThanOrEqual(120);
        await passTime(recoverMs * 20);
        expect([one.perMinute, other.perMinute]).toEqual([undefined, undefined]);
      }));
  });
}
