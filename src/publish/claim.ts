/**
 * Claims: at most one attempt works on a vessel-day, and one that was overtaken writes nothing more.
 *
 * A claim is the file `_checkpoints/…/<epoch>.json`, made by put-if-absent, so that of two racers for an epoch
 * one wins. Only its owner writes it again. The highest epoch owns the vessel-day; I5: a fence check (a higher
 * epoch, a receipt of mine or higher, my claim gone) precedes every checkpoint, publish and receipt.
 */
import { randomUUID } from 'node:crypto';
import { FencedError, messageOf } from '../errors.ts';
import type {
  Checkpoint,
  ClaimFile,
  Clock,
  Log,
  ProcessId,
  Receipt,
  SealedDay,
  VesselDay,
} from '../model/index.ts';
import { claimKey, claimPrefix, formatVesselDay } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { jsonBytes, parseJson } from './json.ts';
import { readReceipt } from './ledger.ts';
import { isKnownDead } from './process-id.ts';

/** A claim whose heartbeat is older than this belongs to nobody any more. */
export const CLAIM_STALE_MS = 60_000;
const HEARTBEAT_MS = 15_000;

export interface ClaimPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly self: ProcessId;
  readonly log: Log;
}

export interface ClaimOptions {
  readonly settingsHash: string;
  /** Take a vessel-day even from an owner that seems to live. */
  readonly takeover: boolean;
}

/** What a new owner found. */
export interface Inheritance {
  /** The receipt of the last published day, if any. */
  readonly receipt: Receipt | undefined;
  /** The furthest predecessor's file, if it got anywhere and was made with the same settings. */
  readonly predecessor: ClaimFile | undefined;
}

/**
 * Become the owner of a vessel-day. Throws FencedError `running-elsewhere` when a live process owns it.
 * The predecessors' files stay until `Claim.inherit` or `Claim.startClean` has made their progress ours.
 */
export async function takeClaim(
  ports: ClaimPorts,
  day: VesselDay,
  options: ClaimOptions,
): Promise<{ claim: Claim; inheritance: Inheritance }> {
  for (let round = 0; round < 10; round++) {
    const claims = await readClaims(ports.store, day);
    const receipt = await readReceipt(ports.store, day);
    const owner = options.takeover ? undefined : claims.find((claim) => isLive(claim, ports));
    if (owner !== undefined) throw runningElsewhere(day, owner, ports.clock.nowMs());
    const epoch = 1 + Math.max(0, receipt?.epoch ?? 0, ...claims.map((claim) => claim.epoch));
    const file: ClaimFile = {
      claimVersion: 1,
      epoch,
      attempt: randomUUID(),
      owner: ports.self,
      settingsHash: options.settingsHash,
      heartbeatMs: ports.clock.nowMs(),
      checkpoint: null,
      sealed: null,
    };
    if (!(await ports.store.putIfAbsent(claimKey(day, epoch), jsonBytes(file)))) continue;
    const claim = new Claim(ports, day, file);
    try {
      await claim.checkFence();
    } catch (error) {
      // Someone finished the day between our look and our put: our file is the only trace of us.
      await ports.store.remove(claimKey(day, epoch));
      if (error instanceof FencedError) continue;
      throw error;
    }
    const predecessor = await findPredecessor(ports.store, day, file, receipt?.epoch ?? 0);
    return { claim, inheritance: { receipt, predecessor } };
  }
  throw new FencedError(
    'running-elsewhere',
    `${formatVesselDay(day)}: other processes keep claiming it; let them finish, or stop them and run again`,
  );
}

async function findPredecessor(
  store: ObjectStore,
  day: VesselDay,
  own: ClaimFile,
  publishedEpoch: number,
): Promise<ClaimFile | undefined> {
  // Read again now that our claim stands: an overtaken owner may have moved on until its next fence check.
  // One whose day was published after all is over: to publish it once more would bring back what it once read.
  const older = (await readClaims(store, day)).filter(
    ({ epoch }) => epoch < own.epoch && epoch > publishedEpoch,
  );
  return older.find(
    (claim) =>
      claim.settingsHash === own.settingsHash && (claim.sealed !== null || claim.checkpoint !== null),
  );
}

/** Claim files of a vessel-day, the highest epoch first. */
export async function readClaims(store: ObjectStore, day: VesselDay): Promise<ClaimFile[]> {
  const claims: ClaimFile[] = [];
  for (const epoch of await listEpochs(store, day)) {
    const key = claimKey(day, epoch);
    const object = await store.get(key);
    if (object !== undefined) claims.push(parseJson<ClaimFile>(object.bytes, key));
  }
  return claims.sort((a, b) => b.epoch - a.epoch);
}

async function listEpochs(store: ObjectStore, day: VesselDay): Promise<number[]> {
  const epochs: number[] = [];
  const prefix = claimPrefix(day);
  for await (const { key } of store.list(prefix)) {
    const match = /^(\d+)\.json$/.exec(key.slice(prefix.length));
    if (match) epochs.push(Number(match[1]));
  }
  return epochs;
}

