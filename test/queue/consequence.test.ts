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
  RateLimitedError,
  RefusedError,
  RetriableError,
} from '../../src/errors.ts';
import { backoffMs, consequenceOf } from '../../src/queue/consequence.ts';

test.for([
  ['cancelled', new CancelledError(), 'hand-back'],
  ['rate limited', new RateLimitedError('rate-limited', ''), 'wait'],
  ['fenced', new FencedError('running-elsewhere', ''), 'wait'],
  ['readings that are not the counts', new DataError('counts-disagree', ''), 'count-again'],
  ['the service in trouble', new RetriableError('server-error', ''), 'retry'],
  ['a commit that failed', new CommitFailedError('upload-gone', ''), 'retry'],
  ['a commit in doubt', new CommitUnknownError('complete-unknown', ''), 'retry'],
  ['a defect of ours', new TypeError('x is not a function'), 'retry'],
  ['a record that breaks the contract', new DataError('bad-record', ''), 'fail'],
  ['a day that would shrink', new RefusedError('would-shrink', ''), 'fail'],
  ['a refused question', new HttpStatusError(400, 'bad-request', ''), 'fail'],
  ['a job nobody knows', new ConfigError('unknown-job', ''), 'fail'],
  ['refused credentials', new FatalError('credentials-refused', ''), 'hold'],
  ['a full disk', new FatalError('disk-full', ''), 'hold'],
] as const)('%s', ([, error, kind]) => {
  expect(consequenceOf(error).kind).toBe(kind);
});

test('a rate limit is waited for as long as the service asks, at most an hour', () => {
  const delays = [undefined, 7_000, 9_000_000].map((ms) => consequenceOf(new RateLimitedError('l', '', ms)));
  expect(delays).toEqual([
    { kind: 'wait', delayMs: 300_000 },
    { kind: 'wait', delayMs: 7_000 },
    { kind: 'wait', delayMs: 3_600_000 },
  ]);
});

test('attempts come at growing distances', () => {
  expect([1, 2, 3, 4].map((made) => backoffMs(made, () => 0))).toEqual([30_000, 60_000, 120_000, 240_000]);
  expect(backoffMs(1, () => 0.999)).toBeLessThan(45_000);
});
