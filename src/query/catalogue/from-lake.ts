/** Vessels and series as the lake knows them: by the newest snapshot of each metadata job, and by the receipts and counts. */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { ConfigError, DataError, messageOf, RetriableError } from '../../core/errors.ts';
import type { Clock, Job, Log, VesselDay } from '../../core/model/index.ts';
import { addDays, DayCounts, dateToMicros, MAX_SERIES, microsToDate } from '../../core/model/index.ts';
import { compileLevel } from '../../core/model/level-pattern.ts';
import { unlessDamaged } from '../../lake/json.ts';
import { readDetail, readReceipt } from '../../lake/ledger/ledger.ts';
import { knownDays, lastReceiptDates } from '../../lake/ledger/newest-days.ts';
import { parseTimestampText } from '../../source/decode/number-lexeme.ts';
import { readSnapshot } from '../../source/decode/series-names.ts';
import { expressionFor } from '../../source/series.ts';
import type { ObjectStore } from '../../store/store.ts';
import type { JobMembers, SeriesEntry, VesselEntry } from './entries.ts';
import { entryOf, sortEntries, tooManyEntries } from './entries.ts';

export interface LakePorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
}

type SnapshotPorts = Pick<LakePorts, 'store' | 'log'>;

/** Every series of the newest snapshots, with its last reading unless `days` is 0. Throws ConfigError `no-metadata-job`, RetriableError `no-series`. */
export async function listLakeSeries(
  ports: LakePorts,
  vessel: string | undefined,
  { days, jobs }: { readonly days: number; readonly jobs: readonly Job[] },
): Promise<SeriesEntry[]> {
  const metadataJobs = jobs.filter(({ dataset }) => dataset === 'metadata');
  if (metadataJobs.length === 0)
    throw new ConfigError(
      'no-metadata-job',
      'no job has dataset: metadata, whose snapshots list the series; add one, or leave out --lake to query the service',
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
  const found = new Map<string, { last?: VesselDay; jobs: string[]; name: string | null; series: number }>();
  const of = (vessel: string) => {
    const entry = found.get(vessel) ?? { jobs: [], name: null, series: 0 };
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

function lastDates({ store, clock }: LakePorts, job: string): Promise<Map<string, string>> {
  return lastReceiptDates(store, job, addDays(microsToDate(clock.nowMs() * 1_000), 1));
}

/** A snapshot that is damaged or gone is said, and hides no other. */
export async function readSeriesOf(
  { store, log }: SnapshotPorts,
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
 * Whose series a job exports; where it discovers its vessels: those of the ledger that had not left when it last published. Snapshots are written
 * only when something has changed, so there every vessel stays.
 */
function membersOf({ dataset, vessels }: Job, lastDates: ReadonlyMap<string, string>): ReadonlySet<string> {
  if (!('discover' in vessels)) return new Set(vessels);
  if (dataset === 'metadata' || lastDates.size === 0) return new Set(lastDates.keys());
  const newest = [...lastDates.values()].sort().at(-1)!;
  const since = addDays(newest, -knownDays(dataset));
  return new Set([...lastDates].filter(([, date]) => date > since).map(([vessel]) => vessel));
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
  return isLong && levels.every((level, at) => compileLevel(level)(found[at]!));
}

/** Of one series on the newest day that a job selected it; null: none that day. */
type LakeReading = { readonly readings: number } & Pick<SeriesEntry, 'lastMicros'>;

/** Details are small, and each is a request of its own. */
const DETAILS_AT_ONCE = 8;

/** Last readings by time series id, of several jobs the newest; windows of statistics are none. `lastDates`: vessel → date of its newest receipt. */
async function lastLakeReadings(
  ports: SnapshotPorts,
  lastDates: ReadonlyMap<Job, ReadonlyMap<string, string>>,
  vessel: string | undefined,
): Promise<Map<string, LakeReading>> {
  const days = [...lastDates]
    .filter(([{ dataset }]) => dataset === 'measurements')
    .flatMap(([{ name: job }, dates]) => [...dates].map(([of, date]) => ({ job, vessel: of, date })))
    .filter((day) => vessel === undefined || day.vessel === vessel);
  const found = new Map<string, LakeReading>();
  await forEachAtOnce(days, DETAILS_AT_ONCE, async (day) => {
    for await (const [id, reading] of readingsOf(ports, day)) {
      const known = found.get(id);
      if (known === undefined || isNewer(reading, known)) found.set(id, reading);
    }
  });
  return found;
}

/** At the same time, the one that knows of more. */
function isNewer(one: LakeReading, other: LakeReading): boolean {
  const [a, b] = [one.lastMicros ?? -1, other.lastMicros ?? -1];
  return a === b ? one.readings > other.readings : a > b;
}

/** A receipt or detail that is damaged or gone is said, and hides no other. Older receipts have no detail. */
async function* readingsOf(
  { store, log }: SnapshotPorts,
  day: VesselDay,
): AsyncGenerator<[id: string, LakeReading]> {
  try {
    const receipt = await readReceipt(store, day);
    const detail = receipt && (await readDetail(store, receipt));
    if (detail === undefined) {
      if (receipt?.detail)
        log.warn({ ...day }, 'the last readings are not known: the detail is not that of the receipt');
      return;
    }
    const counts = DayCounts.fromJson(dateToMicros(day.date), detail.ours);
    for (const id of Object.keys(detail.series ?? {})) yield [id, { lastMicros: null, readings: 0 }];
    for (const id of counts.ids())
      yield [id, { lastMicros: counts.seriesSpan(id)!.lastMicros, readings: counts.seriesTotal(id) }];
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    log.warn({ ...day }, `the last readings are not known: ${messageOf(error)}`);
  }
}
