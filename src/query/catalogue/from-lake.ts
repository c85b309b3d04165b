/** Vessels and series as the lake knows them: by the newest snapshot of each metadata job, and by the receipts. */
import { ConfigError, DataError, messageOf, RetriableError } from '../../core/errors.ts';
import type { Clock, Job, Log, VesselDay } from '../../core/model/index.ts';
import { addDays, MAX_SERIES, microsToDate } from '../../core/model/index.ts';
import { unlessDamaged } from '../../lake/json.ts';
import { readReceipt } from '../../lake/ledger/ledger.ts';
import { knownDays, lastReceiptDates } from '../../lake/ledger/newest-days.ts';
import { parseTimestampText } from '../../source/decode/index.ts';
import { readSnapshot } from '../../source/decode/parquet.ts';
import { expressionFor } from '../../source/series.ts';
import type { ObjectStore } from '../../store/store.ts';
import type { SeriesEntry, VesselEntry } from './entries.ts';
import { entryOf, sortEntries, tooManyEntries } from './entries.ts';
import { lastLakeReadings } from './lake-readings.ts';

export interface LakePorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Every series of the newest snapshots, with its last reading unless `days` is 0. Throws ConfigError `no-metadata-job`, RetriableError `no-series`.
 */
export async function listLakeSeries(
  ports: LakePorts,
  vessel: string | undefined,
  { days, jobs }: { readonly days: number; readonly jobs: readonly Job[] },
): Promise<SeriesEntry[]> {
  const metadataJobs = jobs.filter(({ dataset }) => dataset === 'metadata');
  if (metadataJobs.length === 0)
    throw new ConfigError(
      'no-metadata-job',
      'no job has dataset: metadata, and what series there are stands in its snapshots; add one, or leave out --lake to ask the service',
    );
  const found = new Map<string, { readonly entry: SeriesEntry; readonly date: string }>();
  const dates = new Map<Job, Map<string, string>>();
  for (const job of jobs) dates.set(job, await lastDates(ports, job.name));
  for (const job of metadataJobs) {
    for (const [of, date] of dates.get(job)!) {
      if (vessel !== undefined && of !== vessel) continue;
      await readSeriesOf(ports, { job: job.name, vessel: of, date }, (entry) => {
        const known = found.get(entry.timeSeriesId);
        if (known === undefined || known.date < date) found.set(entry.timeSeriesId, { entry, date });
        if (found.size > MAX_SERIES) throw tooManyEntries();
      });
    }
  }
  if (found.size === 0) {
    const names = metadataJobs.map(({ name }) => name).join(', ');
    throw new RetriableError(
      'no-series',
      `${ports.store.url} has no snapshot${vessel === undefined ? '' : ` of ${vessel}`} of ${names}; 'vessel-export run ${names}' takes one`,
    );
  }
  const last = days > 0 ? await lastLakeReadings(ports, dates, vessel) : undefined;
  const members = jobs.map((job) => ({ job, vessels: membersOf(job, dates.get(job)!) }));
  return sortEntries(
    [...found.values()].map(({ entry }) => ({
      ...entry,
      ...last?.get(entry.timeSeriesId),
      jobs: members.filter((one) => selects(one, entry)).map(({ job }) => job.name),
    })),
  );
}

/** Every vessel that has a receipt. Throws RetriableError `no-vessels`. */
export async function listLakeVessels(ports: LakePorts, jobs: readonly Job[]): Promise<VesselEntry[]> {
  const found = new Map<string, KnownVessel>();
  const of = (vessel: string) => {
    const entry = found.get(vessel) ?? { last: undefined, jobs: [], name: null, series: 0 };
    found.set(vessel, entry);
    return entry;
  };
  for (const job of jobs) {
    for (const [vessel, date] of await lastDates(ports, job.name)) {
      const entry = of(vessel);
      entry.jobs.push(job.name);
      if (job.dataset !== 'metadata' && date > (entry.last?.date ?? ''))
        entry.last = { job: job.name, vessel, date };
      if (job.dataset !== 'metadata') continue;
      let series = 0;
      await readSeriesOf(ports, { job: job.name, vessel, date }, ({ vesselName }) => {
        series++;
        entry.name ??= vesselName;
      });
      entry.series = Math.max(entry.series, series);
    }
  }
  if (found.size === 0)
    throw new RetriableError(
      'no-vessels',
      `${ports.store.url} has no receipt of any job; 'vessel-export run' exports`,
    );
  const entries: VesselEntry[] = [];
  for (const [vessel, { last, ...entry }] of [...found].sort()) {
    const receipt = last && (await unlessDamaged(readReceipt(ports.store, last)));
    const lastTime = receipt?.lastTimestamp ?? null;
    const lastMicros = lastTime === null ? null : parseTimestampText(JSON.stringify(lastTime));
    entries.push({ vessel, ...entry, lastMicros, readings: null });
  }
  return entries;
}

