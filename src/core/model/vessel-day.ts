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

/** How a lake is read: as plain Hive Parquet, or as a Delta table for each job. */
export const LAYOUTS = ['plain', 'delta'] as const;
export type Layout = (typeof LAYOUTS)[number];