/** Does a process that may still live own the claim? */
export function isLive(claim: ClaimFile, ports: Pick<ClaimPorts, 'clock' | 'self'>): boolean {
  return ports.clock.nowMs() - claim.heartbeatMs < CLAIM_STALE_MS && !isKnownDead(claim.owner, ports.self);
}

function runningElsewhere(day: VesselDay, claim: ClaimFile, nowMs: number): FencedError {
  const age = Math.max(0, Math.round((nowMs - claim.heartbeatMs) / 1000));
  const host = claim.owner.host.split('/')[0];
  return new FencedError(
    'running-elsewhere',
    `${formatVesselDay(day)}: running elsewhere (host ${host}, pid ${claim.owner.pid}, heartbeat ${age} s ago); wait for it, or stop it and run again, or use --takeover`,
  );
}

/** Ownership of one vessel-day, from `takeClaim` until `finish`, `handBack` or `abandon`. */
export class Claim {
  readonly day: VesselDay;
  /** Aborted with a FencedError when the heartbeat finds that someone else owns the vessel-day. */
  readonly signal: AbortSignal;
  #file: ClaimFile;
  #ports: ClaimPorts;
  #lost = new AbortController();
  #stopped = new AbortController();
  #writes: Promise<void> = Promise.resolve();

  constructor(ports: ClaimPorts, day: VesselDay, file: ClaimFile) {
    this.day = day;
    this.#ports = ports;
    this.#file = file;
    this.signal = this.#lost.signal;
  }

  get epoch(): number {
    return this.#file.epoch;
  }

  /** Say every 15 s that we live, until the claim ends. */
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
        // The store is out of reach: others may take over after a while, and the fence then stops us.
        log.warn({ vesselDay: formatVesselDay(this.day), error: messageOf(error) }, 'heartbeat failed');
      }
    }
  }

  /** I5. Throws FencedError when another attempt owns the vessel-day, or has finished it. */
  async checkFence(): Promise<void> {
    const epochs = await listEpochs(this.#ports.store, this.day);
    const higher = Math.max(...epochs, 0);
    if (higher > this.epoch) throw this.#fenced(`attempt ${higher} has taken over`);
    if (!epochs.includes(this.epoch) || !(await this.#isOurs())) throw this.#fenced('the claim is gone');
    // After the claims: a receipt is written before the claim that it ends goes.
    const receipt = await readReceipt(this.#ports.store, this.day);
    if (receipt !== undefined && receipt.epoch >= this.epoch) {
      throw this.#fenced(`attempt ${receipt.epoch} has published`);
    }
  }

  /**
   * Does the file at our key still say so? Epochs come again where every attempt since left nothing behind: then
   * it is someone else's.
   */
  async #isOurs(): Promise<boolean> {
    const key = claimKey(this.day, this.epoch);
    const object = await this.#ports.store.get(key);
    return object !== undefined && parseJson<ClaimFile>(object.bytes, key).attempt === this.#file.attempt;
  }

  #fenced(reason: string): FencedError {
    return new FencedError('fenced', `${formatVesselDay(this.day)}: attempt ${this.epoch} stops: ${reason}`);
  }

  /** Make a predecessor's progress ours, then drop its claim. */
  async inherit(progress: { checkpoint: Checkpoint | null; sealed: SealedDay | null }): Promise<void> {
    await this.#update(progress);
    await this.#removeOlder();
  }

  /** Begin without progress; predecessors' claims go. */
  async startClean(): Promise<void> {
    await this.#update({ checkpoint: null, sealed: null });
    await this.#removeOlder();
  }

  async #removeOlder(): Promise<void> {
    for (const epoch of await listEpochs(this.#ports.store, this.day)) {
      if (epoch < this.epoch) await this.#ports.store.remove(claimKey(this.day, epoch));
    }
  }

  async writeCheckpoint(checkpoint: Checkpoint): Promise<void> {
    await this.#update({ checkpoint });
  }

  /** I2: the sealed draft is durable before the day is published. */
  async writeSealed(sealed: SealedDay): Promise<void> {
    await this.#update({ sealed });
  }

  /** One write at a time, each after a fence check, so that an older state never covers a newer one. */
  #update(change: Partial<ClaimFile>): Promise<void> {
    const write = this.#writes.then(async () => {
      await this.checkFence();
      const file = { ...this.#file, ...change, heartbeatMs: this.#ports.clock.nowMs() };
      await this.#ports.store.put(claimKey(this.day, this.epoch), jsonBytes(file));
      this.#file = file;
    });
    this.#writes = write.catch(() => {});
    return write;
  }

  /** I3: only after the receipt. Also for an attempt that leaves nothing worth keeping. */
  async finish(): Promise<void> {
    await this.#stop();
    await this.#removeOlder();
    await this.#ports.store.remove(claimKey(this.day, this.epoch));
  }

  /** Stop, but keep the checkpoint: the next attempt, wherever it runs, goes on at once. */
  async handBack(): Promise<void> {
    await this.#stop();
    await this.checkFence();
    await this.#ports.store.put(claimKey(this.day, this.epoch), jsonBytes({ ...this.#file, heartbeatMs: 0 }));
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
    this.#stopped.abort();
    await this.#writes;
  }
}
