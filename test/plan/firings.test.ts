import { expect, test } from 'vitest';
import { cronFault, lastFiringMs } from '../../src/plan/firings.ts';

const fired = (cron: string, timezone: string, now: string) =>
  new Date(lastFiringMs({ cron, timezone }, Date.parse(now))).toISOString();

test('a schedule fires at its moment, not before', () => {
  expect(fired('15 6 * * *', 'UTC', '2026-01-05T06:14:59.999Z')).toBe('2026-01-04T06:15:00.000Z');
  expect(fired('15 6 * * *', 'UTC', '2026-01-05T06:15:00.000Z')).toBe('2026-01-05T06:15:00.000Z');
  expect(fired('15 6 * * *', 'UTC', '2026-01-05T23:00:00Z')).toBe('2026-01-05T06:15:00.000Z');
});

test('it is read in its time zone, also when clocks change', () => {
  expect(fired('15 6 * * *', 'Europe/Oslo', '2026-01-05T12:00:00Z')).toBe('2026-01-05T05:15:00.000Z');
  expect(fired('15 6 * * *', 'Europe/Oslo', '2026-07-05T12:00:00Z')).toBe('2026-07-05T04:15:00.000Z');
  expect(fired('30 2 * * *', 'Europe/Oslo', '2026-10-25T12:00:00Z')).toMatch(/^2026-10-25T0[01]:30/);
});

test('what is no cron expression is named', () => {
  expect(cronFault('15 6 * * *')).toBeUndefined();
  expect(cronFault('99 6 * * *')).toContain('99');
});
