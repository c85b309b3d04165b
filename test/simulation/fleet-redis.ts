/**
 * What BullMQ keeps of the vessel-days in Redis, and what schedulers share there, in memory. Each method is one script: nothing
 * comes between. Held against BullMQ itself by test/fleet/queue/conformance.ts.
 */
import type { Hold } from '../../src/fleet/queue/hold.ts';

export interface KeptJob {
  readonly id: string;
  readonly name: string;
  data: string;
  readonly priority: number;
  readonly timestamp: number;
  attemptsMade: number;
  attemptsStarted: number;
  stalledCounter: number;
  failedReason: string;
}

interface Scored {
  readonly id: string;
  readonly score: number;
}

type Leader = { readonly self: string; readonly untilMs: number };

const EMPTY = () => ({
  jobs: new Map<string, KeptJob>(),
  locks: new Map<string, { readonly token: string; readonly untilMs: number }>(),
  /** The next one comes first. */
  wait: [] as string[],
  prioritized: [] as Scored[],
  /** By when they come back, in the clock of who has moved them. */
  delayed: [] as Scored[],
  active: new Set<string>(),
  failed: new Map<string, number>(),
  stalled: new Set<string>(),
  stalledCheckUntilMs: 0,
  priorityCounter: 0,
  hold: undefined as Hold | null | undefined,
  handLifts: 0,
  leader: undefined as Leader | undefined,
  planned: new Map<string, number>(),
  told: '',
});
type Kept = ReturnType<typeof EMPTY>;

export type State = 'waiting' | 'prioritized' | 'active' | 'delayed' | 'failed' | 'unknown';
/** As BullMQ refuses what is not there, not locked or somebody else's. */
export class MissingError extends Error {}

/** A priority's place among the scores, as BullMQ makes them. */
const SCORES = 2 ** 32;

export class FleetRedis {
  #kept: Kept = EMPTY();
  readonly #nowMs: () => number;
  /** Those who wait for work, each told once of each change that may bring some. */
  readonly #blocked = new Set<() => void>();

  /** `nowMs`: the clock of Redis. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  readonly #workers = new Set<() => boolean>();

  /** `isThere`: while its process lives, and it has not closed. */
  connect(isThere: () => boolean): void {
    this.#workers.add(isThere);
  }

  get workers(): number {
    return [...this.#workers].filter((isThere) => isThere()).length;
  }

  /** To be told once that there may be work. The answer takes it back. */
  onWork(wake: () => void): () => void {
    this.#blocked.add(wake);
    return () => this.#blocked.delete(wake);
  }

  #wake(): void {
    const blocked = [...this.#blocked];
    this.#blocked.clear();
    for (const wake of blocked) wake();
  }

  /** Lost with all that stood in it; or as it was when `snapshot` was taken. */
  flush(snapshot?: unknown): void {
    this.#kept = snapshot === undefined ? EMPTY() : structuredClone(snapshot as Kept);
    this.#wake();
  }

  snapshot(): unknown {
    return structuredClone(this.#kept);
  }

  add(id: string, name: string, data: string, priority: number, timestamp: number): void {
    const kept = this.#kept;
    if (kept.jobs.has(id)) return;
    const counts = { attemptsMade: 0, attemptsStarted: 0, stalledCounter: 0 };
    kept.jobs.set(id, { ...{ id, name, data, priority, timestamp }, ...counts, failedReason: '' });
    this.#append(id, priority);
    this.#wake();
  }

  /** Behind all others of its priority. */
  #append(id: string, priority: number): void {
    const kept = this.#kept;
    if (priority === 0) kept.wait.push(id);
    else insert(kept.prioritized, { id, score: priority * SCORES + (++kept.priorityCounter % SCORES) });
  }

  #lockOf(id: string): string | undefined {
    const lock = this.#kept.locks.get(id);
    return lock !== undefined && lock.untilMs > this.#nowMs() ? lock.token : undefined;
  }

