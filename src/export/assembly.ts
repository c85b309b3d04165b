/**
 * Decoded rows → sealed row groups → parts → checkpoints.
 * Memory: the builder (one row group being filled, one being encoded), at most two encoded row groups, and the
 * pending part. Filling, encoding and uploading go on side by side, one row group each, and each waits for the one
 * behind it: backpressure.
 */
import type { RowGroupBuilder } from '../encode/index.ts';
import type { DayCounts, EncodedRowGroup, Micros } from '../model/index.ts';
import type { PartUpload } from '../publish/parts.ts';

export interface AssemblyOptions<Batch> {
  readonly builder: RowGroupBuilder<Batch>;
  readonly parts: PartUpload;
  /** What the parts hold already, after a resume; grows with every row group. */
  readonly counts: DayCounts;
  /** Called after a part was uploaded: everything before `cursorMicros` is in the parts. */
  readonly onPart: (cursorMicros: Micros) => Promise<void>;
  /** The step from the last instant in a row group to the first that may follow it. */
  readonly cursorStepMicros: number;
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
  const { builder, parts, counts } = options;
  /** Of the newest row group. */
  let encoding: Promise<void> = Promise.resolve();
  /** Of the newest row group, which has those of all others before it. */
  let storing: Promise<void> = Promise.resolve();
  /** Of the row group before that. */
  let storingBefore: Promise<void> = Promise.resolve();

  /** Row groups are stored in order: counts and cursor of a checkpoint are those of its parts. */
  async function store(sealed: Promise<EncodedRowGroup>, before: Promise<void>): Promise<void> {
    await before;
    const group = await sealed;
    for (const run of group.runs) counts.add(run.timeSeriesId, run.count, run.firstMicros, run.lastMicros);
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
