/** One job × one vessel × one UTC day. */
export interface VesselDay {
  readonly job: string;
  readonly vessel: string;
  readonly date: string;
}

/** `measurements/IMO9321483/2026-01-05` */
export function formatVesselDay(day: VesselDay): string {
  return `${day.job}/${day.vessel}/${day.date}`;
}

/** Job names become path segments; a leading `_` would hide the data from Hive readers. */
export const JOB_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
/** What a vessel may be called, in keys, commands, jobs and answers alike: `IMO` and the seven digits of the number. */
export const VESSEL_ID = /^IMO\d{7}$/;

/** An IMO number as metadata may spell it (`9321483`, `IMO 9321483`), as digits alone; other text as it is. */
export function imoDigits(text: string): string {
  return /^(?:IMO)?\s*(\d+)$/i.exec(text)?.[1] ?? text;
}

/** The vessel of an IMO number; undefined for what is none. */
export function vesselOf(imo: string): string | undefined {
  const vessel = `IMO${imoDigits(imo)}`;
  return VESSEL_ID.test(vessel) ? vessel : undefined;
}

/**
 * `; the check digit of IMO9321484 is wrong`, or nothing. The last digit of an IMO number is that of the sum of the six
 * before it times 7 to 2 (IMO resolution A.1117(30)). A service may use such numbers all the same: it is a hint.
 */
export function checkDigitHint(vessel: string): string {
  const digits = imoDigits(vessel);
  if (!/^\d{7}$/.test(digits)) return '';
  const sum = [...digits.slice(0, 6)].reduce((all, digit, index) => all + Number(digit) * (7 - index), 0);
  return sum % 10 === Number(digits[6]) ? '' : `; the check digit of ${vessel} is wrong: is it mistyped?`;
}

/** How a lake is read: as plain Hive Parquet, or as a Delta table for each job. */
export const LAYOUTS = ['plain', 'delta'] as const;
export type Layout = (typeof LAYOUTS)[number];
