import { describe, expect, it } from 'vitest';
import type { ConcurrencyLimit, Slot } from '../../../src/core/model/ports.ts';

/** What the suite needs of an implementation; every factory call gives a fresh one. */
export interface ConcurrencyLimitUnderTest {
  /** Two handles on the same concurrency limit: the same object, or two processes' views of a shared one. */
  readonly handles: readonly [ConcurrencyLimit, ConcurrencyLimit];
  readonly coolDownMs: number;
  readonly recoverMs: number;
  /** Let time pass for the concurrency limit, and what it wakes run. */
  passTime(ms: number): Promise<void>;
  /** Resolves when what was called before has taken effect everywhere. */
  settle(): Promise<void>;
  /** How often the rate limit was slowed down. */
  slowDowns(): number;
  close(): Promise<void>;
}

export type ConcurrencyLimitFactory = (limit: number) => Promise<ConcurrencyLimitUnderTest>;

/** Everything that the contract of `ConcurrencyLimit` promises. */
export function describeConcurrencyLimit(name: string, factory: ConcurrencyLimitFactory): void {
  const withConcurrencyLimit = async (
    limit: number,
    test: (under: ConcurrencyLimitUnderTest) => Promise<void>,
  ): Promise<void> => {
    const under = await factory(limit);
    try {
      await test(under);
    } finally {
      await under.close();
    }
  };
  /** Ask for slots; `slots` fills up as they are given. */
  const askFor = (concurrencyLimit: ConcurrencyLimit, count: number, slots: Slot[] = []): Slot[] => {
    for (let i = 0; i < count; i++) void concurrencyLimit.acquire().then((slot) => slots.push(slot));
    return slots;
  };

  describe(`${name}: slots`, () => {
    it(`${name} gives out no more than its limit over all handles`, () =>
      withConcurrencyLimit(3, async ({ handles: [one, other], settle }) => {
        const slots = askFor(other, 2, askFor(one, 2));
        await settle();
        expect(slots).toHaveLength(3);
        slots[0]!.release();
        await settle();
        expect(slots).toHaveLength(4);
        for (const slot of slots) slot.release();
      }));

    it(`${name} counts a second release of a slot for nothing`, () =>
      withConcurrencyLimit(1, async ({ handles: [concurrencyLimit], settle }) => {
        const slots = askFor(concurrencyLimit, 3);
        await settle();
        slots[0]!.release();
        slots[0]!.release();
        await settle();
        expect(slots).toHaveLength(2);
        slots[1]!.release();
        await settle();
        slots[2]!.release();
      }));

    it(`${name} serves callers in the order in which they came`, () =>
      withConcurrencyLimit(1, async ({ handles: [concurrencyLimit], settle }) => {
        const order: number[] = [];
        const work = [1, 2, 3, 4].map(async (n) => {
          const slot = await concurrencyLimit.acquire();
          order.push(n);
          await settle();
          slot.release();
        });
        await Promise.all(work);
        expect(order).toEqual([1, 2, 3, 4]);
      }));

    it(`${name} lets a caller leave at once and gives the turn to the next`, () =>
      withConcurrencyLimit(1, async ({ handles: [concurrencyLimit], settle }) => {
        const [slot] = await Promise.all([concurrencyLimit.acquire()]);
        const controller = new AbortController();
        const reason = new Error('enough');
        const leaving = concurrencyLimit.acquire(controller.signal);
        const next = askFor(concurrencyLimit, 1);
        controller.abort(reason);
        await expect(leaving).rejects.toBe(reason);
        await expect(concurrencyLimit.acquire(controller.signal)).rejects.toBe(reason);
        slot!.release();
        await settle();
        expect(next).toHaveLength(1);
        next[0]!.release();
      }));
  });

  describe(`${name}: refusals`, () => {
    it(`${name} halves once for many refusals, for every handle`, () =>
      withConcurrencyLimit(8, async ({ handles: [one, other], settle }) => {
        for (let i = 0; i < 20; i++) (i % 2 ? one : other).limited();
        await settle();
        expect([one.current, other.current]).toEqual([4, 4]);
        const slots = askFor(other, 5, askFor(one, 5));
        await settle();
        expect(slots).toHaveLength(4);
        for (const slot of slots) slot.release();
      }));

    it(`${name} keeps slots that are out when it is lowered, and gives no new ones until enough came back`, () =>
      withConcurrencyLimit(4, async ({ handles: [concurrencyLimit], settle }) => {
        const slots = askFor(concurrencyLimit, 4);
        await settle();
        concurrencyLimit.limited();
        await settle();
        const more = askFor(concurrencyLimit, 1);
        slots[0]!.release();
        slots[1]!.release();
        await settle();
        expect(more).toHaveLength(0);
        slots[2]!.release();
        await settle();
        expect(more).toHaveLength(1);
        slots[3]!.release();
        more[0]!.release();
      }));

    it(`${name} goes down to 1, and then slows the rate limit down`, () =>
      withConcurrencyLimit(
        3,
        async ({ handles: [concurrencyLimit], coolDownMs, passTime, settle, slowDowns }) => {
          concurrencyLimit.limited();
          await settle();
          expect([concurrencyLimit.current, slowDowns()]).toEqual([1, 0]);
          concurrencyLimit.limited();
          await settle();
          expect(slowDowns()).toBe(0);
          await passTime(coolDownMs);
          concurrencyLimit.limited();
          await settle();
          expect([concurrencyLimit.current, slowDowns()]).toEqual([1, 1]);
        },
      ));

    it(`${name} creeps back to its limit and no further`, () =>
      withConcurrencyLimit(4, async ({ handles: [concurrencyLimit], recoverMs, passTime, settle }) => {
        concurrencyLimit.limited();
        await settle();
        const seen: number[] = [];
        for (let i = 0; i < 4; i++) {
          seen.push(concurrencyLimit.current);
          await passTime(recoverMs);
        }
        expect(seen).toEqual([2, 3, 4, 4]);
        const slots = askFor(concurrencyLimit, 5);
        await settle();
        expect(slots).toHaveLength(4);
        for (const slot of slots) slot.release();
      }));

    it(`${name} holds everyone for as long as Retry-After says`, () =>
      withConcurrencyLimit(4, async ({ handles: [one, other], passTime, settle }) => {
        one.limited(10_000);
        other.limited(2_000);
        await settle();
        const slots = askFor(other, 1, askFor(one, 1));
        await passTime(9_900);
        expect(slots).toHaveLength(0);
        await passTime(100);
        expect(slots).toHaveLength(2);
        for (const slot of slots) slot.release();
      }));

    it(`${name} lets a caller leave while everyone is held`, () =>
      withConcurrencyLimit(1, async ({ handles: [concurrencyLimit], settle, passTime }) => {
        concurrencyLimit.limited(5_000);
        await settle();
        const controller = new AbortController();
        const reason = new Error('enough');
        const leaving = concurrencyLimit.acquire(controller.signal);
        controller.abort(reason);
        await expect(leaving).rejects.toBe(reason);
        const slots = askFor(concurrencyLimit, 1);
        await passTime(5_000);
        expect(slots).toHaveLength(1);
        slots[0]!.release();
      }));
  });
}
