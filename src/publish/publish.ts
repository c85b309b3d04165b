/**
 * Publishing: the last steps of a vessel-day, which anyone who owns its claim can take.
 *
 * | crash after step            | what the next worker finds                       | what it does                          |
 * |-----------------------------|--------------------------------------------------|---------------------------------------|
 * | 1 claim                     | a dead claim, nothing else                       | starts clean                          |
 * | 2 count, 3 plan, 4 fetch,   | a dead claim without checkpoint; maybe an upload | aborts the upload, starts clean       |
 * | 5 seal, 6 upload of part 1  | without checkpoint                               |                                       |
 * | 6 checkpoint                | a checkpoint and its open upload; maybe parts    | asks the source about the time before |
 * |                             | after the checkpoint                             | the cursor; same → adopts the upload  |
 * |                             |                                                  | and goes on, else starts clean        |
 * | 7 verify                    | the last checkpoint                              | as after 6                            |
 * | 8 sealed draft              | a sealed claim, the upload still open            | completes it (9), receipt (10)        |
 * | 9 publish                   | a sealed claim, no upload, the object has our id | detail and receipt (10)               |
 * | 9 publish, answer lost      | a sealed claim; object or upload, not both       | as found                              |
 * | 9, upload swept by others   | a sealed claim, no upload, another object        | starts clean                          |
 * | 10 receipt                  | a receipt with the epoch of a claim              | removes the claim: the day is done    |
 *
 * Invariants: I1 counts match before publish · I2 sealed draft before publish, object before receipt ·
 * I3 receipt before the claim goes · I5 a fence check precedes every checkpoint, publish and receipt ·
 * I6 at most one live upload per key. A commit that failed is not one whose outcome is unknown: after the
 * second kind we read before we write.
 */
import { CommitFailedError, CommitUnknownError } from '../errors.ts';
import type { Clock, Receipt, SealedDay } from '../model/index.ts';
import { formatVesselDay, objectKey } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import type { Claim } from './claim.ts';
import { removeNote, writeDetail, writeReceipt } from './ledger.ts';
import { abortUploads } from './parts.ts';

/** Called after each step by its name; tests kill the process there. */
export type OnStep = (step: string) => void | Promise<void>;

export interface PublishPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly onStep: OnStep;
}

/** Tries of a completing call whose outcome is unknown and turns out not to have happened. */
const COMPLETE_TRIES = 5;

/**
 * Steps 9 and 10 for a sealed day: publish, receipt, end of the claim.
 * Throws CommitFailedError when upload and object are both not ours: the day must start clean.
 */
export async function publishSealed(ports: PublishPorts, claim: Claim, sealed: SealedDay): Promise<Receipt> {
  const { store, onStep } = ports;
  await claim.checkFence();
  if (sealed.upload === null) await removePublished(store, objectKey(claim.day));
  else await completeOnce(ports, sealed.upload, sealed.parts);
  await onStep('published');
  await claim.checkFence();
  if (sealed.detail !== null) await writeDetail(store, claim.day, Buffer.from(sealed.detail, 'base64'));
  await onStep('detail');
  await claim.checkFence();
  const receipt: Receipt = {
    ...sealed.draft,
    epoch: claim.epoch,
    finishedAt: new Date(ports.clock.nowMs()).toISOString(),
  };
  await writeReceipt(store, receipt);
  await onStep('receipt');
  await removeNote(store, claim.day);
  await claim.finish();
  return receipt;
}

/** An empty day has no object: what stands there (a day that was allowed to shrink) is removed. */
async function removePublished(store: ObjectStore, key: string): Promise<void> {
  await abortUploads(store, key);
  await store.remove(key);
}

async function completeOnce(
  ports: PublishPorts,
  upload: NonNullable<SealedDay['upload']>,
  parts: SealedDay['parts'],
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ports.store.completeUpload(upload, parts);
    } catch (error) {
      if (!(error instanceof CommitFailedError || error instanceof CommitUnknownError)) throw error;
      if (await ports.store.publishedBy(upload, parts)) return;
      if (error instanceof CommitFailedError || attempt === COMPLETE_TRIES) throw error;
      await ports.clock.sleep(1_000 * attempt);
    }
  }
}

/** One line for a log: `measurements/IMO9321483/2026-01-05: 1234567 rows of 180 series, exact`. */
export function describeReceipt(receipt: Receipt): string {
  return `${formatVesselDay(receipt)}: ${receipt.rows} rows of ${receipt.series} series, ${receipt.proof}`;
}
