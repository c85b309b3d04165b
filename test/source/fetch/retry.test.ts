import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FailureStreak } from '../../../src/source/fetch/retry.ts';
import {
  createFailureStreak,
  decideRetry,
  NO_TROUBLE,
  RETRY_LIMITS,
  retryAfterMs,
} from '../../../src/source/fetch/retry.ts';

const NOW = Date.UTC(2026, 0, 6, 12);
const FIRST = { ...NO_TROUBLE, attempts: 1 };
const LIMITED = { ...NO_TROUBLE, limited: 1 };
const half = () => 0.5;
const status = (code: number, headers: Record<string, string> = {}) => ({ status: code, headers });

describe('decideRetry', () => {
  it.each([408, 425, 500, 502, 503, 504, 520, 599])('tries again after status %i', (code) => {
    expect(decideRetry(status(code), FIRST, NOW, half)).toEqual({ retry: true, delayMs: 250 });
  });

  it.each([204, 206, 301, 302, 304, 400, 401, 403, 404, 406, 410, 413, 414, 415, 418, 451, 501, 505])(
    'gives up at once on status %i',
    (code) => {
      expect(decideRetry(status(code), FIRST, NOW, half)).toEqual({ giveUp: true, reason: 'no-retry-helps' });
    },
  );

  it.each([
    ...'connection-failed body-broken idle-timeout headers-timeout host-unknown any-other'.split(' '),
  ])('tries again after %s', (code) => {
    expect(decideRetry({ code }, FIRST, NOW, half)).toEqual({ retry: true, delayMs: 250 });
  });

  it.each([
    [1, 250],
    [2, 500],
    [3, 1000],
    [6, 8000],
    [7, 15000],
  ])('doubles the delay: failure %i waits half of its ceiling, %i ms', (attempts, delayMs) => {
    const decision = decideRetry({ code: 'connection-failed' }, { ...FIRST, attempts }, NOW, half);
    expect(decision).toEqual({ retry: true, delayMs });
  });

  it.each([
    ['connection-failed', 8],
    ['headers-timeout', 2],
    ['host-unknown', 3],
  ])('stops after the attempts of %s: %i', (code, attempts) => {
    expect(decideRetry({ code }, { ...FIRST, attempts: attempts - 1 }, NOW, half)).toHaveProperty('retry');
    const decision = decideRetry({ code }, { ...FIRST, attempts }, NOW, half);
    expect(decision).toEqual({ giveUp: true, reason: 'attempts' });
  });

  describe('of a range that may be asked for in halves', () => {
    const row = (failures: number, spentMs = 0) => ({ ...createFailureStreak(), failures, spentMs });
    const of = (failure: Parameters<typeof decideRetry>[0], attempts: number, streak: FailureStreak) =>
      decideRetry(failure, { ...FIRST, attempts }, NOW, half, RETRY_LIMITS, { streak, isDivisible: true });

    it.each([status(500), status(504), { code: 'body-broken' }, { code: 'idle-timeout' }])(
      'stops after three attempts of %o',
      (failure) => {
        expect(of(failure, 2, row(2))).toHaveProperty('retry');
        expect(of(failure, 3, row(3))).toEqual({ giveUp: true, reason: 'attempts' });
      },
    );

    it('stops after one time-out where a longer range has failed already', () => {
      for (const failure of [status(504), { code: 'headers-timeout' }, { code: 'too-slow' }])
        expect(of(failure, 1, row(4))).toEqual({ giveUp: true, reason: 'attempts' });
      expect(of(status(500), 1, row(4))).toHaveProperty('retry');
    });

    it('waits as long as so many failures in a row deserve, whichever range they were of', () => {
      expect(of(status(500), 1, row(5))).toEqual({ retry: true, delayMs: 4_000 });
    });

    it('ends the row after so many failures, or so much time', () => {
      const { maxStreak, maxStreakMs } = RETRY_LIMITS;
      expect(of(status(500), 1, row(maxStreak - 1))).toHaveProperty('retry');
      expect(of(status(500), 1, row(maxStreak))).toEqual({ giveUp: true, reason: 'streak' });
      expect(of(status(500), 1, row(3, maxStreakMs))).toEqual({ giveUp: true, reason: 'streak' });
    });
  });

  it('stops when the next delay would go past the total time', () => {
    const trouble = { ...FIRST, spentMs: 299_751 };
    expect(decideRetry(status(500), trouble, NOW, half)).toEqual({ giveUp: true, reason: 'time' });
    expect(decideRetry(status(500), { ...trouble, spentMs: 299_750 }, NOW, half)).toHaveProperty('retry');
  });

  it.each([
    ['without Retry-After', {}, 250],
    ['with seconds', { 'retry-after': '7' }, 7_250],
    ['with a date', { 'retry-after': 'Tue, 06 Jan 2026 12:00:09 GMT' }, 9_250],
    ['with a date that has passed', { 'retry-after': 'Tue, 06 Jan 2026 11:00:00 GMT' }, 250],
    ['with too long a time', { 'retry-after': '86400' }, 300_250],
    ['with nonsense', { 'retry-after': 'soon' }, 250],
  ])('waits after a 429 %s', (_, headers: Record<string, string>, delayMs) => {
    expect(decideRetry(status(429, headers), LIMITED, NOW, half)).toEqual({ retry: true, delayMs });
  });

  it('waits ever longer where it is told again and again to come back at once', () => {
    const atOnce = status(429, { 'retry-after': '0' });
    const delays = [1, 4, 8, 20].map((limited) =>
      decideRetry(atOnce, { ...FIRST, limited, limitedMs: 0 }, NOW, half),
    );
    expect(delays).toEqual([250, 2_000, 15_000, 15_000].map((delayMs) => ({ retry: true, delayMs })));
  });

  it('obeys Retry-After of a 503 too', () => {
    expect(decideRetry(status(503, { 'retry-after': '3' }), FIRST, NOW, half)).toEqual({
      retry: true,
      delayMs: 3_250,
    });
  });

  it('counts no attempt for a 429, only its own time', () => {
    const many = { attempts: 99, spentMs: 1e9, limited: 1000, limitedMs: 0 };
    expect(decideRetry(status(429), many, NOW, half)).toHaveProperty('retry');
    const decision = decideRetry(status(429), { ...LIMITED, limitedMs: 1_800_000 }, NOW, half);
    expect(decision).toEqual({ giveUp: true, reason: 'time' });
  });

  it('never waits longer than it says it will', () => {
    const trouble = fc.record({
      attempts: fc.nat(2000),
      spentMs: fc.nat(400_000),
      limited: fc.nat(2000),
      limitedMs: fc.nat(2_000_000),
    });
    const failure = fc.oneof(
      fc.record({
        status: fc.integer({ min: 100, max: 599 }),
        headers: fc.dictionary(fc.constant('retry-after'), fc.string()),
      }),
      fc.record({ code: fc.string() }),
    );
    fc.assert(
      fc.property(failure, trouble, fc.double({ min: 0, max: 0.999, noNaN: true }), (what, so, random) => {
        const decision = decideRetry(what, so, NOW, () => random);
        if ('giveUp' in decision) return;
        expect(decision.delayMs).toBeGreaterThanOrEqual(0);
        expect(decision.delayMs).toBeLessThanOrEqual(RETRY_LIMITS.maxRetryAfterMs + RETRY_LIMITS.baseDelayMs);
      }),
    );
  });
});

describe('retryAfterMs', () => {
  it("compares a date with the answer's own, so that our clock does not matter", () => {
    const headers = { 'retry-after': 'Tue, 06 Jan 2026 08:00:30 GMT', date: 'Tue, 06 Jan 2026 08:00:00 GMT' };
    expect(retryAfterMs(headers, NOW)).toBe(30_000);
  });

  it.each(['', '-1', '1e9', 'NaN', '12, 13', '2026-01-06T12:00:09Z'])('does not understand %j', (text) => {
    expect(retryAfterMs({ 'retry-after': text }, NOW)).toBeUndefined();
  });
});
