import { expect, test } from 'vitest';
import type { RangeOptions } from '../../../src/cli/commands/dates.ts';
import { askedDates, datesOr, EXPORT_DAYS, formatDates } from '../../../src/cli/commands/dates.ts';
import { lookbackDaysOf } from '../../../src/core/model/index.ts';
import { parseJob } from '../../../src/runtime/config/jobs.ts';

const NOW_MS = Date.parse('2026-03-01T00:30:00Z');
const asked = (options: RangeOptions) => askedDates(options, NOW_MS);
const dates = (options: RangeOptions, days = EXPORT_DAYS) => datesOr(days, asked(options), NOW_MS);

test('without any: yesterday and today, or the look-back and today', () => {
  expect(dates({})).toEqual({ from: '2026-02-28', to: '2026-03-02', meaning: 'yesterday and today' });
  expect(dates({}, 14)).toEqual({
    from: '2026-02-15',
    to: '2026-03-02',
    meaning: 'the last 14 days and today',
  });
  expect(formatDates(dates({}))).toBe('2026-02-28 to 2026-03-02 (no dates given: yesterday and today)');
  const job = (more: string) =>
    parseJob('a.yaml', 'a', `dataset: measurements\nvessels: [IMO9321483]\nselect: ["flat/*"]\n${more}`).job!;
  expect(lookbackDaysOf(job(''))).toBe(14);
  expect(lookbackDaysOf(job('reconcile: { cron: "0 6 * * *", lookback: 30d }'))).toBe(30);
});

test('--days is the days before today, and today', () => {
  expect(dates({ days: 1 })).toEqual({ from: '2026-02-28', to: '2026-03-02' });
  expect(dates({ days: 30 }, 14)).toEqual({ from: '2026-01-30', to: '2026-03-02' });
});

test.for([
  ['2026-01', '2026-01-01', '2026-02-01'],
  ['2026-02', '2026-02-01', '2026-03-01'],
  ['2024-02', '2024-02-01', '2024-03-01'],
  ['2025-12', '2025-12-01', '2026-01-01'],
  ['2026-04', '2026-04-01', '2026-05-01'],
] as const)('--month %s', ([month, from, to]) => {
  expect(dates({ month })).toEqual({ from, to });
});

test('--from and --to take dates, yesterday and today; one alone goes to tomorrow, or from before the other', () => {
  expect(dates({ from: 'yesterday', to: 'today' })).toEqual({ from: '2026-02-28', to: '2026-03-01' });
  expect(dates({ from: '2026-01-05', to: 'yesterday' })).toEqual({ from: '2026-01-05', to: '2026-02-28' });
  expect(dates({ from: '2026-01-05' })).toEqual({ from: '2026-01-05', to: '2026-03-02' });
  expect(dates({ to: '2026-01-05' })).toEqual({ from: '2026-01-04', to: '2026-01-05' });
  expect(dates({ to: '2026-01-15' }, 14)).toEqual({ from: '2026-01-01', to: '2026-01-15' });
  expect(asked({})).toEqual({});
  expect(asked({ from: 'today' })).toEqual({ from: '2026-03-01' });
});

test.for([
  [
    { days: 3, from: '2026-01-01' },
    '--days: given together with --from, expected one of --days, --month, or',
  ],
  [{ days: 3, month: '2026-01' }, '--days: given together with --month'],
  [
    { month: '2026-01', from: '2026-01-01', to: '2026-01-02' },
    '--month: given together with --from and --to',
  ],
  [{ days: 0 }, '--days: got 0, expected at least 1'],
  [{ days: 999_999_999 }, '--days: got 999999999, expected at least 1, and no date before 1970'],
  [{ month: '2026-13' }, "--month: got '2026-13', expected a month YYYY-MM, such as 2026-01"],
  [{ month: '2026-1' }, "--month: got '2026-1'"],
  [{ from: 'tomorrow' }, "--from: got 'tomorrow', expected a UTC date YYYY-MM-DD, yesterday or today"],
  [{ to: '2026-02-30' }, "--to: got '2026-02-30'"],
  [
    { from: 'today', to: 'today' },
    '--from 2026-03-01 --to 2026-03-01: the range is empty; --to is exclusive',
  ],
  [{ from: '2026-03-02' }, '--from 2026-03-02 --to 2026-03-02: the range is empty'],
  [{ vessel: ['9321483'] }, "--vessel: got '9321483', expected IMO and seven digits"],
] as const)('%j is refused', ([options, message]) => {
  expect(() => asked(options)).toThrow(message);
});

test('every fault is said at once', () => {
  expect(() => asked({ from: 'now', to: 'then', vessel: ['IMO1'], days: 0 })).toThrow(
    /^--days: given together.*\n--days: got 0.*\n--from: got 'now'.*\n--to: got 'then'.*\n--vessel: got 'IMO1'/,
  );
});
