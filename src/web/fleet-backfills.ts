/** The backfills of a lake, for people who look: read at most once a second, and never waited for long. */
import { endsWithin } from '../core/concurrency.ts';
import { messageOf } from '../core/errors.ts';
import type { Clock } from '../core/model/index.ts';
import { type Backfill, listBackfills } from '../lake/backfills.ts';
import type { ObjectStore } from '../store/store.ts';

export interface BackfillsRead {
  readonly backfills: readonly Backfill[];
  /** What could not be read, as sentences. */
  readonly notes: readonly string[];
}

/** Shown at the most: a page of more says nothing. */
const MOST = 200;
const MAX_NOTES = 5;
const SHARED_MS = 1_000;
const PATIENCE_MS = 400;

/** Never rejects: what cannot be read now stays as it was read last, and a note says so. */
export function createBackfillReader(store: ObjectStore, clock: Clock): () => Promise<BackfillsRead> {
  let last: BackfillsRead = { backfills: [], notes: ['The backfills of the lake have not been read yet.'] };
  let readMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    const damaged: string[] = [];
    try {
      const all = await listBackfills(store, (_, error) => damaged.push(messageOf(error)));
      const notes = damaged
        .slice(0, MAX_NOTES)
        .map((text) => `A backfill cannot be read, and so does not go on: ${text}`);
      if (damaged.length > MAX_NOTES)
        notes.push(`${damaged.length - MAX_NOTES} more backfills cannot be read.`);
      if (all.length > MOST) notes.push(`The oldest ${MOST} of ${all.length} backfills are shown.`);
      last = { backfills: all.slice(0, MOST), notes };
      readMs = clock.monotonicMs();
    } catch (error) {
      last = { ...last, notes: [`The lake cannot say which backfills there are: ${messageOf(error)}`] };
    }
  }

  return async () => {
    if (clock.monotonicMs() - readMs >= SHARED_MS)
      reading ??= read().finally(() => {
        reading = undefined;
      });
    if (reading !== undefined) await endsWithin(reading, PATIENCE_MS, clock);
    return last;
  };
}
