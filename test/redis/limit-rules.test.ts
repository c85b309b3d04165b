/** The rules of the limits stand once in TypeScript and once in Lua: over any history both come to the same. */
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import {
  CONCURRENCY_LIMIT_RULES,
  type ConcurrencyState,
  grownConcurrency,
  grownRate,
  RATE_LIMIT_RULES,
  type RateState,
  refusedConcurrency,
  slowedRate,
} from '../../src/core/model/limit-rules.ts';
import { lookAtFleet } from '../../src/redis/fleet-facts.ts';
import { SharedConcurrencyLimit } from '../../src/redis/shared-concurrency-limit.ts';
import { SharedRateLimit } from '../../src/redis/shared-rate-limit.ts';
import { redisForTests } from '../helpers/redis.ts';
import { startRedisTime } from './redis-time.ts';

const server = await redisForTests();
const time = server && (await startRedisTime(server.url, server.newPrefix()));
const process = time && (await time.openProcess());

const NEVER = { changedMs: -Infinity, loweredMs: -Infinity };
const someTime = fc.oneof(fc.nat(9_000), fc.nat(400_000));
const history = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('passes' as const), ms: someTime }),
    fc.record({ kind: fc.constant('refused' as const), ms: fc.oneof(fc.constant(0), someTime) }),
  ),
  { minLength: 1, maxLength: 12 },
);

describe.skipIf(server === undefined)('the rules in TypeScript and in Lua agree', () => {
  afterAll(async () => {
    await time!.close();
    await server!.stop();
  });

  const { connection, clock } = process!;
  const open = () => ({
    ...{ connection, clock, random: () => 0.5, redisNow: time!.redisNow, prefix: server!.newPrefix() },
    ...{ credential: 'one', group: 'all' },
  });
  const look = (common: ReturnType<typeof open>) => lookAtFleet({ ...common, limits: common }, []);

  test('on the concurrency limit', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 9 }), history, async (limit, events) => {
        const common = open();
        let [slowed, expectedSlowed] = [0, 0];
        const rateLimit = { take: async () => {}, slowDown: () => void slowed++, perMinute: undefined };
        const shared = new SharedConcurrencyLimit({ ...common, limit, rateLimit, settleMs: 0 });
        let state: ConcurrencyState = { ...NEVER, current: limit, heldUntilMs: -Infinity };
        for (const { kind, ms } of events) {
          if (kind === 'passes') await time!.passTime(ms);
          else {
            const rules = CONCURRENCY_LIMIT_RULES;
            const { isSlow, ...next } = refusedConcurrency(state, limit, clock.monotonicMs(), ms, rules);
            state = next;
            if (isSlow) expectedSlowed++;
            shared.limited(ms);
            await time!.settle();
          }
          const nowMs = clock.monotonicMs();
          state = grownConcurrency(state, limit, nowMs, CONCURRENCY_LIMIT_RULES.recoverMs);
          const { concurrency, concurrencySetting, holdMs } = (await look(common)).limits;
          const seen = { current: shared.current, slowed, holdMs };
          const expectedHoldMs = Math.max(0, state.heldUntilMs - nowMs);
          expect(seen).toEqual({ current: state.current, slowed: expectedSlowed, holdMs: expectedHoldMs });
          // A process that was not heard of for long has no setting there.
          if (concurrencySetting !== undefined) expect(concurrency ?? limit).toBe(state.current);
        }
        await shared.close();
      }),
      { numRuns: 40 },
    );
  });

  test('on the rate limit', async () => {
    const someRate = fc.option(fc.integer({ min: 1, max: 2_000 }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(someRate, history, async (perMinute, events) => {
        const common = open();
        const shared = new SharedRateLimit({ ...common, perMinute });
        const limit = perMinute ?? Infinity;
        let state: RateState = { ...NEVER, rate: limit, forgetAt: Infinity };
        // Nobody has asked anything: what was seen is too little to tell.
        const observed = () => RATE_LIMIT_RULES.leastObservedPerMinute;
        for (const { kind, ms } of events) {
          if (kind === 'passes') await time!.passTime(ms);
          else {
            state = slowedRate(state, limit, clock.monotonicMs(), observed, RATE_LIMIT_RULES);
            shared.slowDown();
            await time!.settle();
          }
          state = grownRate(state, limit, clock.monotonicMs(), RATE_LIMIT_RULES);
          expect(shared.perMinute ?? Infinity).toBeCloseTo(state.rate, 8);
          const { pace, paceSetting } = (await look(common)).limits;
          if (perMinute === undefined || paceSetting !== undefined)
            expect(pace ?? limit).toBeCloseTo(state.rate, 8);
        }
        await shared.close();
      }),
      { numRuns: 40 },
    );
  });
});
