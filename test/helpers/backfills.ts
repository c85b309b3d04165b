import type { Backfill } from '../../src/lake/backfills.ts';
import { updateBackfill } from '../../src/lake/backfills.ts';
import type { ObjectStore } from '../../src/store/store.ts';

/** Define a backfill, whatever was defined before. */
export async function defineBackfill(store: ObjectStore, backfill: Backfill): Promise<void> {
  await updateBackfill(store, backfill.id, () => backfill);
}
