/**
 * Claims are leases: at most one attempt works on a vessel-day, and one that was overtaken writes nothing more.
 *
 * A claim is the file `_checkpoints/…/<epoch>.json`, made by put-if-absent, so that of two racers for an epoch
 * one wins. Only its owner writes it again, each time in the version that it wrote last, until a successor fences
 * it: that one writes its own epoch into it, in the version that it read. From then on the owner can write neither a
 * checkpoint nor a sealed draft, and without that it can publish nothing. I5: no write needs a check before it,
 * because each is conditional; an attempt that finds another version than the expected one checks its claim (`checkFence`)
 * and writes again only if the claim still stands.
 */

import { FencedError, mayPass, messageOf } from '../../core/errors.ts';
import type {
  ClaimFile,
  Clock,
  Log,
  OpenCheckpoint,
  ProcessId,
  Receipt,
  SealedDay,
  TableChange,
  VesselDay,
} from '../../core/model/index.ts';
import { formatVesselDay, NO_LONGER } from '../../core/model/index.ts';
import type { ObjectStore, Version } from '../../store/store.ts';
import { jsonBytes, unlessDamaged } from '../json.ts';
import { claimKey, detailKey, noteKey, objectKey, receiptKey } from '../keys.ts';
import type { IndexJournal } from '../ledger/index-journal.ts';
import { type Detail, findDetail, findReceipt, readReceipt } from '../ledger/ledger.ts';
import type { JobTable } from '../publish/job-table.ts';
import { abortUploads } from '../publish/parts.ts';
import { CLAIM_FILE, readFile } from '../shapes.ts';
import { claimBytes, type OwnClaimFile } from './claim-file.ts';

const HEARTBEAT_MS = 15_000;

export interface ListedClaim {
  readonly key: string;
  readonly day: VesselDay;
  readonly epoch: number;
  readonly modifiedMs: number;
}

/** Whether an attempt of this epoch or a later one has published the day: then the claim is over. */
export function isEnded({ epoch }: Pick<ListedClaim, 'epoch'>, receipt: Receipt | undefined): boolean {
  return receipt !== undefined && receipt.epoch >= epoch;
}

export interface ClaimPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly self: ProcessId;
  readonly log: Log;
  readonly table?: JobTable | undefined;
  readonly journal?: IndexJournal | undefined;
}

