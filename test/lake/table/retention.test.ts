import { expect, test } from 'vitest';
import { parseInterval, retentionOf, TABLE_RETENTION } from '../../../src/lake/table/retention.ts';
import { newTableMetadata } from '../../../src/lake/table/schema.ts';
import { MEASUREMENTS } from './fixtures.ts';

const DAY_MS = 86_400_000;

test.for([
  ['interval 7 days', 7 * DAY_MS],
  ['INTERVAL 1 WEEK', 7 * DAY_MS],
  ['interval 1 week 2 days 3 hours', 9 * DAY_MS + 3 * 3_600_000],
  ['168 hours', 7 * DAY_MS],
  ["interval '30' day", 30 * DAY_MS],
  ['interval 1.5 seconds', 1_500],
  ['  interval   0 minutes ', 0],
  ['interval 2000000 microseconds', 2_000],
] as const)('%j is read', ([text, ms]) => expect(parseInterval(text)).toBe(ms));

test.for([
  ...[
    '',
    'interval',
    '7',
    'days',
    '7 fortnights',
    'interval 1 month',
    'interval 2 years',
    'interval -1 days',
  ],
  ...['interval 7 days!', 'interval 7 days and 1 hour', 'P7D', '1e3 days', 'null'],
])('%j is not', (text) => expect(parseInterval(text)).toBeUndefined());

const of = (configuration: Record<string, string>) =>
  retentionOf({ ...newTableMetadata(MEASUREMENTS, 0), configuration }, TABLE_RETENTION);

test('a table keeps what it says, and for ever what it says unreadably', () => {
  expect(retentionOf(undefined, TABLE_RETENTION)).toEqual({ ...TABLE_RETENTION, faults: [] });
  const own = {
    'delta.deletedFileRetentionDuration': 'interval 14 days',
    'delta.logRetentionDuration': 'interval 1 day',
  };
  expect(of(own)).toEqual({ ...TABLE_RETENTION, filesMs: 14 * DAY_MS, entriesMs: DAY_MS, faults: [] });
  const wrong = of({ ...own, 'delta.deletedFileRetentionDuration': 'two weeks' });
  expect(wrong).toMatchObject({ filesMs: Number.POSITIVE_INFINITY, entriesMs: DAY_MS });
  expect(wrong.faults).toEqual([
    expect.stringContaining("delta.deletedFileRetentionDuration 'two weeks' is no"),
  ]);
  const off = of({ ...own, 'delta.enableExpiredLogCleanup': 'False' });
  expect(off).toMatchObject({ entriesMs: Number.POSITIVE_INFINITY, filesMs: 14 * DAY_MS, faults: [] });
});