interface KnownVessel {
  /** Its newest day with readings, or without. */
  last: VesselDay | undefined;
  readonly jobs: string[];
  name: string | null;
  series: number;
}

function lastDates({ store, clock }: LakePorts, job: string): Promise<Map<string, string>> {
  return lastReceiptDates(store, job, addDays(microsToDate(clock.nowMs() * 1_000), 1));
}

/** A snapshot that is damaged or gone is said, and hides no other. */
export async function readSeriesOf(
  { store, log }: Pick<LakePorts, 'store' | 'log'>,
  day: { readonly job: string; readonly vessel: string; readonly date: string },
  onSeries: (entry: SeriesEntry) => void,
): Promise<void> {
  try {
    const key = (await readReceipt(store, day))?.object?.key;
    const object = key === undefined ? undefined : await store.get(key);
    if (object === undefined) return;
    readSnapshot(object.bytes, (series) => {
      const entry = entryOf(series);
      onSeries(entry.vessel === null ? { ...entry, vessel: day.vessel } : entry);
    });
  } catch (error) {
    if (!(error instanceof DataError) || error.code === 'too-many-series') throw error;
    log.warn(day, `the snapshot cannot be read: ${messageOf(error)}`);
  }
}

/**
 * Whose series a job exports. Of one that discovers its vessels: those that the ledger knows, but for those that had
 * left when the job last published. Snapshots are written only when something has changed: there every vessel stays.
 */
function membersOf({ dataset, vessels }: Job, lastDates: ReadonlyMap<string, string>): ReadonlySet<string> {
  if (!('discover' in vessels)) return new Set(vessels);
  if (dataset === 'metadata' || lastDates.size === 0) return new Set(lastDates.keys());
  const newest = [...lastDates.values()].sort().at(-1)!;
  const since = addDays(newest, -knownDays(dataset));
  return new Set([...lastDates].filter(([, date]) => date > since).map(([vessel]) => vessel));
}

interface JobMembers {
  readonly job: Job;
  readonly vessels: ReadonlySet<string>;
}

/** Does a job select a series, by its names? Without the service, expressions of a syntax of their own select nothing. */
function selects({ job: { select }, vessels }: JobMembers, entry: SeriesEntry): boolean {
  const { vessel } = entry;
  if (vessel === null || !vessels.has(vessel)) return false;
  return select.some((written) => matches(expressionFor(written, vessel), entry));
}

/** `*` stands for any characters within one level; a jsmea expression may end early. */
function matches(expression: string, { names, timeSeriesId }: SeriesEntry): boolean {
  const [domain = '', ...levels] = expression.split('/');
  if (domain === 'id') return levels.join('/').split(',').includes(timeSeriesId);
  const name = names.get(domain);
  if (name === undefined) return false;
  const found = name.split('/');
  // The last level of a flat name keeps further slashes.
  if (domain === 'flat' && found.length > 2) found.splice(1, found.length, found.slice(1).join('/'));
  const isLong = domain === 'jsmea' ? found.length >= levels.length : found.length === levels.length;
  return isLong && levels.every((level, at) => matchesLevel(level, found[at]!));
}

function matchesLevel(pattern: string, text: string): boolean {
  if (!pattern.includes('*')) return pattern === text;
  const [first = '', ...others] = pattern.split('*');
  if (!text.startsWith(first)) return false;
  let at = first.length;
  const last = others.pop()!;
  for (const part of others) {
    const next = text.indexOf(part, at);
    if (next < 0) return false;
    at = next + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
