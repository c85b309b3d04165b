import { describe, expect, it } from 'vitest';
import { FatalError, RetriableError } from '../../src/errors.ts';
import type { Attempt, Call, Send } from '../../src/fetch/exchange.ts';
import { RETRY_LIMITS } from '../../src/fetch/retry.ts';
import { withRetry } from '../../src/fetch/retry-loop.ts';
import { AnswerError } from '../../src/fetch/status.ts';
import { silentLog } from '../../src/model/ports.ts';
import { createManualClock, type ManualClock } from '../helpers/manual-clock.ts';
import { errorOf } from './listener.ts';

/** What one attempt does: wait in line, spend time on the wire, and fail (or answer when `fail` is absent). */
interface Step {
  readonly queuedMs?: number;
  readonly wireMs?: number;
  readonly fail?: Error;
}

function setUp(stepOf: (attempt: number) => Step, progressed: () => boolean = () => false) {
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
      origin: 'http://host',
      target: '/',
      headers: {},
      body: undefined,
      what: 'page',
      attempt: 1,
    }),
    consume: async () => 'done',
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
const limited = () =>
  new AnswerError({ status: 429, headers: {}, body: (async function* () {})() }, '', 'page');

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
});
