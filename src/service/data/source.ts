/** The data port: where series and readings come from, the made-up fleet, an exported lake or a file of readings. */
import type { ColumnBatch, Micros, TimeRange } from '../../core/model/index.ts';
import type { Work } from '../turns.ts';

/** A time series as the service knows it, before any version gives it a shape. */
export interface SeriesRecord {
  readonly timeSeriesId: string;
  /** `IMO<imo_number>`; empty when nothing tells the vessel. */
  readonly vessel: string;
  /** Domain → id in it, `id` among them. */
  readonly names: ReadonlyMap<string, string>;
  /** Domain → id with human-readable elements, where the domain has such ids. */
  readonly verboseNames: ReadonlyMap<string, string>;
  readonly description: SeriesDescription;
}

/** What metadata says of a series; what is absent is not answered at all. */
interface SeriesDescription {
  readonly source?: string | undefined;
  readonly dataProvider?: string | undefined;
  readonly unitOfMeasure?: string | undefined;
  readonly scale?: number | undefined;
  readonly vesselName?: string | undefined;
  readonly vesselImo?: string | undefined;
  /** From the maker's entry: what versions before 2026-09-10 show at the top. */
  readonly name?: string | undefined;
  readonly text?: string | undefined;
  readonly rangeHigh?: number | undefined;
  readonly rangeLow?: number | undefined;
  /** The `domains` object of version 2026-09-10, as JSON text. */
  readonly domainsJson: string;
  /** Fields that the contract does not list, by name; those of `vessel` under that name. */
  readonly others?: Readonly<Record<string, unknown>>;
}

/** Ids and verbose ids of a series, by domain, from its `domains`. */
export function namesInDomains(timeSeriesId: string, domains: Readonly<Record<string, unknown>>) {
  const names = new Map<string, string>([['id', timeSeriesId]]);
  const verboseNames = new Map<string, string>();
  for (const [domain, entry] of Object.entries(domains)) {
    if (domain === 'id') continue;
    // Snapshots taken with a version before 2026-09-10 map a domain to the id alone.
    if (typeof entry === 'string') names.set(domain, entry);
    else if (entry !== null && typeof entry === 'object') {
      const { id, verboseId } = entry as { id?: unknown; verboseId?: unknown };
      if (typeof id === 'string') names.set(domain, id);
      if (typeof verboseId === 'string') verboseNames.set(domain, verboseId);
    }
  }
  return { names, verboseNames };
}

/** What a reader of readings needs; asking for less is faster. */
export interface ReadingsNeed {
  /** False: only times matter, `kinds` and values are left as they are. */
  readonly values: boolean;
  /** True: all series in one order. False: only each series' own readings are in order. */
  readonly interleaved: boolean;
}

/** A batch and how far it brings the reader: every reading before `toMicros` has been yielded with it. */
export interface ReadingsSlice {
  readonly batch: ColumnBatch;
  readonly toMicros: Micros;
}

export interface DataSource {
  /** Every series, by ascending time series id. */
  readonly series: readonly SeriesRecord[];
  /**
   * Readings in the service's one order: timestamp, place in `series` (which `seriesCodes` index), value (long, double, JSON text). A batch is valid until
   * the next is asked for, and is all that is in memory. Pauses as `work` demands, and throws its reason once nobody wants the answer.
   */
  read(
    series: readonly SeriesRecord[],
    range: TimeRange,
    need: ReadingsNeed,
    work: Work,
  ): AsyncGenerator<ReadingsSlice, void, void>;
}
