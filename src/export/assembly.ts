/**
 * Decoded rows → sealed row groups → parts → checkpoints.
 * Memory: the builder (one row group being filled, one being encoded), at most two encoded row groups, and the
 * pending part. One row group is filled while another is encoded and a third uploaded; whoever is faster waits for
 * the next stage: backpressure.
 */
import type { DayCounts, EncodedRowGroup, Micros } from '../core/model/index.ts';
import type { SeriesValues } from '../core/proof/series-values.ts';
import type { PartUpload } from '../lake/publish/parts.ts';
import type { RowGroupBuilder } from '../parquet/write/index.ts';
import type { ResolvedSeries, SourceContext } from '../source/context.ts';

interface AssemblyOptions<Batch> {
  readonly builder: RowGroupBuilder<Batch>;
  readonly parts: PartUpload;
  /** What the parts hold already, after a resume; grows with every row group. */
  readonly counts: DayCounts;
  /** The same of their values. */
  readonly values: SeriesValues;
  /** Called after a part was uploaded: everything before `cursorMicros` is in the parts. */
  readonly onPart: (cursorMicros: Micros) => Promise<void>;
  /** The step from the last instant in a row group to the first that may follow it. */
  readonly cursorStepMicros: number;
}

/** Time slices fetched, and rows outside of them that came with them. */
export interface FetchTally {
  slices: number;
  clippedRows: number;
}

/** What fetching a dataset's time slices works with. */
export interface FetchOptions<Batch> {
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
  readonly builder: RowGroupBuilder<Batch>;
  readonly assembly: Assembly;
  readonly tally: FetchTally;
  readonly onRows: (rows: number) => void;
}

export interface Assembly {
  /** Seal every row group that is complete. Call after appending. */
  sealReady(): Promise<void>;
  /** Seal the rest and wait until it is encoded and its full parts are uploaded. */
  sealRest(): Promise<void>;
  /** Resolves when nothing is being encoded or uploaded any more, however that ended. */
  settled(): Promise<void>;
}

export function createAssembly<Batch>(options: AssemblyOptions<Batch>): Assembly {
  const { builder, parts, counts, values } = options;
  /** Resolves when the newest row group is encoded. */
  let encoding: Promise<void> = Promise.resolve();
  /** Resolves when the newest row group is stored, and with it every earlier one. */
  let storing: Promise<void> = Promise.resolve();
  /** The same of the row group before the newest. */
  let storingBefore: Promise<void> = Promise.resolve();

  /** Row groups are stored in order: counts, values and cursor of a checkpoint are those of its parts. */
  async function store(sealed: Promise<EncodedRowGroup>, before: Promise<void>): Promise<void> {
    await before;
    const group = await sealed;
    counts.addRuns(group.runs);
    for (const { timeSeriesId, rows } of group.values) values.add(timeSeriesId, rows);
    if (await parts.append(group)) await options.onPart(group.maxMicros + options.cursorStepMicros);
  }

  async function seal(rows: number): Promise<void> {
    await encoding;
    await storingBefore;
    storingBefore = storing;
    const sealed = builder.seal(rows);
    encoding = sealed.then(() => {});
    storing = store(sealed, storingBefore);
    // Reported by a later await; without this an early failure would count as unhandled.
    for (const promise of [encoding, storing]) promise.catch(() => {});
  }

  return {
    async sealReady() {
      for (let rows = builder.sealableRows(); rows > 0; rows = builder.sealableRows()) await seal(rows);
    },
    async sealRest() {
      await this.sealReady();
      if (builder.rows > 0) await seal(builder.rows);
      await storing;
    },
    async settled() {
      await Promise.allSettled([encoding, storing]);
    },
  };
}
