/**
 * The concurrency limit that all processes with one credential share: a semaphore in Redis with one slot per request.
 *
 * - A slot expires `ttlMs` after it was last renewed, by Redis' clock; a process renews all of its slots with every
 *   exchange, at least four times in that time. The slots of a dead process expire.
 * - Waiting processes form a line in Redis and take turns, one slot each. A process that frees a slot wakes the next one by a
 *   message, which may get lost: so waiting processes also poll about once a second, and one that does not is skipped after
 *   `patienceMs`.
 * - The smallest limit of the active processes counts.
 * - If Redis is unreachable, no process gets a slot, and running requests continue. If that lasts longer than `ttlMs`,
 *   processes that reach Redis earlier may take the slots; the log says so.
 * - After a restart, replacement or flush of Redis, for the first process ever, and when slots expired in a silence (Redis'
 *   clock may have been set forward), no process gets a slot for `settleMs`, in which every process reports those it holds.
 * - If Redis' clock was set back, time continues from the latest moment that it has shown.
 */

import { CONCURRENCY_LIMIT_RULES, grownConcurrency } from '../core/model/limit-rules.ts';
import type { ConcurrencyLimit, RateLimit, Slot } from '../core/model/ports.ts';
import { concurrencyLimitScript } from './lua/concurrency-limit.ts';
import { SHARED_TIMES, SharedLimit, type SharedLimitOptions } from './shared-limit.ts';

export interface SharedConcurrencyLimitOptions extends SharedLimitOptions {
  /** Identifies the credential whose requests are counted together: a digest, never the secret. */
  readonly credential: string;
  readonly limit: number;
  readonly rateLimit: RateLimit;
  readonly maxHoldMs?: number;
  /** How long no slots are granted when Redis does not know the earlier ones; longer than a reconnect takes. */
  readonly settleMs?: number;
}

const SETTLE_MS = 2_000;
const RENEWALS_PER_TTL = 4;

/**
 * States of a slot in the process that requested it:
 *
 *   asked      its name was sent to Redis, and no reply says yet whether it was granted → held, or forgotten
 *   held       granted, and renewed with every exchange → returning, once it is released
 *   returning  sent to Redis with the next exchange → forgotten, once that has a reply
 */
type SlotState = 'asked' | 'held' | 'returning';

interface Report {
  readonly want: number;
  /** Slots by state: asked, held and returning. */
  readonly candidates: readonly string[];
  readonly held: readonly string[];
  readonly back: readonly string[];
  readonly refused: boolean;
  readonly retryAfterMs: number;
}

interface Reply {
  /** How many of the candidates were granted, from the first. */
  readonly granted: number;
  /** Slots of this process that had expired and were taken again. */
  readonly lost: number;
  /** The refusal came at concurrency limit 1. */
  readonly slow: boolean;
  readonly fresh: boolean;
  readonly current: number;
  readonly limit: number;
  readonly changedAgoMs: number;
  readonly holdMs: number;
}

export class SharedConcurrencyLimit extends SharedLimit<Report, Reply, Slot> implements ConcurrencyLimit {
  readonly #limit: number;
  readonly #rateLimit: RateLimit;
  readonly #recoverMs: number;
  readonly #settleMs: number;
  readonly #slots = new Map<string, SlotState>();
  #lastSerial = 0;
  /** The longest `Retry-After` of refusals that were not reported yet; undefined: there was none. */
  #refusedForMs: number | undefined;
  /** The limit as Redis reported it last, and when it was changed. */
  #known: { readonly current: number; readonly limit: number; readonly changedMs: number };
  #renewedMs = -Infinity;
  /** The log has said that slots could not be renewed in time. */
  #isOverdue = false;

  constructor(options: SharedConcurrencyLimitOptions) {
    const { prefix, credential, limit, settleMs = SETTLE_MS } = options;
    const { coolDownMs, recoverMs, maxHoldMs } = { ...CONCURRENCY_LIMIT_RULES, ...options };
    const { ttlMs } = { ...SHARED_TIMES, ...options };
    const channel = `${prefix}:cap:{${credential}}`;
    super(options, {
      name: 'the shared concurrency limit',
      channel,
      ownKey: 'leases',
      script: concurrencyLimitScript,
      limit,
      rules: { ttlMs, coolDownMs, recoverMs, maxHoldMs, settleMs },
    });
    this.#limit = limit;
    this.#rateLimit = options.rateLimit;
    this.#recoverMs = recoverMs;
    this.#settleMs = settleMs;
    this.#known = { current: limit, limit, changedMs: 0 };
    this.listen(`${channel}:${this.member}`, () => this.reportSoon());
    this.listen(channel, (text) => {
      const news = parseNews(text);
      if (news === undefined) return;
      if (news.report) this.reportSoon();
      else this.#known = { current: news.current, limit: news.limit, changedMs: this.clock.monotonicMs() };
    });
  }

