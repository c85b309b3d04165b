/** Time ranges that say the same in two ways, and those that are refused. */
import { DAY, HOUR } from './row.ts';

export const RANGES: readonly (readonly [sentence: string, parameters: string, same: string])[] = [
  ['from and to, with offsets', 'from=2026-01-05T02:00:00%2B02:00&to=2026-01-05T01:00:00Z', HOUR],
  ['from_epoch and to_epoch in seconds', 'from_epoch=1767571200&to_epoch=1767574800', HOUR],
  ['since: that far back until now', 'since=90minutes', 'from=2026-01-07T10:30&to=2026-01-07T12:00'],
  ['since=1day', 'since=1day', 'from=2026-01-06T12:00&to=2026-01-07T12:00'],
  ['since: minutes', 'since=5minutes', 'from=2026-01-07T11:55&to=2026-01-07T12:00'],
  ['since: hour', 'since=1hour', 'from=2026-01-07T11:00&to=2026-01-07T12:00'],
  ['since: hours', 'since=6hours', 'from=2026-01-07T06:00&to=2026-01-07T12:00'],
  ['since: days', 'since=2days', 'from=2026-01-05T12:00&to=2026-01-07T12:00'],
  ['since: month', 'since=1month', 'from=2025-12-07T12:00&to=2026-01-07T12:00'],
  ['since: months', 'since=2months', 'from=2025-11-07T12:00&to=2026-01-07T12:00'],
  ['last: minutes', 'last=10minutes', 'from=2026-01-07T11:50&to=2026-01-07T12:00'],
  ['last=1day is the previous whole day', 'last=1day', 'from=2026-01-06&to=2026-01-07'],
  [
    'decision: last=6hours is the six whole hours before this one',
    'last=6hours',
    'from=2026-01-07T06:00&to=2026-01-07T12:00',
  ],
  ['last=1month', 'last=1month', 'from=2025-12-01&to=2026-01-01'],
  ['year alone', 'year=2026', 'from=2026-01-01&to=2027-01-01'],
  ['year and month', 'year=2025&month=12', 'from=2025-12-01&to=2026-01-01'],
  ['year, month and day', 'year=2026&month=1&day=5', DAY],
  ['decision: from alone ends now', 'from=2026-01-07T11:00', 'from=2026-01-07T11:00&to=2026-01-07T12:00'],
  ['decision: to alone begins an hour before', 'to=2026-01-05T01:00', HOUR],
];
