/** The days that a contender reads, and the files that it writes of them. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileIn } from './prepared-day.ts';

export interface DayFiles {
  /** Filled as `prepareDay` does. */
  readonly dir: string;
  /** Its Parquet file. */
  readonly out: string;
}

/** One prepared day and its file; or the prepared days in a folder, and files of their names in the folder `out`. */
export function daysIn(dir: string, out: string): DayFiles[] {
  if (existsSync(fileIn(dir).readings)) return [{ dir, out }];
  return readdirSync(dir).map((name) => ({ dir: join(dir, name), out: join(out, `${name}.parquet`) }));
}

/** Bytes of what was written. */
export function bytesOf(days: readonly DayFiles[]): number {
  return days.reduce((sum, { out }) => sum + statSync(out).size, 0);
}
