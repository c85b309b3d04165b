import { describe, expect, it } from 'vitest';
import type { Cap, Lease } from '../../src/model/ports.ts';

/** What the suite needs of an implementation; every factory call gives a fresh one. */
export interface CapUnderTest {
  /** Two handles on the same cap: the same object, or two processes' views of a shared one. */
  readonly caps: readonly [Cap, Cap];
  readonly coolDownMs: number;
  readonly recoverMs: number;
  /** Let time pass for the cap, and what it wakes run. */
  passTime(ms: number): Promise<void>;
  /** Resolves when what was called before has taken effect everywhere. */
  settle(): Promise<void>;
  /** How often the pace was slowed down. */
  slowDowns(): number;
  close(): Promise<void>;
}

export type CapFactory = (limit: number) => Promise<CapUnderTest>;

/** Everything that the contract of `Cap` promises. */
export function describeCap(name: string, factory: CapFactory): void {
  const withCap = async (limit: number, test: (under: CapUnderTest) => Promise<void>): Promise<void> => {
    const under = await factory(limit);
    try {
      await test(under);
    } finally {
      await under.close();
    }
  };
  /** Ask for leases; `leases` fills up as they are given. */
  const askFor = (cap: Cap, count: number, leases: Lease[] = []): Lease[] => {
    for (let i = 0; i < count; i++) void cap.acquire().then((lease) => leases.push(lease));
    return leases;
  };

  describe(`${name}: leases`, () => {
    it(`${name} gives out no more than its limit over all handles`, () =>
      withCap(3, async ({ caps: [one, other], settle }) => {
        const leases = askFor(other, 2, askFor(one, 2));
        await settle();
        expect(leases).toHaveLength(3);
        leases[0]!.release();
        await settle();
        expect(leases).toHaveLength(4);
        for (const lease of leases) lease.release();
      }));

    it(`${name} counts a second release of a lease for nothing`, () =>
      withCap(1, async ({ caps: [cap], settle }) => {
        const leases = askFor(cap, 3);
        await settle();
        leases[0]!.release();
        leases[0]!.release();
        await settle();
        expect(leases).toHaveLength(2);
        leases[1]!.release();
        await settle();
        leases[2]!.release();
      }));

    it(`${name} serves callers in the order in which they came`, () =>
      withCap(1, async ({ caps: [cap], settle }) => {
        const order: number[] = [];
        const work = [1, 2, 3, 4].map(async (n) => {
          const lease = await cap.acquire();
          order.push(n);
          await settle();
          lease.release();
        });
        await Promise.all(work);
        expect(order).toEqual([1, 2, 3, 4]);
      }));

    it(`${name} lets a caller leave at once and gives the turn to the next`, () =>
      withCap(1, async ({ caps: [cap], settle }) => {
        const [lease] = await Promise.all([cap.acquire()]);
        const controller = new AbortController();
        const reason = new Error('enough');
        const leaving = cap.acquire(controller.signal);
        const next = askFor(cap, 1);
        controller.abort(reason);
        await expect(leaving).rejects.toBe(reason);
        await expect(cap.acquire(controller.signal)).rejects.toBe(reason);
        lease!.release();
        await settle();
        expect(next).toHaveLength(1);
        next[0]!.release();
      }));
  });

  describe(`${name}: refusals`, () => {
    it(`${name} halves once for many refusals, for every handle`, () =>
      withCap(8, async ({ caps: [one, other], settle }) => {
        for (let i = 0; i < 20; i++) (i % 2 ? one : other).limited();
        await settle();
        expect([one.current, other.current]).toEqual([4, 4]);
        const leases = askFor(other, 5, askFor(one, 5));
        await settle();
        expect(leases).toHaveLength(4);
        for (const lease of leases) lease.release();
      }));

    it(`${name} keeps leases that are out when it is lowered, and gives no new ones until enough came back`, () =>
      withCap(4, async ({ caps: [cap], settle }) => {
        const leases = askFor(cap, 4);
        await settle();
        cap.limited();
        await settle();
        const more = askFor(cap, 1);
        leases[0]!.release();
        leases[1]!.release();
        await settle();
        expect(more).toHaveLength(0);
        leases[2]!.release();
        await settle();
        expect(more).toHaveLength(1);
        leases[3]!.release();
        more[0]!.release();
      }));

    it(`${name} goes down to 1, and then slows the pace down`, () =>
      withCap(3, async ({ caps: [cap], coolDownMs, passTime, settle, slowDowns }) => {
        cap.limited();
        await settle();
        expect([cap.current, slowDowns()]).toEqual([1, 0]);
        cap.limited();
        await settle();
        expect(slowDowns()).toBe(0);
        await passTime(coolDownMs);
        cap.limited();
        await settle();
        expect([cap.current, slowDowns()]).toEqual([1, 1]);
      }));

    it(`${name} creeps back to its limit and no further`, () =>
      withCap(4, async ({ caps: [cap], recoverMs, passTime, settle }) => {
        cap.limited();
        await settle();
        const seen: number[] = [];
        for (let i = 0; i < 4; i++) {
          seen.push(cap.current);
          await passTime(recoverMs);
        }
        expect(seen).toEqual([2, 3, 4, 4]);
        const leases = askFor(cap, 5);
        await settle();
        expect(leases).toHaveLength(4);
        for (const lease of leases) lease.release();
      }));

    it(`${name} holds everyone for as long as Retry-After says`, () =>
      withCap(4, async ({ caps: [one, other], passTime, settle }) => {
        one.limited(10_000);
        other.limited(2_000);
        await settle();
        const leases = askFor(other, 1, askFor(one, 1));
        await passTime(9_900);
        expect(leases).toHaveLength(0);
        await passTime(100);
        expect(leases).toHaveLength(2);
        for (const lease of leases) lease.release();
      }));

    it(`${name} lets a caller leave while everyone is held`, () =>
      withCap(1, async ({ caps: [cap], settle, passTime }) => {
        cap.limited(5_000);
        await settle();
        const controller = new AbortController();
        const reason = new Error('enough');
        const leaving = cap.acquire(controller.signal);
        controller.abort(reason);
        await expect(leaving).rejects.toBe(reason);
        const leases = askFor(cap, 1);
        await passTime(5_000);
        expect(leases).toHaveLength(1);
        leases[0]!.release();
      }));
  });
}
