/**
 * The cap that all processes with one credential share: a semaphore of leases in Redis.
 *
 * - A lease runs out `leaseMs` after it was last renewed, by Redis' clock. A process renews all of its leases with
 *   every exchange, at least four times in that time; those of a dead process come back by running out.
 * - Processes that wait stand in a line in Redis and take turns, one lease each; inside a process the line is
 *   first come first served. Who frees a lease wakes the next in line by a message. A message may get lost, so
 *   who waits also asks about once a second; who does not is passed over after `patienceMs`.
 * - The smallest limit of the processes at work counts.
 * - Redis out of reach: nobody gets a lease, requests that run go on. If that lasts longer than a lease, processes
 *   that reach Redis again earlier may take the slots; the log says so.
 * - Redis restarted, replaced by its replica or flushed: nobody gets a lease for `settleMs`, in which every
 *   process reports those it has out. The same holds for the first process ever.
 */
import { randomUUID } from 'node:crypto';
import { CAP_RULES } from '../model/limits.ts';
import type { Cap, Clock, Lease, Log, Pace, Random } from '../model/ports.ts';
import { silentLog } from '../model/ports.ts';
import { createWaitingLine } from '../model/waiting-line.ts';
import { createConversation } from './conversation.ts';
import { capScript } from './lua/cap.ts';
import { REDIS_NOW } from './lua/members.ts';
import type { RedisConnection } from './redis.ts';

/** The times of `CAP_RULES` and `SHARED_TIMES` unless they are given; all processes must have the same. */
export interface SharedCapOptions extends Partial<SharedTimes> {
  readonly connection: RedisConnection;
  /** Of all keys. */
  readonly prefix: string;
  /** Whose requests are counted together: a digest, never the secret. */
  readonly credential: string;
  /** Most requests in flight. */
  readonly limit: number;
  readonly pace: Pace;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  readonly coolDownMs?: number;
  readonly recoverMs?: number;
  readonly maxHoldMs?: number;
  /** How long leases are held back when Redis does not know of earlier ones; longer than a reconnect takes. */
  readonly settleMs?: number;
  /** Lua that sets `now` in milliseconds, Redis' own clock unless a test owns the time. */
  readonly redisNow?: string;
}

export interface SharedTimes {
  /** A lease, and a process' membership, runs out so long after it was last renewed. */
  readonly leaseMs: number;
  /** Who waits asks again after at most such a time, whatever messages come. */
  readonly pollMs: number;
  /** Who waits and was not heard of for so long is passed over. */
  readonly patienceMs: number;
}

export const SHARED_TIMES: SharedTimes = { leaseMs: 20_000, pollMs: 1_000, patienceMs: 3_000 };
const SETTLE_MS = 2_000;
export const KEEP_MS = 86_400_000;
const RENEWALS_PER_LEASE = 4;

export interface SharedCap extends Cap {
  /** Give all leases back and leave; who still waits is not served any more. */
  close(): Promise<void>;
}

interface Reply {
  readonly granted: number;
  /** Leases of this process that had run out, and were taken again. */
  readonly lost: number;
  /** The refusal came at cap 1. */
  readonly slow: boolean;
  /** Redis knew nothing of earlier leases. */
  readonly fresh: boolean;
  readonly current: number;
  readonly limit: number;
  readonly changedAgoMs: number;
  /** Nobody gets a lease for so long. */
  readonly holdMs: number;
}

