/** What there is to export: vessels and their series, as a person looks for them. */
import { DataError } from '../../core/errors.ts';
import { FLAT_DOMAINS, type Job, MAX_SERIES, vesselOf } from '../../core/model/index.ts';
import { namesByDomain } from '../../source/decode/metadata.ts';
import type { SnapshotSeries } from '../../source/decode/series-names.ts';

export const VALUE_TYPES = ['number', 'text', 'json'] as const;
export type ValueType = (typeof VALUE_TYPES)[number];

/** One series of the service, or of the lake's snapshots. */
export interface SeriesEntry extends Pick<SnapshotSeries, 'vesselName' | 'timeSeriesId' | 'source'> {
  /** Null where metadata do not tell. */
  readonly vessel: string | null;
  readonly names: ReadonlyMap<string, string>;
  readonly name: string | null;
  readonly description: string | null;
  readonly unit: string | null;
  readonly rangeLow: number | null;
  readonly rangeHigh: number | null;
  /** Of its last reading; null where none is known. */
  readonly type: ValueType | null;
  readonly lastMicros: number | null;
  readonly lastValue: string | null;
  /** In the days that were looked at. */
  readonly readings: number | null;
  readonly jobs: readonly string[];
}

export interface VesselEntry extends Pick<SeriesEntry, 'name' | 'lastMicros' | 'readings' | 'jobs'> {
  readonly vessel: string;
  /** Series that the vessel's queries list. */
  readonly series: number;
}

export interface JobMembers {
  readonly job: Job;
  readonly vessels: ReadonlySet<string>;
}

/** What metadata say of a series, without readings and jobs. */
export function entryOf(series: SnapshotSeries): SeriesEntry {
  const { timeSeriesId, vesselName, vesselImo, maker, source, unitOfMeasure: unit, domainsJson } = series;
  const { name, description, rangeHigh, rangeLow } = maker;
  const vessel = vesselImo === null ? null : (vesselOf(vesselImo) ?? null);
  const names = namesByDomain(domainsJson);
  return {
    ...{ vessel, vesselName, timeSeriesId, names, name, description, source, unit },
    ...{ rangeLow, rangeHigh, type: null, lastMicros: null, lastValue: null, readings: null, jobs: [] },
  };
}

export function tooManyEntries(): DataError {
  return new DataError(
    'too-many-series',
    `there are more than ${MAX_SERIES} series: name a vessel ('vessel-export vessels' lists them)`,
  );
}

/** By vessel, then by what they are called. */
export function sortEntries(entries: Iterable<SeriesEntry>): SeriesEntry[] {
  const key = (entry: SeriesEntry) => `${entry.vessel ?? ''}/${expressionOf(entry)}`;
  return [...entries]
    .map((entry) => [key(entry), entry] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, entry]) => entry);
}

/** Domains of the contract that are chosen last, the best first: whatever else a service has is closer to its people. */
const LESS_PREFERRED = ['maker', 'jsmea', 'vis-3-8a'];

/** How a job's `select` says this series, whatever the vessel: `flat/{vessel}/Shaft Power`. */
export function expressionOf({ names, vessel, timeSeriesId }: SeriesEntry): string {
  const others = [...names.keys()].filter((one) => !LESS_PREFERRED.includes(one));
  const domain = [...FLAT_DOMAINS, ...others, ...LESS_PREFERRED].find(
    (one) => names.get(one)?.includes('*') === false,
  );
  if (domain === undefined) return `id/${timeSeriesId}`;
  const name = names.get(domain)!;
  const isOfVessel = vessel !== null && name.startsWith(`${vessel}/`);
  return `${domain}/${isOfVessel ? `{vessel}${name.slice(vessel.length)}` : name}`;
}

/** Does a text stand anywhere in what is said of a series? Case does not count. */
export function isAbout(entry: SeriesEntry, search: string): boolean {
  const { names, name, description, unit, source, timeSeriesId, vesselName } = entry;
  const texts = [...names.values(), name, description, unit, source, timeSeriesId, vesselName];
  return texts.some((text) => text?.toLowerCase().includes(search.toLowerCase()));
}
