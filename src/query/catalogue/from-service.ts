/** Vessels and series as the service lists them now. */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { HttpStatusError, RetriableError } from '../../core/errors.ts';
import type { Clock, Job, Log, TimeRange } from '../../core/model/index.ts';
import { FLAT_DOMAINS, MAX_SERIES, vesselOf } from '../../core/model/index.ts';
import { MICROS_PER_DAY, MICROS_PER_MILLI } from '../../core/model/time.ts';
import type { QueryClient } from '../../source/fetch/client.ts';
import { createRequestStats } from '../../source/fetch/exchange.ts';
import { askLastReadings, askNewest, type LastReading } from '../../source/last-readings.ts';
import { askMetadata, discoverVessels } from '../../source/metadata.ts';
import { canBeOfAll, expressionFor } from '../../source/series.ts';
import type { JobMembers, SeriesEntry, ValueType, VesselEntry } from './entries.ts';
import { entryOf, sortEntries, tooManyEntries } from './entries.ts';

export interface CataloguePorts {
  readonly client: QueryClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

interface CatalogueOptions {
  /** Days before now in which a last reading is looked for; 0: none is. */
  readonly days: number;
  readonly jobs: readonly Job[];
}

/** What names every vessel, in the domains of the contract whose ids have a fixed number of levels. */
const EVERY_SERIES = [
  ...FLAT_DOMAINS.map((domain) => `${domain}/{vessel}/*`),
  'maker/{vessel}/*/*',
  'jsmea/{vessel}/*/*/*/*/*/*/*',
];
const EVERY_VESSEL = FLAT_DOMAINS.map((domain) => `${domain}/*/*`);
const ANY_VESSEL = '*';

/**
 * Every series of a vessel, or of all, in the usual domains and those of the jobs, or by `select`. Throws RetriableError `no-series`, DataError
 * `too-many-series`, and what the client throws.
 */
export async function listServiceSeries(
  ports: CataloguePorts,
  vessel: string | undefined,
  { days, jobs, select = [] }: CatalogueOptions & { readonly select?: readonly string[] },
): Promise<SeriesEntry[]> {
  const found = new Map<string, SeriesEntry>();
  const members = await jobMembers(ports, jobs);
  const askFor = async (expression: string, isNeeded: boolean) => {
    const ids = new Set<string>();
    await ask(ports, expression, isNeeded, (element) => {
      const entry = entryOf(element.series());
      if (vessel !== undefined && (entry.vessel ?? vessel) !== vessel) return;
      ids.add(entry.timeSeriesId);
      if (!found.has(entry.timeSeriesId)) found.set(entry.timeSeriesId, entry);
      if (found.size > MAX_SERIES) throw tooManyEntries();
    });
    return ids;
  };
  const general = select.length > 0 ? select : EVERY_SERIES;
  for (const written of general) {
    if (select.length === 0 && found.size > 0 && isOtherName(written)) continue;
    await askFor(expressionFor(written, vessel ?? ANY_VESSEL), select.length > 0);
  }
  const jobsOf = new Map<string, Set<string>>();
  for (const { job, vessels } of members) {
    if (vessel !== undefined && !vessels.has(vessel)) continue;
    for (const expression of expressionsOf(job, vessel, vessels)) {
      for (const id of await askFor(expression, false)) {
        const owner = found.get(id)!.vessel;
        if (owner !== null && !vessels.has(owner)) continue;
        jobsOf.set(id, (jobsOf.get(id) ?? new Set()).add(job.name));
      }
    }
  }
  if (found.size === 0) throw noSeries(vessel);
  const ids = days > 0 ? [...found.keys()] : [];
  const last = await askLastReadings(askerOf(ports), ids, lastDays(ports, days));
  const whole = [...found.values()].map((entry) => ({
    ...entry,
    ...readingOf(last.get(entry.timeSeriesId), days),
    jobs: [...(jobsOf.get(entry.timeSeriesId) ?? [])].sort(),
  }));
  return sortEntries(whole);
}

/** Every vessel that the service names, with its last reading. Throws as `listServiceSeries`. */
export async function listServiceVessels(
  ports: CataloguePorts,
  { days, jobs }: CatalogueOptions,
): Promise<VesselEntry[]> {
  const found = new Map<string, { name: string | null; series: number; expression: string }>();
  const discovered = jobs.flatMap(({ vessels }) => ('discover' in vessels ? vessels.discover : []));
  for (const expression of new Set([...EVERY_VESSEL, ...discovered])) {
    if (found.size > 0 && EVERY_VESSEL.includes(expression) && isOtherName(expression)) continue;
    const counts = new Map<string, number>();
    await ask(ports, expression, false, (element) => {
      const vessel = vesselOf(element.vesselImo() ?? '');
      if (vessel === undefined) return;
      counts.set(vessel, (counts.get(vessel) ?? 0) + 1);
      // All series of a vessel say the same of it, and there may be millions.
      if (!found.has(vessel)) {
        const ofVessel = expression.replace(/\/\*(?=\/)/, `/${vessel}`);
        found.set(vessel, { name: element.series().vesselName, series: 0, expression: ofVessel });
      }
    });
    for (const [vessel, series] of counts) {
      const entry = found.get(vessel)!;
      entry.series = Math.max(entry.series, series);
    }
  }
  if (found.size === 0) throw noSeries(undefined);
  const members = await jobMembers(ports, jobs);
  const entries: VesselEntry[] = [];
  await forEachAtOnce(
    [...found].sort(),
    ports.concurrency,
    async ([vessel, { name, series, expression }]) => {
      const newest =
        days > 0 ? await askNewest(askerOf(ports), expression, lastDays(ports, days)) : undefined;
      const { lastMicros, readings } = readingOf(newest, days);
      const jobs = members.filter(({ vessels }) => vessels.has(vessel)).map(({ job }) => job.name);
      entries.push({ vessel, name, series, lastMicros, readings, jobs });
    },
  );
  return entries.sort((a, b) => (a.vessel < b.vessel ? -1 : 1));
}

function askerOf({ client, signal }: CataloguePorts) {
  return { client, signal, stats: createRequestStats() };
}

/** Is it a query for what is known already, under another name? */
function isOtherName(expression: string): boolean {
  return FLAT_DOMAINS.slice(1).some((domain) => expression.startsWith(`${domain}/`));
}

/** Until the next whole minute: what comes in this moment counts. */
function lastDays({ clock }: CataloguePorts, days: number): TimeRange {
  const toMicros = Math.ceil(clock.nowMs() / 60_000) * 60_000 * MICROS_PER_MILLI;
  return { fromMicros: toMicros - days * MICROS_PER_DAY, toMicros };
}

function readingOf(last: LastReading | undefined, days: number) {
  const valueJson = last?.valueJson;
  return {
    type: valueJson === undefined ? null : typeOf(valueJson),
    lastMicros: last?.atMicros ?? null,
    lastValue: valueJson ?? null,
    readings: last?.readings ?? (days > 0 ? 0 : null),
  };
}

function typeOf(json: string): ValueType {
  if (json.startsWith('"')) return 'text';
  return /^[-\d]/.test(json) ? 'number' : 'json';
}

/** Statuses that say: no such thing here. The expressions are ours, and a service need not have every domain. */
const NOT_HERE = [400, 404];

async function ask(
  ports: CataloguePorts,
  expression: string,
  isNeeded: boolean,
  onElement: (element: Parameters<Parameters<typeof askMetadata>[2]>[0]) => void,
): Promise<void> {
  const keep = (element: Parameters<typeof onElement>[0]): undefined => void onElement(element);
  try {
    await askMetadata(askerOf(ports), expression, keep, 'take');
  } catch (error) {
    if (isNeeded || !(error instanceof HttpStatusError && NOT_HERE.includes(error.status))) throw error;
  }
}

/** Whose series each job exports; each discovery is asked once. */
async function jobMembers(ports: CataloguePorts, jobs: readonly Job[]): Promise<JobMembers[]> {
  const discovered = new Map<string, ReadonlySet<string>>();
  const members: JobMembers[] = [];
  for (const job of jobs) {
    if (!('discover' in job.vessels)) {
      members.push({ job, vessels: new Set(job.vessels) });
      continue;
    }
    const { discover } = job.vessels;
    const known = discovered.get(discover) ?? (await askDiscovery(ports, job, discover));
    discovered.set(discover, known);
    members.push({ job, vessels: known });
  }
  return members;
}

async function askDiscovery(
  ports: CataloguePorts,
  job: Job,
  expression: string,
): Promise<ReadonlySet<string>> {
  try {
    const { vessels } = await discoverVessels(ports, expression, ports.signal, createRequestStats());
    return new Set(vessels);
  } catch (error) {
    if (!(error instanceof RetriableError && error.code === 'no-vessels')) throw error;
    ports.log.warn({ job: job.name }, error.message);
    return new Set();
  }
}

/** A job's expressions for a vessel, or for all of them: in one where {vessel} is a whole level. */
function expressionsOf(job: Job, vessel: string | undefined, vessels: ReadonlySet<string>): string[] {
  const expressions = job.select.flatMap((written) => {
    if (vessel !== undefined) return expressionFor(written, vessel);
    return canBeOfAll(written)
      ? expressionFor(written, ANY_VESSEL)
      : [...vessels].map((one) => expressionFor(written, one));
  });
  return [...new Set(expressions)];
}

function noSeries(vessel: string | undefined): RetriableError {
  const of = vessel === undefined ? '' : ` of ${vessel}`;
  const found = `the service lists no series${of} by ${EVERY_SERIES.map((one) => expressionFor(one, vessel ?? ANY_VESSEL)).join(', ')}`;
  const advice =
    vessel === undefined
      ? "check what the credentials may read; if the service has other domains, name them with 'series --select'"
      : "check its number ('vessel-export vessels' lists them), and what the credentials may read";
  return new RetriableError('no-series', `${found}; ${advice}`);
}
