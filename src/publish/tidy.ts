/** What a crash after step 10 leaves: the claim of a day that is done. */
import type { Receipt, VesselDay } from '../model/index.ts';
import { parseClaimKey } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { removeNote } from './ledger.ts';

/** Remove the claims of a job that a receipt has overtaken. One list, which is empty most of the time. */
export async function removeFinishedClaims(
  store: ObjectStore,
  job: string,
  receiptOf: (day: VesselDay) => Pick<Receipt, 'epoch'> | undefined,
): Promise<number> {
  const finished: { key: string; day: VesselDay }[] = [];
  for await (const { key } of store.list(`_checkpoints/${job}/`)) {
    const claim = parseClaimKey(key);
    if (claim === undefined) continue;
    const receipt = receiptOf(claim.day);
    if (receipt !== undefined && receipt.epoch >= claim.epoch) finished.push({ key, day: claim.day });
  }
  for (const { key, day } of finished) {
    await removeNote(store, day);
    await store.remove(key);
  }
  return finished.length;
}