  acquire(signal?: AbortSignal): Promise<Slot> {
    const turn = this.line.join(signal);
    this.reportSoon();
    return turn;
  }

  limited(retryAfterMs = 0): void {
    this.#refusedForMs = Math.max(retryAfterMs, this.#refusedForMs ?? 0);
    this.reportSoon();
  }

  get current(): number {
    const known = this.#known;
    return grownConcurrency(known, known.limit, this.clock.monotonicMs(), this.#recoverMs).current;
  }

  protected report(isLeaving: boolean): Report {
    if (isLeaving) for (const id of this.#slotsThatAre('held')) this.#slots.set(id, 'returning');
    const want = isLeaving ? 0 : Math.min(this.line.length, this.#limit);
    for (let asked = this.#slotsThatAre('asked').length; asked < want; asked++)
      this.#slots.set(`${this.member}:${++this.#lastSerial}`, 'asked');
    const refusedForMs = this.#refusedForMs;
    this.#refusedForMs = undefined;
    return {
      want,
      candidates: this.#slotsThatAre('asked'),
      held: this.#slotsThatAre('held'),
      back: this.#slotsThatAre('returning'),
      refused: refusedForMs !== undefined,
      retryAfterMs: refusedForMs ?? 0,
    };
  }

  protected takeBack({ refused, retryAfterMs }: Report): void {
    if (refused) this.#refusedForMs = Math.max(retryAfterMs, this.#refusedForMs ?? 0);
    const held = this.#slotsThatAre('held').length;
    const sinceMs = this.clock.monotonicMs() - this.#renewedMs;
    if (this.#isOverdue || held === 0 || sinceMs <= this.times.ttlMs) return;
    this.#isOverdue = true;
    this.log.warn(
      { slots: held, notRenewedForMs: Math.round(sinceMs) },
      'slots could not be renewed before they ran out: others may have taken them, so more requests than the concurrency limit may be in flight',
    );
  }

  protected learn(reply: Reply, { candidates, back }: Report, askedMs: number): number | undefined {
    this.#renewedMs = askedMs;
    this.#isOverdue = false;
    this.#known = { ...reply, changedMs: this.clock.monotonicMs() - reply.changedAgoMs };
    this.#sayWhatRedisLost(reply);
    for (const id of back) this.#slots.delete(id);
    for (const [index, id] of candidates.entries()) {
      if (index < reply.granted) this.#handOut(id);
      else this.#slots.delete(id);
    }
    if (reply.slow) this.#rateLimit.slowDown();
    return this.#nextExchangeMs(reply.holdMs);
  }

  #slotsThatAre(state: SlotState): string[] {
    return [...this.#slots].filter(([, is]) => is === state).map(([id]) => id);
  }

  #handOut(id: string): void {
    const release = () => {
      if (this.#slots.get(id) !== 'held') return;
      this.#slots.set(id, 'returning');
      this.reportSoon();
    };
    // The caller may have left the line meanwhile.
    this.#slots.set(id, this.line.letOneGo({ release }) ? 'held' : 'returning');
  }

  #nextExchangeMs(holdMs: number): number | undefined {
    if (this.#slotsThatAre('returning').length > 0) return 0;
    const due: number[] = [];
    if (this.#slotsThatAre('held').length > 0) due.push(this.times.ttlMs / RENEWALS_PER_TTL);
    if (this.line.length > 0) due.push(this.pollAgainMs());
    if (this.line.length > 0 && holdMs > 0) due.push(holdMs);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  #sayWhatRedisLost({ fresh, lost }: Reply): void {
    if (fresh && this.#settleMs > 0) {
      const fields = { settleMs: this.#settleMs };
      this.log.info(fields, 'Redis has no earlier slots: waiting for other processes to report theirs');
    } else if (lost > 0 && !fresh)
      this.log.warn({ slots: lost }, 'slots had run out before they could be renewed, and were taken again');
  }
}

type News =
  | { readonly report: true }
  | { readonly report: false; readonly current: number; readonly limit: number };

/** A message of the limit's script; undefined for messages of others. */
function parseNews(text: string): News | undefined {
  try {
    const { report, current = 0, limit = 0 } = JSON.parse(text) as Partial<Record<string, number | boolean>>;
    if (report === true) return { report };
    const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1;
    return isCount(current) && isCount(limit) ? { report: false, current, limit } : undefined;
  } catch {
    return undefined;
  }
}
