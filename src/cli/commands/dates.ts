/**
 * Which dates a command is about. Without any: commands that export (`run`, `plan`) mean yesterday and today, those that look (`status`, `reconcile`) the
 * job's look-back (or 14 days) and today, `verify` the whole lake. `--days N` is the N days before today, and today, everywhere.
 */
import { usageError } from '../../core/errors.ts';
import { addDays, dateToMicros, isDate, MICROS_PER_DAY, microsToDate } from '../../core/model/time.ts';
import { VESSEL_ID } from '../../core/model/vessel-day.ts';

export interface RangeOptions {
  /** A UTC date, `yesterday` or `today`; so is `to`, which is exclusive. */
  readonly from?: string;
  readonly to?: string;
  readonly days?: number;
  /** `YYYY-MM` */
  readonly month?: string;
  readonly vessel?: readonly string[];
}

/** UTC dates, `to` exclusive; absent where nothing was said. */
export type AskedDates = Partial<Omit<Dates, 'meaning'>>;

export interface Dates {
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  readonly meaning?: string;
}

/** Days before today, if no dates are given. */
export const EXPORT_DAYS = 1;

export function vesselFaults(vessels: readonly string[] = []): string[] {
  return vessels
    .filter((vessel) => !VESSEL_ID.test(vessel))
    .map((vessel) => `--vessel: got '${vessel}', expected IMO and seven digits, such as IMO9321483`);
}

/** Check dates and vessels of a command line. Throws ConfigError `usage` that lists every fault. */
export function askedDates(options: RangeOptions, nowMs: number): AskedDates {
  const today = microsToDate(nowMs * 1_000);
  const { days, month } = options;
  const faults: string[] = [];
  const given = (['days', 'month', 'from', 'to'] as const).filter((name) => options[name] !== undefined);
  if (given.length > 1 && (days !== undefined || month !== undefined)) {
    const [first, ...others] = given.map((name) => `--${name}`);
    const expected = 'expected one of --days, --month, or --from and --to';
    faults.push(`${first}: given together with ${others.join(' and ')}, ${expected}`);
  }
  if (days !== undefined && (days < 1 || days > dateToMicros(today) / MICROS_PER_DAY))
    faults.push(`--days: got ${days}, expected at least 1, and no date before 1970`);
  if (month !== undefined && !isDate(`${month}-01`))
    faults.push(`--month: got '${month}', expected a month YYYY-MM, such as 2026-01`);
  const words: Readonly<Record<string, string>> = { today, yesterday: addDays(today, -1) };
  const [from, to] = (['from', 'to'] as const).map((name) => {
    const text = options[name];
    if (text === undefined) return undefined;
    const date = words[text] ?? text;
    if (!isDate(date))
      faults.push(`--${name}: got '${text}', expected a UTC date YYYY-MM-DD, yesterday or today`);
    return date;
  });
  const end = to ?? addDays(today, 1);
  const empty = `the range is empty; --to is exclusive, so one day is --from D --to D+1`;
  if (faults.length === 0 && from !== undefined && from >= end)
    faults.push(`--from ${from} --to ${end}: ${empty}`);
  faults.push(...vesselFaults(options.vessel));
  if (faults.length > 0) throw usageError(faults.join('\n'));
  if (days !== undefined) return { from: addDays(today, -days), to: addDays(today, 1) };
  if (month !== undefined) return { from: `${month}-01`, to: `${addDays(`${month}-01`, 31).slice(0, 7)}-01` };
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

/** Whether it names neither dates nor vessels, so that it means other days tomorrow, like a cron job. */
export function isRegular({ from, to, month, vessel }: RangeOptions): boolean {
  return [from, to, month, vessel].every((given) => given === undefined);
}

/** The dates in full: `days` before today and today where none was given, or before `to` where that alone was. */
export function datesOr(days: number, { from, to }: AskedDates, nowMs: number): Dates {
  const today = microsToDate(nowMs * 1_000);
  const dates = { from: from ?? addDays(to ?? today, -days), to: to ?? addDays(today, 1) };
  if (from !== undefined || to !== undefined) return dates;
  return { ...dates, meaning: days === 1 ? 'yesterday and today' : `the last ${days} days and today` };
}

/** `2026-01-12 to 2026-01-14 (no dates given: yesterday and today)` */
export function formatDates({ from, to, meaning }: Dates): string {
  return `${from} to ${to}${meaning === undefined ? '' : ` (no dates given: ${meaning})`}`;
}
