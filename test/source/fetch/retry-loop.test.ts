import { describe, expect, it } from 'vitest';
import { FatalError, RetriableError } from '../../../src/core/errors.ts';
import { silentLog } from '../../../src/core/model/ports.ts';
import type { Attempt, Call, Send } from '../../../src/source/fetch/exchange.ts';
import { createFailureStreak, RETRY_LIMITS, type RetryScope } from '../../../src/source/fetch/retry.ts';
import { withRetry } from '../../../src/source/fetch/retry-loop.ts';
import { AnswerError } from '../../../src/source/fetch/status.ts';
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts';
import { errorOf } from './listener.ts';

/** What one attempt does: wait in line, spend time on the wire, and fail (or answer when `fail` is absent). */
interface Step {
  readonly queuedMs?: number;
  readonly wireMs?: number;
  readonly fail?: Error;
}

function setUp(
  stepOf: (attempt: number) => Step,
  progressed: () => boolean = () => false,
  scope: RetryScope = {},
) {
  const clock = createManualClock();
  const startedAt: number[] = [];
  const next: Send = async <T>(attempt: Attempt<T>): Promise<T> => {
    startedAt.push(clock.monotonicMs());
    const { queuedMs = 0, wireMs = 0, fail } = stepOf(startedAt.length);
    await clock.sleep(queuedMs + wireMs);
    attempt.wire.elapsedMs = wireMs;
    if (fail) throw fail;
    return 'done' as T;
  };
  const call: Call<string> = {
    outgoing: async () => ({
      method: 'GET',
      setting: 'QUERY_BASE_URL',
      origin: 'http://host',
      target: '/',
      headers: {},
      body: undefined,
      requestId: 'id',
      asked: 'page',
      what: 'page',
      attempt: 1,
    }),
    consume: async () => 'done',
    ...scope,
    progressed,
    signal: new AbortController().signal,
    maxBodyBytes: 1,
    sinks: [],
  };
  const exchange = withRetry({ limits: RETRY_LIMITS, clock, random: () => 0.999, log: silentLog }, next);
  return { clock, startedAt, run: () => drive(clock, exchange(call)) };
}

/** Let time pass until a promise has settled. */
async function drive<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let settled = false;
  const end = () => {
    settled = true;
  };
  promise.then(end, end);
  while (!settled) await clock.advance(1_000);
  return promise;
}

const broken = () => new RetriableError('body-broken', 'page: the body broke off');
const timedOut = () => new RetriableError('headers-timeout', 'page: no answer');
const tooSlow = () => new RetriableError('too-slow', 'page: the answer comes too slowly');
const limited = () => new AnswerError({ status: 429, headers: {} }, '', 'page');

describe('withRetry', () => {
  it('does not count the time of the first failure: a page that breaks off after hours is asked for again', async () => {
    const { run, startedAt } = setUp((attempt) =>
      attempt === 1 ? { wireMs: 7_200_000, fail: broken() } : {},
    );
    expect(await run()).toBe('done');
    expect(startedAt).toHaveLength(2);
  });

  it('gives up when later failures have taken their time on the wire', async () => {
    const { run, startedAt } = setUp(() => ({ wireMs: 200_000, fail: broken() }));
    const error = await errorOf(run());
    expect(error).toMatchObject({ name: 'RetriableError', code: 'body-broken' });
    expect(startedAt).toHaveLength(3);
    expect(error.message).toMatch(/gave up after 3 failures in a row \(40\d s\)/);
  });

  it('does not count the wait for cap and pace', async () => {
    const { run, startedAt } = setUp((attempt) =>
      attempt < 6 ? { queuedMs: 3_600_000, fail: broken() } : {},
    );
    expect(await run()).toBe('done');
    expect(startedAt).toHaveLength(6);
  });

  it('waits longer and longer, up to the longest delay', async () => {
    const { run, startedAt } = setUp(() => ({ fail: broken() }));
    await errorOf(run());
    const delays = startedAt.slice(1).map((at, i) => Math.round((at - startedAt[i]!) / 100) * 100);
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
  });

  it('has full patience again after progress', async () => {
    let attempts = 0;
    const { run, startedAt } = setUp(
      (attempt) => {
        attempts = attempt;
        return attempt <= 40 ? { wireMs: 250_000, fail: broken() } : {};
      },
      () => attempts <= 40,
    );
    expect(await run()).toBe('done');
    expect(startedAt).toHaveLength(41);
  });

  it('counts all the time that a 429 takes, but no attempt', async () => {
    const { run, startedAt, clock } = setUp(() => ({ queuedMs: 60_000, fail: limited() }));
    const error = await errorOf(run());
    expect(error).toMatchObject({ name: 'RateLimitedError', code: 'rate-limited' });
    expect(startedAt.length).toBeGreaterThan(RETRY_LIMITS.maxAttempts);
    expect(clock.monotonicMs()).toBeLessThan(RETRY_LIMITS.maxLimitedMs + 120_000);
  });

  it('passes what is not worth a retry', async () => {
    const fatal = new FatalError('wrong-api-version', 'no');
    const { run, startedAt } = setUp(() => ({ fail: fatal }));
    expect(await errorOf(run())).toBe(fatal);
    expect(startedAt).toHaveLength(1);
  });

  it('ends a row of failures over many calls: a dead endpoint costs minutes, however small the parts', async () => {
    const streak = createFailureStreak();
    const scope = { streak, isDivisible: true };
    const { run, clock } = setUp(() => ({ wireMs: 120_000, fail: timedOut() }), undefined, scope);
    const errors: Error[] = [];
    while (!streak.isOver) errors.push(await errorOf(run()));
    expect(errors.length).toBeGreaterThan(4);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(RETRY_LIMITS.maxStreakMs + 120_000);
    expect(errors.at(-1)!.message).toMatch(/gave up after 8 failures in a row \(9\d\d s\)/);
  });

  it('begins a new row after a success, and after progress, but not after a trickle', async () => {
    const streak = createFailureStreak();
    const scope = { streak, isDivisible: true };
    const steps = [{ fail: broken() }, { fail: broken() }, {}];
    await setUp((attempt) => steps[attempt - 1]!, undefined, scope).run();
    expect(streak).toEqual(createFailureStreak());
    const progressed = () => true;
    await errorOf(setUp(() => ({ fail: tooSlow() }), progressed, scope).run());
    expect(streak.failures).toBe(2);
    let attempts = 0;
    const going = setUp(
      (attempt) => {
        attempts = attempt;
        return attempt <= 40 ? { fail: broken() } : {};
      },
      () => attempts <= 40,
      scope,
    );
    expect(await going.run()).toBe('done');
  });
});
