import { expect, test } from 'vitest';
import {
  CancelledError,
  CommitFailedError,
  CommitUnknownError,
  ConfigError,
  DataError,
  FatalError,
  FencedError,
  HttpStatusError,
  NotDueError,
  NotYetError,
  RateLimitedError,
  RefusedError,
  RetriableError,
} from '../../../src/core/errors.ts';
import { backoffMs, consequenceOf } from '../../../src/fleet/queue/settle-job.ts';

test.for([
  ['cancelled', new CancelledError(), 'hand-back'],
  ['rate limited', new RateLimitedError('rate-limited', ''), 'wait'],
  ['fenced', new FencedError('running-elsewhere', ''), 'wait'],
  ['a day that is not over by the service', new NotDueError('', 0), 'wait'],
  ['readings that are not the counts', new DataError('counts-disagree', ''), 'count-again'],
  ['the service in trouble', new RetriableError('server-error', ''), 'retry'],
  ['a commit that failed', new CommitFailedError('upload-gone', ''), 'retry'],
  ['a commit in doubt', new CommitUnknownError('complete-unknown', ''), 'retry'],
  ['a defect of ours', new TypeError('x is not a function'), 'retry'],
  ['a record that breaks the contract', new DataError('bad-record', ''), 'fail'],
  ['a day that would shrink', new RefusedError('would-shrink', ''), 'fail'],
  ['a refused question', new HttpStatusError(400, 'bad-request', ''), 'fail'],
  ['a format that is not offered', new HttpStatusError(406, 'not-acceptable', ''), 'fail'],
  ['nothing there, which a service that is ill says too', new HttpStatusError(404, 'not-found', ''), 'retry'],
  ['forbidden, which a gateway that is ill says too', new HttpStatusError(403, 'forbidden', ''), 'retry'],
  ['a status that nobody foresaw', new HttpStatusError(418, 'unexpected-status', ''), 'retry'],
  ['a page that is no JSON', new DataError('malformed-json', ''), 'retry'],
  ['a page that is no Parquet', new DataError('bad-parquet', ''), 'retry'],
  ['a log of a table that is restored meanwhile', new DataError('damaged-log', ''), 'retry'],
  ['a job nobody knows', new ConfigError('unknown-job', ''), 'fail'],
  ['refused credentials', new FatalError('credentials-refused', ''), 'hold'],
  ['a full disk', new FatalError('disk-full', ''), 'hold'],
] as const)('%s', ([, error, kind]) => {
  expect(consequenceOf(error).kind).toBe(kind);
});

test('a day that is not over by the service comes back when it is, at least after a minute, at most after an hour', () => {
  const delays = [1, 600_000, 86_400_000].map((ms) => consequenceOf(new NotDueError('', ms)));
  expect(delays).toEqual([60_000, 600_000, 3_600_000].map((delayMs) => ({ kind: 'wait', delayMs })));
});

test('a rate limit is waited for as long as the service asks, at most an hour', () => {
  const delays = [undefined, 7_000, 9_000_000].map((ms) => consequenceOf(new RateLimitedError('l', '', ms)));
  expect(delays).toEqual([
    { kind: 'wait', delayMs: 300_000 },
    { kind: 'wait', delayMs: 7_000 },
    { kind: 'wait', delayMs: 3_600_000 },
  ]);
});

test('a day whose series are missing comes back when it says so', () => {
  const comparedWith = { date: '2026-01-04', finishedAt: '2026-01-05T06:00:00Z', series: 10 };
  const at = '2026-01-06T06:00:00Z';
  const waiting = { firstSeenAt: at, publishedFrom: at, selectedSeries: 2, comparedWith };
  const error = new NotYetError('fewer-series', '', 7_200_000, waiting);
  expect(consequenceOf(error)).toEqual({ kind: 'wait', delayMs: 7_200_000 });
});

test('attempts come at growing distances', () => {
  expect([1, 2, 3, 4].map((made) => backoffMs(made, () => 0))).toEqual([30_000, 60_000, 120_000, 240_000]);
  expect(backoffMs(1, () => 0.999)).toBeLessThan(45_000);
});
