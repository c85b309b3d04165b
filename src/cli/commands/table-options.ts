/** Arguments and options that several commands have. */
import type { OptionRow } from './context.ts';

export const JOBS = ['[job...]', 'names of jobs; all of them when none is given'] as const;
export const VESSEL: OptionRow = [
  '--vessel <id...>',
  "these vessels instead of the job's own, such as IMO9321483",
];
export const JSON_RESULT: OptionRow = ['--json', 'print the result as JSON'];
export const NDJSON_RESULT: OptionRow = ['--ndjson', 'print it as lines of JSON, as they come'];
export const ALLOW_SHRINK: OptionRow = ['--allow-shrink', 'publish a day although series lose readings'];

/** `meant`: the dates that are meant without these options. */
export function dateOptions(meant: string): readonly OptionRow[] {
  return [
    ['--from <date>', `first UTC date, or yesterday, or today (without dates: ${meant})`],
    ['--to <date>', 'UTC date to stop before'],
    ['--days <n>', 'the n days before today, and today'],
    ['--month <yyyy-mm>', 'a month'],
  ];
}
