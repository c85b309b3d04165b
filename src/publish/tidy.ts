/** What a crash after step 10 leaves: the claim of a day that is done. */
import { DataError } from '../errors.ts';
import type { Receipt, VesselDay } from '../model/index.ts';
import { parseClaimKey, receiptKey } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { readReceipt, removeNote } from './ledger.ts';

/**
 * Remove the claims of a job that a receipt has overtaken; how many. One list, which is empty most of the time.
 * A claim whose receipt cannot be read stays: whoever works on that day will say so. Throws what the store throws.
 */
export async function removeFinishedClaims(store: ObjectStore, job: string): Promise<number> {
  const receipts = new Map<string, Promise<Receipt | undefined>>();
  const receiptOf = (day: VesselDay) => {
    const key = receiptKey(day);
    const receipt = receipts.get(key) ?? readReceipt(store, day).catch(unlessDamaged);
    receipts.set(key, receipt);
    return receipt;
  };
  const finished: { key: string; day: VesselDay }[] = [];
  for await (const { key } of store.list(`_checkpoints/${job}/`)) {
    const claim = parseClaimKey(key);
    if (claim === undefined) continue;
    const receipt = await receiptOf(claim.day);
    if (receipt !== undefined && receipt.epoch >= claim.epoch) finished.push({ key, day: claim.day });
  }
  for (const { key, day } of finished) {
    await removeNote(store, day);
    await store.remove(key);
  }
  return finished.length;
}

function unlessDamaged(error: unknown): undefined {
  if (!(error instanceof DataError)) throw error;
}
