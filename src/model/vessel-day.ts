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
/** `IMO` and the seven digits of the number. */
export const VESSEL_ID = /^IMO\d{7}$/;

/** The published object of a vessel-day. */
export function objectKey(day: VesselDay): string {
  return `${day.job}/vessel=${day.vessel}/date=${day.date}/data.parquet`;
}

/** All receipts of a job begin with this. */
export function ledgerPrefix(job: string, date?: string): string {
  return date === undefined ? `_ledger/${job}/` : `_ledger/${job}/date=${date}/`;
}

export function receiptKey(day: VesselDay): string {
  return `${ledgerPrefix(day.job, day.date)}vessel=${day.vessel}.json`;
}

/** The vessel-day of a receipt's key, or undefined when the key is none. */
export function parseReceiptKey(key: string): VesselDay | undefined {
  const match = /^_ledger\/([^/]+)\/date=(\d{4}-\d{2}-\d{2})\/vessel=(IMO\d{7})\.json$/.exec(key);
  return match ? { job: match[1]!, date: match[2]!, vessel: match[3]! } : undefined;
}

/** What is kept of a job's receipts of a month `YYYY-MM` for faster reading. */
export function indexKey(job: string, month: string): string {
  return `_index/${job}/${month}.ndjson.gz`;
}

export function detailKey(day: VesselDay): string {
  return `_detail/${day.job}/date=${day.date}/vessel=${day.vessel}.json.gz`;
}

export function noteKey(day: VesselDay): string {
  return `_notes/${day.job}/date=${day.date}/vessel=${day.vessel}.json`;
}

/** All claims of a vessel-day begin with this. */
export function claimPrefix(day: VesselDay): string {
  return `_checkpoints/${day.job}/date=${day.date}/vessel=${day.vessel}/`;
}

export function claimKey(day: VesselDay, epoch: number): string {
  return `${claimPrefix(day)}${epoch}.json`;
}

/** Vessel-day and epoch of a claim's key, or undefined when the key is none. */
export function parseClaimKey(key: string): { day: VesselDay; epoch: number } | undefined {
  const match = /^_checkpoints\/([^/]+)\/date=(\d{4}-\d{2}-\d{2})\/vessel=(IMO\d{7})\/(\d+)\.json$/.exec(key);
  if (match === null) return undefined;
  return { day: { job: match[1]!, date: match[2]!, vessel: match[3]! }, epoch: Number(match[4]) };
}
