import { expect, test } from 'vitest';
import { cronFault, lastFiringMs } from '../../../src/core/plan/firings.ts';

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
  expect(fired('30 2 * * *', 'Europe/Oslo', '2026-10-25T12:00:00Z')).toBe('2026-10-25T00:30:00.000Z');
});

test('a time that the clocks skip fires when they change', () => {
  expect(fired('30 2 * * *', 'Europe/Oslo', '2026-03-29T12:00:00Z')).toBe('2026-03-29T01:00:00.000Z');
  expect(fired('0 0 * * *', 'America/Havana', '2026-03-08T05:00:00Z')).toBe('2026-03-08T05:00:00.000Z');
  // Samoa had no 30 December.
  expect(fired('15 6 * * *', 'Pacific/Apia', '2011-12-30T10:00:00Z')).toBe('2011-12-30T10:00:00.000Z');
});

test('what fires in every hour goes on while the clocks show an hour again', () => {
  expect(fired('15 * * * *', 'Europe/Oslo', '2026-10-25T00:59:00Z')).toBe('2026-10-25T00:15:00.000Z');
  expect(fired('15 * * * *', 'Europe/Oslo', '2026-10-25T01:59:00Z')).toBe('2026-10-25T01:15:00.000Z');
  expect(fired('30 2,5 * * *', 'Europe/Oslo', '2026-10-25T01:59:00Z')).toBe('2026-10-25T00:30:00.000Z');
  // Its last match is a month ago, before a change.
  expect(fired('* * 1 * *', 'Europe/Oslo', '2026-03-30T12:00:00Z')).toBe('2026-03-01T22:59:00.000Z');
});

const HOUR_MS = 3_600_000;

/** Moments of a year around which some zone's clocks change, with the zones; those of one history only once. */
function findChanges(): [timezone: string, aroundMs: number][] {
  const seen = new Map<string, [string, number[]]>();
  for (const timezone of Intl.supportedValuesOf('timeZone')) {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' });
    const offset = (ms: number) =>
      format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')!.value;
    const at: number[] = [];
    const history: string[] = [];
    for (let ms = Date.UTC(2026, 0); ms < Date.UTC(2027, 0); ms += 24 * HOUR_MS) {
      if (offset(ms) === offset(ms + 24 * HOUR_MS)) continue;
      at.push(ms);
      history.push(`${ms} ${offset(ms)} ${offset(ms + 24 * HOUR_MS)}`);
    }
    seen.set(history.join(), [timezone, at]);
  }
  return [...seen.values()].flatMap(([timezone, at]) => at.map((ms): [string, number] => [timezone, ms]));
}

const CHANGES = findChanges();

test('a night is one firing in every zone of the world, and a look never fails or goes back', () => {
  expect(new Set(CHANGES.map(([timezone]) => timezone)).size).toBeGreaterThan(20);
  for (const time of ['0 0', '45 1', '30 2', '59 23']) {
    const cron = `${time} * * *`;
    for (const [timezone, ms] of CHANGES) {
      const firings: number[] = [];
      for (let now = ms - 26 * HOUR_MS; now <= ms + 50 * HOUR_MS; now += HOUR_MS) {
        const firing = lastFiringMs({ cron, timezone }, now);
        expect(firing).toBeLessThanOrEqual(now);
        if (firing === firings.at(-1)) continue;
        // Each the next night: none twice, none left out.
        const sinceLast = firings.length === 0 ? 24 : (firing - firings.at(-1)!) / HOUR_MS;
        const what = `${cron} ${timezone} ${new Date(now).toISOString()}`;
        expect(sinceLast, what).toBeGreaterThanOrEqual(22);
        expect(sinceLast, what).toBeLessThanOrEqual(26);
        firings.push(firing);
      }
      expect(firings.length).toBeGreaterThanOrEqual(4);
    }
  }
});

test.for(['*/20 * * * *', '15 6 * * 1', '0 */5 2-4 * * *'])(
  '%s never fails or goes back, whatever the clocks do',
  (cron) => {
    for (const [timezone, ms] of CHANGES) {
      let last = Number.NEGATIVE_INFINITY;
      for (let now = ms - 30 * HOUR_MS; now <= ms + 54 * HOUR_MS; now += HOUR_MS) {
        const firing = lastFiringMs({ cron, timezone }, now);
        expect(firing, `${timezone} ${new Date(now).toISOString()}`).toBeGreaterThanOrEqual(last);
        expect(firing).toBeLessThanOrEqual(now);
        last = firing;
      }
    }
  },
);

test('what is no cron expression is named', () => {
  expect(cronFault('15 6 * * *')).toBeUndefined();
  expect(cronFault('99 6 * * *')).toContain('99');
  expect(cronFault('0 0 30 2 *')).toContain('day of month');
});
