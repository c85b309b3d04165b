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
 * In a delta lake step 9 is two: 9a the object, under a name that nothing had before it and no reader looks for; 9b the
 * entry in the job's log, `remove` and `add` in one version, or only `remove` for a day that was emptied.
 *
 * | crash after step            | what the next worker finds                       | what it does                          |
 * |-----------------------------|--------------------------------------------------|---------------------------------------|
 * | 8 sealed draft              | a sealed claim, the upload still open            | fills the next version (below), looks |
 * |                             |                                                  | at the table: completes the upload    |
 * |                             |                                                  | (9a), commits (9b), receipt (10)      |
 * | 9a object                   | a sealed claim, the object, no entry             | the same; the object is there already |
 * | 9b entry                    | a sealed claim, the table has the object         | detail and receipt (10)               |
 * | 9b entry, answer lost       | as after 9a or 9b                                | as found                              |
 * | 8, 9 and then `--force`, or | a sealed claim of what is not wanted any more    | fills the next version; does the table|
 * | other settings              |                                                  | have it, writes its receipt (10); then|
 * |                             |                                                  | starts clean. gc removes the object   |
 *
 * A write that comes late, after another attempt has taken over and a third has published:
 *
 * | write of the overtaken one  | why it changes nothing                                                                   |
 * |-----------------------------|------------------------------------------------------------------------------------------|
 * | its claim                   | put where there is none: an epoch below the receipt's is over, gc or the next run drops it |
 * | heartbeat, checkpoint, seal | put in the version of its own claim, into which the successor has written                 |
 * | new upload, part, abort     | to an upload that nobody completes; an adopted one that lost a part fails, and starts clean |
 * | completing the upload       | the successor has completed or aborted that upload before it read what it replaces         |
 * | (delta) completing it       | an object that no version of the table names is nobody's day; gc removes it                |
 * | (delta) its entry           | put where there is none, in the version after one that was there before it was fenced: the |
 * |                             | successor has looked at the table, and has filled the version after what it saw              |
 * | detail, receipt             | put in the version that was read under its claim                                           |
 * | removal of claim and note   | the claim's epoch is over; a note about a later failure is written again by the next one    |
 *
 * Invariants: I1 counts match before publish · I2 sealed draft before publish, object before receipt ·
 * I3 receipt before the claim goes · I5 an overtaken attempt can write no checkpoint, no draft and no receipt ·
 * I6 at most one live upload per key · I7 a write that comes late changes nothing: claim, object, detail and
 * receipt are replaced only in the version that was read, and nothing is deleted on the way to publishing. A commit
 * that failed is not one whose outcome is unknown: after the second kind we read before we write.
 * In a delta lake: I2 sealed draft before object before entry before receipt · I5 an overtaken attempt commits no entry:
 * a version is seen, then the claim, then the next version is put; whoever loses it looks again at table, claim and
 * what the shrink guard compared with · I7 an entry removes exactly the files that were read, or is not written; no
 * object is replaced, and none removed.
 */

import { CommitFailedError, CommitUnknownError } from '../../core/errors.ts';
import type { ClaimFile, Clock, Receipt, SealedDay } from '../../core/model/index.ts';
import type { ObjectStore, Version } from '../../store/store.ts';
import type { Claim } from '../claims/claim.ts';
import { objectKey } from '../keys.ts';
import type { JobTable } from './job-table.ts';

/** Called after each step by its name; tests kill the process there. After `completed` only a commit that others join is left. */
export type OnStep = (step: string) => void | Promise<void>;

interface PublishPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly onStep: OnStep;
}

/** Tries of a completing call whose outcome is unknown and turns out not to have happened. */
const COMPLETE_TRIES = 5;

/**
 * Steps 9 and 10 for a sealed day: publish, receipt, end of the claim. `isInherited`: a predecessor sealed it, and may
 * have published it. Throws FencedError, or CommitFailedError when upload and object are both not ours or the object is
 * not what was to be replaced: the day must start clean.
 */
export async function publishSealed(
  ports: PublishPorts,
  claim: Claim,
  sealed: SealedDay,
  { isInherited = false } = {},
): Promise<Receipt> {
  let version: number | undefined;
  if (claim.table !== undefined) version = await commitOnce(ports, claim, claim.table, sealed, isInherited);
  else if (sealed.upload === null) await expectNoObject(ports.store, claim);
  else await completeOnce(ports, claim, sealed.upload, sealed.parts, claim.objectVersion);
  await ports.onStep('published');
  const receipt = await writeProof(ports, claim, sealed, { epoch: claim.epoch, version });
  await claim.endPublished();
  return receipt;
}

/** The object, then the entry: the version that has brought it; undefined where there was nothing to change. */
async function commitOnce(
  ports: PublishPorts,
  claim: Claim,
  table: JobTable,
  { upload, parts, table: change }: SealedDay,
  isInherited: boolean,
): Promise<number | undefined> {
  const { day } = claim;
  if (change === undefined)
    throw new CommitFailedError('object-changed', 'the draft is of a plain lake: the day starts clean');
  if (change === null) return undefined;
  const found = isInherited ? await table.settle(day, change) : undefined;
  if (found !== undefined) return found;
  if (upload !== null) {
    // A name of its own: nothing can be in its place, and where it costs nothing that is asked for too.
    const { conditionalComplete } = await ports.store.capabilities();
    await completeOnce(ports, claim, upload, parts, conditionalComplete ? null : undefined);
  }
  await ports.onStep('completed');
  return await table.commit({ day, change, checkFence: () => claim.checkStanding() });
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
  if (!sealed) return undefined;
  // Before the look: what was on its way is there then, or fails.
  if (sealed.upload !== null) await ports.store.abandon(sealed.upload);
  const version = sealed.table ? await claim.table?.settle(claim.day, sealed.table) : undefined;
  const isPublished =
    claim.table === undefined
      ? await isInPlace(ports.store, claim, sealed)
      : sealed.table === null || version !== undefined;
  if (!isPublished) return undefined;
  await writeProof({ ...ports, onStep: () => {} }, claim, sealed, { epoch, version });
  return await claim.lookAgain();
}

async function writeProof(
  { onStep, clock }: PublishPorts,
  claim: Claim,
  sealed: SealedDay,
  { epoch, version }: { readonly epoch: number; readonly version: number | undefined },
): Promise<Receipt> {
  if (sealed.detail !== null) await claim.putDetail(Buffer.from(sealed.detail, 'base64'));
  await onStep('detail');
  const finishedAt = new Date(clock.nowMs()).toISOString();
  const receipt: Receipt = {
    ...sealed.draft,
    ...(version !== undefined && { table: { version } }),
    epoch,
    finishedAt,
  };
  await claim.putReceipt(receipt);
  await onStep('receipt');
  return receipt;
}

/** Is the day as the draft has it? One without an object has nothing to publish, and its detail may be there. */
async function isInPlace(store: ObjectStore, { day }: Claim, { upload, parts }: SealedDay): Promise<boolean> {
  if (upload === null) return (await store.head(objectKey(day))) === undefined;
  return await store.publishedBy(upload, parts);
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
  expected: Version | null | undefined,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ports.store.publish(upload, parts, expected);
    } catch (error) {
      if (!(error instanceof CommitFailedError || error instanceof CommitUnknownError)) throw error;
      if (await ports.store.publishedBy(upload, parts)) return;
      await claim.checkFence();
      if (error instanceof CommitFailedError || attempt === COMPLETE_TRIES) throw error;
      await ports.clock.sleep(1_000 * attempt);
    }
  }
}