  /** Whoever has lost the lock changes nothing. */
  #release(id: string, token: string): KeptJob {
    const { jobs, locks, stalled, active } = this.#kept;
    const job = jobs.get(id);
    if (job === undefined) throw new MissingError(`Missing key for job ${id}`);
    if (this.#lockOf(id) !== token) throw new MissingError(`Missing lock for job ${id}`);
    locks.delete(id);
    stalled.delete(id);
    if (!active.delete(id)) throw new MissingError(`Job ${id} is not in the active state`);
    return job;
  }

  /** The next one, locked; or when the next delayed one comes, by the clock of who asks. */
  take(token: string, lockMs: number, timestamp: number): KeptJob | number | undefined {
    const kept = this.#kept;
    while (kept.delayed.length > 0 && kept.delayed[0]!.score <= timestamp) {
      const { id } = kept.delayed.shift()!;
      this.#append(id, kept.jobs.get(id)?.priority ?? 0);
    }
    if (kept.hold !== undefined) return undefined;
    let id = kept.wait.shift();
    if (id === undefined) {
      id = kept.prioritized.shift()?.id;
      if (id === undefined) kept.priorityCounter = 0;
    }
    if (id === undefined) return kept.delayed[0]?.score;
    kept.active.add(id);
    kept.locks.set(id, { token, untilMs: this.#nowMs() + lockMs });
    const job = kept.jobs.get(id)!;
    job.attemptsStarted++;
    return { ...job };
  }

  complete(id: string, token: string): void {
    this.#release(id, token);
    this.#kept.jobs.delete(id);
  }

  fail(id: string, token: string, reason: string, timestamp: number): void {
    const job = this.#release(id, token);
    job.attemptsMade++;
    job.failedReason = reason;
    this.#kept.failed.set(id, timestamp);
  }

  /** `timestamp`: when it comes back. `isAttempt`: it counts as one. */
  delay(id: string, token: string, timestamp: number, isAttempt = false): void {
    const job = this.#release(id, token);
    if (isAttempt) job.attemptsMade++;
    insert(this.#kept.delayed, { id, score: timestamp });
    this.#wake();
  }

  /** Before all others of its priority. */
  handBack(id: string, token: string): void {
    const { priority } = this.#release(id, token);
    if (priority === 0) this.#kept.wait.unshift(id);
    else insert(this.#kept.prioritized, { id, score: priority * SCORES });
    this.#wake();
  }

  /** Those that are delayed by more than `mostMs`. */
  bringBack(mostMs: number): number {
    const { delayed, jobs } = this.#kept;
    const latestMs = this.#nowMs() + mostMs;
    const found = delayed.filter(({ score }) => score >= latestMs);
    for (const { id } of found) {
      removeFrom(delayed, (one) => one.id === id);
      this.#append(id, jobs.get(id)?.priority ?? 0);
    }
    if (found.length > 0) this.#wake();
    return found.length;
  }

  extendLock(id: string, token: string, lockMs: number): boolean {
    if (this.#lockOf(id) !== token) return false;
    this.#kept.locks.set(id, { token, untilMs: this.#nowMs() + lockMs });
    this.#kept.stalled.delete(id);
    return true;
  }

  /** Whoever has the lock. */
  update(id: string, data: string): void {
    const job = this.#kept.jobs.get(id);
    if (job === undefined) throw new MissingError(`Missing key for job ${id}`);
    job.data = data;
  }

  /** Somebody else has it from now on, or nobody. */
  forceLock(id: string, token: string | null): void {
    if (token === null) this.#kept.locks.delete(id);
    else this.#kept.locks.set(id, { token, untilMs: Number.POSITIVE_INFINITY });
  }

  /** Those that were found active by the check before and that nobody has a lock of, before all others. */
  checkStalled(everyMs: number): string[] {
    const kept = this.#kept;
    if (kept.stalledCheckUntilMs > this.#nowMs()) return [];
    kept.stalledCheckUntilMs = this.#nowMs() + everyMs;
    const stalled = [...kept.stalled].filter(
      (id) => this.#lockOf(id) === undefined && kept.active.delete(id),
    );
    for (const id of stalled) {
      const job = kept.jobs.get(id);
      if (job !== undefined) job.stalledCounter++;
      kept.wait.unshift(id);
    }
    kept.stalled = new Set(kept.active);
    if (stalled.length > 0) this.#wake();
    return stalled;
  }

  /** False while somebody has its lock; true too where it is not there. */
  remove(id: string): boolean {
    if (this.#lockOf(id) !== undefined) return false;
    const kept = this.#kept;
    if (!kept.jobs.delete(id)) return true;
    if (kept.active.delete(id) || kept.failed.delete(id)) return true;
    removeFrom(kept.wait, (one) => one === id);
    removeFrom(kept.prioritized, (one) => one.id === id);
    removeFrom(kept.delayed, (one) => one.id === id);
    return true;
  }

  get(id: string): KeptJob | undefined {
    return this.#kept.jobs.get(id);
  }

  isFailed(id: string): boolean {
    return this.#kept.failed.has(id);
  }

  stateOf(id: string): State {
    const { active, failed, wait, prioritized, delayed } = this.#kept;
    if (failed.has(id)) return 'failed';
    if (delayed.some((one) => one.id === id)) return 'delayed';
    if (active.has(id)) return 'active';
    if (wait.includes(id)) return 'waiting';
    return prioritized.some((one) => one.id === id) ? 'prioritized' : 'unknown';
  }

  /** The next to be taken first; of those that have failed, the last. */
  idsIn(state: State): string[] {
    const { active, failed, wait, prioritized, delayed } = this.#kept;
    if (state === 'waiting') return [...wait];
    if (state === 'active') return [...active];
    if (state === 'failed') return [...failed.keys()].reverse();
    return (state === 'prioritized' ? prioritized : delayed).map(({ id }) => id);
  }

  count(state: State): number {
    const { active, failed, wait, prioritized, delayed } = this.#kept;
    const all = { waiting: wait.length, active: active.size, failed: failed.size };
    return { ...all, prioritized: prioritized.length, delayed: delayed.length, unknown: 0 }[state];
  }

  /** Null: paused without a reason. */
  get hold(): Hold | null | undefined {
    return this.#kept.hold;
  }

  get handLifts(): number {
    return this.#kept.handLifts;
  }

  placeHold(hold: Hold | null): boolean {
    if (this.#kept.hold !== undefined) return false;
    this.#kept.hold = hold;
    return true;
  }

  liftHold(byHand: boolean): boolean {
    const { hold } = this.#kept;
    if (hold === undefined || (hold === null && !byHand)) return false;
    this.#kept.hold = undefined;
    if (byHand) this.#kept.handLifts++;
    this.#wake();
    return true;
  }

  lead(self: string, ttlMs: number): boolean {
    const { leader } = this.#kept;
    if (leader !== undefined && leader.untilMs > this.#nowMs() && leader.self !== self) return false;
    this.#kept.leader = { self, untilMs: this.#nowMs() + ttlMs };
    return true;
  }

  resign(self: string): void {
    if (this.#kept.leader?.self === self) this.#kept.leader = undefined;
  }

  get planned(): Map<string, number> {
    return this.#kept.planned;
  }

  /** What people were told, beside the lake's. */
  get told(): string {
    return this.#kept.told;
  }

  replaceTold(before: string, after: string): boolean {
    if (this.#kept.told !== before) return false;
    this.#kept.told = after;
    return true;
  }
}

/** Behind those of the same score. */
function insert(sorted: Scored[], one: Scored): void {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]!.score <= one.score) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, one);
}

function removeFrom<T>(items: T[], is: (item: T) => boolean): void {
  const at = items.findIndex(is);
  if (at >= 0) items.splice(at, 1);
}
