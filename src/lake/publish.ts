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
 * | 8, 9 and then `--force`, or | a sealed claim of what is not wanted any more    | aborts its upload; is its object      |
 * | other settings              |                                                  | there, writes its receipt (10), with  |
 * |                             |                                                  | its epoch; then starts clean          |
 * | 10 receipt                  | a receipt with the epoch of a claim              | removes the claim: the day is done    |
 *
 * A write that comes late, after another attempt has taken over and a third has published:
 *
 * | write of the overtaken one  | why it changes nothing                                                                   |
 * |-----------------------------|------------------------------------------------------------------------------------------|
 * | its claim                   | put where there is none: an epoch below the receipt's is over, gc or the next run drops it |
 * | heartbeat, checkpoint, seal | put in the version of its own claim, into which the successor has written                 |
 * | new upload, part, abort     | to an upload that nobody completes; an adopted one that lost a part fails, and starts clean |
 * | completing the upload       | the successor has completed or aborted that upload before it read what it replaces         |
 * | detail, receipt             | put in the version that was read under its claim                                           |
 * | removal of claim and note   | the claim's epoch is over; a note about a later failure is written again by the next one    |
 *
 * Invariants: I1 counts match before publish · I2 sealed draft before publish, object before receipt ·
 * I3 receipt before the claim goes · I5 an overtaken attempt can write no checkpoint, no draft and no receipt ·
 * I6 at most one live upload per key · I7 a write that comes late changes nothing: claim, object, detail and
 * receipt are replaced only in the version that was read, and nothing is deleted on the way to publishing. A commit
 * that failed is not one whose outcome is unknown: after the second kind we read before we write.
 */

import { CommitFailedError, CommitUnknownError } from '../errors.ts';
import type { ClaimFile, Clock, Receipt, SealedDay } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import type { Claim } from './claim.ts';
import { objectKey } from './keys.ts';

/** Called after each step by its name; tests kill the process there. */
export type OnStep = (step: string) => void | Promise<void>;

interface PublishPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly onStep: OnStep;
}

/** Tries of a completing call whose outcome is unknown and turns out not to have happened. */
const COMPLETE_TRIES = 5;

/**
 * Steps 9 and 10 for a sealed day: publish, receipt, end of the claim. Throws FencedError, or CommitFailedError when
 * upload and object are both not ours or the object is not what was to be replaced: the day must start clean.
 */
export async function publishSealed(ports: PublishPorts, claim: Claim, sealed: SealedDay): Promise<Receipt> {
  if (sealed.upload === null) await expectNoObject(ports.store, claim);
  else await completeOnce(ports, claim, sealed.upload, sealed.parts);
  await ports.onStep('published');
  const receipt = await writeProof(ports, claim, sealed, claim.epoch);
  await claim.finish({ published: true });
  return receipt;
}

/**
 * Write the receipt of a day that a fenced predecessor has published and not said so; undefined when its object is not
 * there, and then never will be. Its draft goes no further: somebody wants the day exported again.
 */
export async function acknowledgePublished(
  ports: PublishPorts,
  claim: Claim,
  { epoch, sealed }: ClaimFile,
): Promise<Receipt | undefined> {
  const { store } = ports;
  if (!sealed?.upload) return undefined;
  // Before the look: what was on its way is there then, or fails.
  await store.abortUpload(sealed.upload);
  if (!(await store.publishedBy(sealed.upload, sealed.parts))) return undefined;
  await writeProof({ ...ports, onStep: () => {} }, claim, sealed, epoch);
  return await claim.lookAgain();
}

async function writeProof(
  { onStep, clock }: PublishPorts,
  claim: Claim,
  sealed: SealedDay,
  epoch: number,
): Promise<Receipt> {
  if (sealed.detail !== null) await claim.putDetail(Buffer.from(sealed.detail, 'base64'));
  await onStep('detail');
  const finishedAt = new Date(clock.nowMs()).toISOString();
  const receipt: Receipt = { ...sealed.draft, epoch, finishedAt };
  await claim.putReceipt(receipt);
  await onStep('receipt');
  return receipt;
}

/** An empty day has no object. One that had is published as an object of no rows, so there is none to remove. */
async function expectNoObject(store: ObjectStore, { day }: Claim): Promise<void> {
  const key = objectKey(day);
  if ((await store.head(key)) === undefined) return;
  throw new CommitFailedError('object-changed', `${key} is there, and was to be none: look again`);
}

async function completeOnce(
  ports: PublishPorts,
  claim: Claim,
  upload: NonNullable<SealedDay['upload']>,
  parts: SealedDay['parts'],
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ports.store.completeUpload(upload, parts, claim.objectVersion);
    } catch (error) {
      if (!(error instanceof CommitFailedError || error instanceof CommitUnknownError)) throw error;
      if (await ports.store.publishedBy(upload, parts)) return;
      await claim.checkFence();
      if (error instanceof CommitFailedError || attempt === COMPLETE_TRIES) throw error;
      await ports.clock.sleep(1_000 * attempt);
    }
  }
}