/** Throws nothing; asks Redis when the first lease is wanted. */
export function createSharedCap(options: SharedCapOptions): SharedCap {
  const { connection, prefix, credential, limit, pace, clock, random, log = silentLog } = options;
  const { coolDownMs, recoverMs, maxHoldMs } = { ...CAP_RULES, ...options };
  const { leaseMs, pollMs, patienceMs } = { ...SHARED_TIMES, ...options };
  const { settleMs = SETTLE_MS, redisNow = REDIS_NOW } = options;
  const member = randomUUID();
  const channel = `${prefix}:cap:{${credential}}`;
  const keys = ['state', 'seen', 'limits', 'line', 'leases'].map((part) => `${channel}:${part}`);
  const rules = {
    memberMs: leaseMs,
    keepMs: KEEP_MS,
    leaseMs,
    patienceMs,
    coolDownMs,
    recoverMs,
    maxHoldMs,
    settleMs,
  };
  const script = capScript(redisNow);

  /** Leases that are out. */
  const out = new Set<string>();
  /** Granted, on their way to those who were first in line. */
  const granted: string[] = [];
  /** Names for the leases that are asked for; kept until an answer says which of them were given. */
  let candidates: string[] = [];
  const back = new Set<string>();
  let serial = 0;
  let refusedAfterMs: number | undefined;
  let view = { current: limit, limit, changedMs: 0 };
  let renewedMs = -Infinity;
  let overdue = false;

  const line = createWaitingLine(() => {
    if (line.length === 0) conversation.soon();
  });

  const exchange = async (): Promise<number | undefined> => {
    const want = Math.min(line.length, limit);
    while (candidates.length < want) candidates.push(`${member}:${++serial}`);
    const returning = [...back];
    const retryAfterMs = refusedAfterMs;
    refusedAfterMs = undefined;
    const askedMs = clock.monotonicMs();
    let reply: Reply;
    try {
      reply = await send({
        want,
        candidates,
        held: [...out],
        back: returning,
        refused: retryAfterMs !== undefined,
        retryAfterMs: retryAfterMs ?? 0,
        leaving: false,
      });
    } catch (error) {
      if (retryAfterMs !== undefined) refusedAfterMs = Math.max(retryAfterMs, refusedAfterMs ?? 0);
      sayOverdue();
      throw error;
    }
    for (const id of returning) back.delete(id);
    renewedMs = askedMs;
    learn(reply);
    handOut(candidates.slice(0, reply.granted));
    candidates = [];
    if (reply.slow) pace.slowDown();
    if (back.size > 0) return 0;
    return dueMs(reply);
  };

  const send = async (said: object): Promise<Reply> => {
    const ask = JSON.stringify({ process: member, limit, channel, ...rules, ...said });
    return JSON.parse(String(await connection.run(script, keys, [ask])));
  };

  const handOut = (ids: readonly string[]): void => {
    for (const id of ids) {
      granted.push(id);
      out.add(id);
      if (line.letOneGo()) continue;
      // Whoever wanted it has left the line meanwhile.
      granted.pop();
      out.delete(id);
      back.add(id);
    }
  };

  const dueMs = (reply: Reply): number | undefined => {
    const renewMs = out.size > 0 ? leaseMs / RENEWALS_PER_LEASE : Infinity;
    const askMs = line.length > 0 ? Math.ceil(pollMs * (0.5 + random() / 2)) : Infinity;
    const heldMs = line.length > 0 && reply.holdMs > 0 ? reply.holdMs : Infinity;
    const next = Math.min(renewMs, askMs, heldMs);
    return next === Infinity ? undefined : next;
  };

  const learn = (reply: Reply): void => {
    view = { ...reply, changedMs: clock.monotonicMs() - reply.changedAgoMs };
    if (reply.fresh && settleMs > 0) {
      log.info(
        { settleMs },
        'Redis knows of no earlier leases: waiting for other processes to report theirs',
      );
    }
    if (reply.lost > 0 && !reply.fresh) {
      log.warn(
        { leases: reply.lost },
        'leases had run out before they could be renewed, and were taken again',
      );
    }
    overdue = false;
  };

  const sayOverdue = (): void => {
    const sinceMs = clock.monotonicMs() - renewedMs;
    if (overdue || out.size === 0 || sinceMs <= leaseMs) return;
    overdue = true;
    log.warn(
      { leases: out.size, notRenewedForMs: Math.round(sinceMs) },
      'leases could not be renewed for longer than they live: others may have taken their slots, so more requests than the cap may be in flight',
    );
  };

  const conversation = createConversation({ connection, clock, log, name: 'the shared cap', exchange });
  const endings = [
    connection.listen(`${channel}:${member}`, () => conversation.soon()),
    connection.listen(channel, (text) => {
      const news = JSON.parse(text) as { report?: true; current: number; limit: number };
      if (news.report) conversation.soon();
      else view = { current: news.current, limit: news.limit, changedMs: clock.monotonicMs() };
    }),
  ];

  const createLease = (): Lease => {
    const id = granted.shift()!;
    return {
      release: () => {
        if (!out.delete(id)) return;
        back.add(id);
        conversation.soon();
      },
    };
  };

  return {
    acquire: (signal) => {
      const turn = line.join(signal).then(createLease);
      conversation.soon();
      return turn;
    },
    limited: (afterMs = 0) => {
      refusedAfterMs = Math.max(afterMs, refusedAfterMs ?? 0);
      conversation.soon();
    },
    get current() {
      const grown = Math.floor((clock.monotonicMs() - view.changedMs) / recoverMs);
      return Math.min(view.limit, view.current + grown);
    },
    close: async () => {
      for (const end of endings) end();
      await conversation.end();
      const held = [...out, ...back];
      out.clear();
      if (renewedMs === -Infinity && candidates.length === 0) return;
      // Out of reach: they run out by themselves.
      const leave = {
        want: 0,
        candidates,
        held: [],
        back: held,
        refused: false,
        retryAfterMs: 0,
        leaving: true,
      };
      await send(leave).catch(() => {});
    },
  };
}
