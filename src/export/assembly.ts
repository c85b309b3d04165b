/**
 * The stages between the service and the open upload: decoded rows → sealed row groups → parts → checkpoints.
 * Memory: the builder (one row group being filled, one being encoded), at most two encoded row groups, and the
 * pending part. One row group is filled while another is encoded and a third uploaded; a faster stage waits for the
 * next one (backpressure).
 */
import type { DayCounts, EncodedRowGroup, Micros, TimeRange } from '../core/model/index.ts';
import type { RowGroupBuilder } from '../parquet/write/index.ts';
import type { DayAttempt } from './day-attempt.ts';

export interface StagesOptions extends DayAttempt {
  /** The source's counts of the day; undefined if they are not requested. */
  readonly sourceCounts: DayCounts | undefined;
  readonly onRows: (rows: number) => void;
  /** Called after a part was uploaded: everything before `cursorMicros` is in the parts. */
  readonly onPart: (cursorMicros: Micros) => Promise<void>;
}

export interface FetchOptions<Batch> extends StagesOptions {
  readonly builder: RowGroupBuilder<Batch>;
  /** Close every complete row group. Call it after appending. */
  readonly sealReady: () => Promise<void>;
}

/** `cursorStepMicros`: from the last instant in a row group to the first that may follow it. */
export function openStages<Batch>(
  options: StagesOptions,
  builder: RowGroupBuilder<Batch>,
  cursorStepMicros: number,
  fetchSlices: (options: FetchOptions<Batch>, slices: readonly TimeRange[]) => Promise<void>,
) {
  const { parts, counts, values } = options;
  /** Resolves when the newest row group is encoded. */
  let encoding: Promise<void> = Promise.resolve();
  /** Resolves when the newest row group is stored, and with it every earlier one. */
  let storing: Promise<void> = Promise.resolve();
  /** The same for the row group before the newest. */
  let storingBefore: Promise<void> = Promise.resolve();

  /** Row groups are stored in order: counts, values and cursor of a checkpoint are those of its parts. */
  async function store(sealed: Promise<EncodedRowGroup>, before: Promise<void>): Promise<void> {
    await before;
    const group = await sealed;
    counts.addRuns(group.runs);
    for (const { timeSeriesId, rows } of group.values) values.add(timeSeriesId, rows);
    if (await parts.append(group)) await options.onPart(group.maxMicros + cursorStepMicros);
  }

  async function seal(rows: number): Promise<void> {
    await encoding;
    await storingBefore;
    storingBefore = storing;
    const sealed = builder.seal(rows);
    encoding = sealed.then(() => {});
    storing = store(sealed, storingBefore);
    // A later await reports it; without this an early failure would count as unhandled.
    for (const promise of [encoding, storing]) promise.catch(() => {});
  }

  async function sealReady(): Promise<void> {
    for (let rows = builder.sealableRows(); rows > 0; rows = builder.sealableRows()) await seal(rows);
  }

  return {
    /** Fetch time slices in order, and encode and upload them. */
    async fetch(slices: readonly TimeRange[]): Promise<void> {
      await fetchSlices({ ...options, builder, sealReady }, slices);
      await sealReady();
      if (builder.rows > 0) await seal(builder.rows);
      await storing;
    },
    /** Free the memory. It waits for uploads: nothing may reach the store after the claim is gone, or another attempt has begun. */
    async close(): Promise<void> {
      await Promise.allSettled([encoding, storing]);
      await builder.close();
    },
  };
}
