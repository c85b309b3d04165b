/**
 * The pace that all processes of a group share: Redis hands out the turns.
 *
 * - Processes that wait stand in a line in Redis and take turns; each is told when its own comes, and asks again
 *   then, so that a pace lowered meanwhile counts for it too.
 * - Without a pace nobody asks: turns are free, and only reported every few seconds, so that a pace can begin with
 *   what everyone did. As soon as one process slows down, all are told.
 * - The smallest pace of the processes at work counts.
 * - Redis out of reach: who has to ask waits. Redis flushed: one turn may come early, and a lowered pace is
 *   forgotten.
 */
import { randomUUID } from 'node:crypto';
import { PACE_RULES } from '../model/limits.ts';
import type { Clock, Log, Pace, Random } from '../model/ports.ts';
import { silentLog } from '../model/ports.ts';
import { createWaitingLine } from '../model/waiting-line.ts';
import { createConversation } from './conversation.ts';
import { REDIS_NOW } from './lua/members.ts';
import { paceScript } from './lua/pace.ts';
import type { RedisConnection } from './redis.ts';
import type { SharedTimes } from './shared-cap.ts';
import { KEEP_MS, SHARED_TIMES } from './shared-cap.ts';

/** The times of `PACE_RULES` and `SHARED_TIMES` unless they are given; all processes must have the same. */
export interface SharedPaceOptions extends Partial<SharedTimes> {
  readonly connection: RedisConnection;
  /** Of all keys. */
  readonly prefix: string;
  /** Whose requests are counted together. */
  readonly group: string;
  /** Requests per minute; undefined for no limit of our own. */
  readonly perMinute?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  readonly coolDownMs?: number;
  readonly recoverMs?: number;
  /** Lua that sets `now` in milliseconds, Redis' own clock unless a test owns the time. */
  readonly redisNow?: string;
}

export interface SharedPace extends Pace {
  /** Leave; who still waits is not served any more. */
  close(): Promise<void>;
}

/** Free turns are reported when the last report is older. */
const REPORT_MS = 5_000;

interface Reply {
  readonly granted: boolean;
  /** Which turn it was. */
  readonly turn?: number;
  /** When to ask again, if someone waits. */
  readonly waitMs: number;
  /** Turns per minute; -1 for no pace. */
  readonly rate: number;
  readonly limit: number;
  readonly forgetAt: number;
  readonly changedAgoMs: number;
}

/** What Redis said last. */
interface View {
  readonly rate: number;
  readonly limit: number;
  readonly forgetAt: number;
  readonly changedMs: number;
}

const orNone = (value: number): number => (value < 0 ? Infinity : value);

/** Throws nothing; asks Redis when the first turn is wanted. */
export function createSharedPace(options: SharedPaceOptions): SharedPace {
  const { connection, prefix, group, perMinute, clock, random, log = silentLog } = options;
  const { coolDownMs, recoverMs } = { ...PACE_RULES, ...options };
  const { leaseMs, pollMs, patienceMs } = { ...SHARED_TIMES, ...options };
  const { redisNow = REDIS_NOW } = options;
  const member = randomUUID();
  const channel = `${prefix}:pace:{${group}}`;
  const keys = ['state', 'seen', 'limits', 'line', 'turns'].map((part) => `${channel}:${part}`);
  const rules = { ...PACE_RULES, memberMs: leaseMs, keepMs: KEEP_MS, patienceMs, coolDownMs, recoverMs };
  const script = paceScript(redisNow);

  let view: View | undefined;
  /** Free turns that were not reported yet. */
  let taken = 0;
  let reportedMs = -Infinity;
  let slow = false;
  let unused: number | undefined;
  const line = createWaitingLine(() => {
    if (line.length === 0) conversation.soon();
  });

  /** The pace has grown since Redis said what it was. */
  const rateNow = (): number => {
    if (view === undefined) return perMinute ?? Infinity;
    const steps = Math.floor((clock.monotonicMs() - view.changedMs) / recoverMs);
    const grown = Math.min(view.limit, view.rate * PACE_RULES.growFactor ** steps);
    return view.limit === Infinity && grown >= view.forgetAt ? Infinity : grown;
  };

  const exchange = async (): Promise<number | undefined> => {
    const said = { want: line.length, taken, slow, unused: unused ?? 0 };
    taken = 0;
    slow = false;
    unused = undefined;
    let reply: Reply;
    try {
      reply = await send({ ...said, leaving: false });
    } catch (error) {
      taken += said.taken;
      slow ||= said.slow;
      throw error;
    }
    const nowMs = clock.monotonicMs();
    reportedMs = nowMs;
    view = {
      rate: orNone(reply.rate),
      limit: orNone(reply.limit),
      forgetAt: orNone(reply.forgetAt),
      changedMs: nowMs - reply.changedAgoMs,
    };
    if (view.rate === Infinity) while (line.letOneGo()) taken += 1;
    // Whoever wanted the turn has left the line meanwhile.
    if (reply.granted && !line.letOneGo()) unused = reply.turn;
    if (unused !== undefined) return 0;
    return line.length === 0 ? undefined : Math.min(reply.waitMs, Math.ceil(pollMs * (0.5 + random() / 2)));
  };

  const send = async (said: object): Promise<Reply> => {
    const ask = JSON.stringify({ process: member, limit: perMinute ?? 0, channel, ...rules, ...said });
    return JSON.parse(String(await connection.run(script, keys, [ask])));
  };

  const conversation = createConversation({ connection, clock, log, name: 'the shared pace', exchange });
  const stopListening = connection.listen(channel, () => conversation.soon());

  const reportNowAndThen = (): void => {
    const nowMs = clock.monotonicMs();
    if (nowMs - reportedMs < REPORT_MS) return;
    reportedMs = nowMs;
    conversation.soon();
  };

  return {
    take: (signal) => {
      if (view !== undefined && line.length === 0 && rateNow() === Infinity && !signal?.aborted) {
        taken += 1;
        reportNowAndThen();
        return Promise.resolve();
      }
      const turn = line.join(signal);
      conversation.soon();
      return turn;
    },
    slowDown: () => {
      slow = true;
      conversation.soon();
    },
    get perMinute() {
      const rate = rateNow();
      return rate === Infinity ? undefined : rate;
    },
    close: async () => {
      stopListening();
      await conversation.end();
      if (view === undefined) return;
      const leave = { want: 0, taken, slow: false, unused: unused ?? 0, leaving: true };
      await send(leave).catch(() => {});
    },
  };
}