/** Ownership of one vessel-day, from `takeClaim` (claims.ts) until `finish`, `handBack` or `abandon`. */
export class Claim {
  readonly day: VesselDay;
  /** Aborted with a FencedError when the heartbeat finds that someone else owns the vessel-day. */
  readonly signal: AbortSignal;
  /** What this attempt may replace, as it was when it was read under this claim; null: there was none. */
  #replaces: {
    object: Version | null | undefined;
    files: TableChange['remove'];
    receipt: Version | null;
    detail?: Version | null | undefined;
  } = { object: null, files: [], receipt: null };
  #file: OwnClaimFile;
  #version: Version;
  /** Claims of predecessors, fenced or ended, that are still there, as they were left. */
  #older: readonly (ListedClaim & { readonly version: Version })[];
  #ports: ClaimPorts;
  #lost = new AbortController();
  #stopped = new AbortController();
  #writes: Promise<void> = Promise.resolve();

  constructor(
    ports: ClaimPorts,
    day: VesselDay,
    own: {
      readonly file: OwnClaimFile;
      readonly version: Version;
      readonly older: readonly (ListedClaim & { readonly version: Version })[];
    },
  ) {
    this.day = day;
    this.#ports = ports;
    this.#file = own.file;
    this.#version = own.version;
    this.#older = own.older;
    this.signal = this.#lost.signal;
  }

  get epoch(): number {
    return this.#file.epoch;
  }

  /** Write a heartbeat every 15 s until the claim ends. */
  startHeartbeat(): void {
    void this.#beat();
  }

  async #beat(): Promise<void> {
    const { clock, log } = this.#ports;
    for (;;) {
      try {
        await clock.sleep(HEARTBEAT_MS, this.#stopped.signal);
        await this.#update({});
      } catch (error) {
        if (this.#stopped.signal.aborted) return;
        if (error instanceof FencedError) return this.#lost.abort(error);
        // The store is unreachable: others may take over after a while, and the fence then stops us.
        log.warn({ vesselDay: formatVesselDay(this.day), error: messageOf(error) }, 'heartbeat failed');
      }
    }
  }

  /**
   * Read the present state of the day, and remember its versions: nothing that comes later is replaced. Returns the receipt,
   * which the never-shrink guard compares with. `isNew`: the day had no receipt before our claim and has no other claim, so
   * its object need not be read. Throws FencedError when another attempt has finished the day.
   */
  async lookAgain({ isNew = false } = {}): Promise<Receipt | undefined> {
    const { store, table } = this.#ports;
    let object: Version | null | undefined;
    // Before the receipt: an attempt that publishes in between has changed the object that we may replace.
    if (table === undefined && !isNew) object = (await store.head(objectKey(this.day)))?.version ?? null;
    const found = await findReceipt(store, this.day);
    if (isEnded(this, found?.receipt)) throw this.#fenced(`attempt ${found?.receipt.epoch} has published`);
    if (table === undefined && isNew) {
      if (found !== undefined) return this.lookAgain();
      // If completing cannot be conditional, the never-shrink guard checks.
      object = (await store.capabilities()).conditionalComplete ? null : undefined;
    }
    // After the receipt: it names what the table must have by then.
    const files = (await table?.filesOf(this.day, found?.receipt)) ?? [];
    this.#replaces = { object, files, receipt: found?.version ?? null };
    return found?.receipt;
  }

  /** The detail that the receipt names, which this attempt may then replace. */
  async readDetail(receipt: Receipt): Promise<Detail | undefined> {
    const { detail, version } = await findDetail(this.#ports.store, receipt);
    this.#replaces = { ...this.#replaces, detail: version };
    return detail;
  }

  /** The object that this attempt may replace; null: there is none; undefined: whatever is there. */
  get objectVersion(): Version | null | undefined {
    return this.#replaces.object;
  }

  get table(): JobTable | undefined {
    return this.#ports.table;
  }

  get replacedFiles(): TableChange['remove'] {
    return this.#replaces.files;
  }

  /** Write the detail in place of the one that was read. Throws FencedError. */
  async putDetail(gzip: Uint8Array): Promise<void> {
    const { receipt, detail = receipt === null ? null : undefined } = this.#replaces;
    this.#replaces = { ...this.#replaces, detail: await this.#putOwned(detailKey(this.day), gzip, detail) };
  }

  /** Write the receipt in place of the one that was read. Throws FencedError. */
  async putReceipt(receipt: Receipt): Promise<void> {
    const key = receiptKey(this.day);
    const bytes = jsonBytes(receipt);
    const version = await this.#putOwned(key, bytes, this.#replaces.receipt);
    this.#replaces = { ...this.#replaces, receipt: version };
    this.#ports.journal?.note(receipt, { sizeBytes: bytes.length, tag: version });
  }

  /** Replace `expected` or, if that is unknown or gone, what a predecessor has left. */
  async #putOwned(key: string, bytes: Uint8Array, expected: Version | null | undefined): Promise<Version> {
    const { store } = this.#ports;
    for (let before = expected; ; ) {
      const written = before === undefined ? undefined : await store.putIf(key, bytes, before);
      if (written !== undefined) return written;
      // In this order: had a successor written what we see here, it would have fenced us before.
      before = (await store.head(key))?.version ?? null;
      await this.checkFence();
    }
  }

  /** Throws FencedError unless our claim stands: no other attempt has taken over or published since. It costs one request if it stands. */
  async checkStanding(): Promise<void> {
    const file = await this.#readOwn();
    if (file?.fencedBy !== undefined || file?.attempt !== this.#file.attempt) await this.checkFence();
  }

  async #readOwn(): Promise<ClaimFile | undefined> {
    const key = claimKey(this.day, this.epoch);
    return (await readFile<ClaimFile>(this.#ports.store, key, CLAIM_FILE))?.file;
  }

  /** Throws FencedError when another attempt owns the vessel-day, or has finished it. */
  async checkFence(): Promise<void> {
    const file = await this.#readOwn();
    if (file?.fencedBy !== undefined) throw this.#fenced(`attempt ${file.fencedBy} has taken over`);
    // After the claim: a receipt is written before the claim that it ends goes.
    const receipt = await readReceipt(this.#ports.store, this.day);
    if (isEnded(this, receipt)) throw this.#fenced(`attempt ${receipt?.epoch} has published`);
    // An epoch is used again if no later attempt has left anything: then the file at our key is another attempt's.
    if (file?.attempt !== this.#file.attempt) throw this.#fenced('the claim is gone');
  }

  #fenced(reason: string): FencedError {
    return new FencedError('fenced', `${formatVesselDay(this.day)}: attempt ${this.epoch} stops: ${reason}`);
  }

  /** Make a predecessor's progress ours, then drop its claim. */
  async inherit(progress: { checkpoint: OpenCheckpoint | null; sealed: SealedDay | null }): Promise<void> {
    await this.#update(progress);
    await this.#removeOlder();
  }

  /** Begin without progress: remove our own, and the uploads (I6) and claims of predecessors. */
  async startClean(): Promise<void> {
    const upload = this.#file.sealed?.upload ?? this.#file.checkpoint?.upload;
    if (this.hasProgress) await this.#update({ checkpoint: null, sealed: null });
    if (upload) await this.#ports.store.abandon(upload);
    if (this.#older.length === 0) return;
    await abortUploads(this.#ports.store, this.day);
    await this.#removeOlder();
  }

  /** Each as it was left: without a receipt an epoch may come again, and a removal that comes late is not to take that claim. */
  async #removeOlder(): Promise<void> {
    for (const { key, version } of this.#older) await this.#ports.store.removeIf(key, version);
    this.#older = [];
  }

  async writeCheckpoint(checkpoint: OpenCheckpoint): Promise<void> {
    await this.#update({ checkpoint });
  }

  /** I2: the sealed draft is durable before the day is published. No attempt continues from an earlier checkpoint. */
  async writeSealed(sealed: SealedDay): Promise<void> {
    await this.#update({ checkpoint: null, sealed });
  }

  /** One write at a time, each replacing the version that was written last, so that no older state replaces a newer one. */
  #update(change: Partial<OwnClaimFile>): Promise<void> {
    const write = this.#writes.then(async () => {
      const file = { ...this.#file, heartbeatMs: this.#ports.clock.nowMs(), ...change };
      const key = claimKey(this.day, this.epoch);
      const version = await this.#ports.store.putIf(key, claimBytes(file), this.#version);
      if (version === undefined) {
        await this.checkFence();
        throw this.#fenced('another process has written its claim');
      }
      [this.#file, this.#version] = [file, version];
    });
    this.#writes = write.catch(() => {});
    return write;
  }

  /**
   * The day is published: remove claims and note. I3: only after the receipt. A temporary error of the store is no failure: the
   * rest is over, because the receipt is durable and has its epoch, and `removeFinishedClaims` removes it.
   */
  async endPublished(): Promise<void> {
    await this.#stop();
    const { store, log } = this.#ports;
    const own = claimKey(this.day, this.epoch);
    try {
      await store.removeAll([noteKey(this.day), ...this.#older.map(({ key }) => key)], [own]);
    } catch (error) {
      if (!mayPass(error)) throw error;
      log.warn({ vesselDay: formatVesselDay(this.day), error: messageOf(error) }, 'its claim stays for now');
    }
  }

  /**
   * Ends an attempt that leaves nothing worth keeping; false if another has taken over. With the receipt of a day that is done,
   * the note is removed too if the claim that the receipt has ended is still there.
   */
  async finish(receipt?: Receipt): Promise<boolean> {
    await this.#stop();
    const { store } = this.#ports;
    if (this.#older.some((claim) => isEnded(claim, receipt))) await store.remove(noteKey(this.day));
    await this.#removeOlder();
    // Without a receipt an epoch may come again: then what is there is another's.
    if (await store.removeIf(claimKey(this.day, this.epoch), this.#version)) return true;
    // It may have been removed, and the answer been lost.
    return (
      (await this.#readOwn()) === undefined &&
      !isEnded(this, await unlessDamaged(readReceipt(store, this.day)))
    );
  }

  /** Stop, but keep the checkpoint: the next attempt, on any machine, continues at once. */
  async handBack(): Promise<void> {
    await this.#stop();
    await this.#update({ heartbeatMs: 0 });
  }

  /** Stop without touching the store: we were fenced, and nothing there is ours any more. */
  async abandon(): Promise<void> {
    await this.#stop();
  }

  /** True when the claim's file holds anything that a later attempt could use. */
  get hasProgress(): boolean {
    return this.#file.checkpoint !== null || this.#file.sealed !== null;
  }

  async #stop(): Promise<void> {
    this.#stopped.abort(NO_LONGER);
    await this.#writes;
  }
}
