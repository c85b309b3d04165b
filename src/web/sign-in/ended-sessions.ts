/** Sessions that were ended before they expired, shared through Redis; without Redis each process knows its own. */
import { shareAnswer } from '../../core/concurrency.ts';
import { messageOf } from '../../core/errors.ts';
import type { Clock } from '../../core/model/index.ts';
import type { WebPorts } from '../ports.ts';
import { askRedis } from '../web-error.ts';
import { SESSION_SECONDS, type Session } from './sessions.ts';

export type EndedSessions = ReturnType<typeof createEndedSessions>;

const LOOK_MS = 2_000;
const LOOK_AGAIN_MS = 10_000;
/** How far the clocks of machines may differ. */
const SKEW_SECONDS = 30;
/** Beyond this number all sessions are ended: only an attacker begins and ends so many. */
const MAX_ENDED = 10_000;
/** In place of an id: all sessions up to a time are ended. */
const ALL = 'all';

export function createEndedSessions({ clock, log, fleet }: Pick<WebPorts, 'clock' | 'log' | 'fleet'>) {
  /** Id → when it would have expired, in seconds since the epoch. */
  const ended = new Map<string, number>();
  const untold = new Set<string>();
  const shared = fleet && sharedThrough(fleet, clock);
  const nowS = () => Math.floor(clock.nowMs() / 1_000);

  async function lookElsewhere(): Promise<void> {
    try {
      await tellAll();
      for (const [id, untilS] of (await shared?.read(nowS())) ?? []) remember(id, untilS);
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'which sessions were ended elsewhere is not known now');
      throw error;
    }
  }
  const asked = shareAnswer(clock, lookElsewhere, LOOK_MS, LOOK_AGAIN_MS);
  const look = () => asked().catch(() => {});

  function remember(id: string, untilS: number): void {
    ended.set(id, Math.max(untilS, ended.get(id) ?? 0));
  }

  async function add(id: string, untilS: number): Promise<void> {
    remember(id, untilS);
    untold.add(id);
    await tellAll();
  }

  async function tellAll(): Promise<void> {
    for (const id of untold) {
      if (shared !== undefined && ended.has(id)) await shared.add(id, ended.get(id)!);
      untold.delete(id);
    }
  }

  async function end({ id, expiresAtS = 0 }: Session): Promise<void> {
    if (id === undefined) return;
    for (const [known, untilS] of ended) if (untilS <= nowS()) ended.delete(known);
    const telling = ended.size < MAX_ENDED ? add(id, expiresAtS) : endAll();
    await telling.catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'a session was ended in this process, and elsewhere later');
    });
  }

  async function endAll(): Promise<void> {
    for (const id of ended.keys()) if (id !== ALL) ended.delete(id);
    await add(ALL, nowS() + SKEW_SECONDS + SESSION_SECONDS);
  }

  return {
    async isEnded({ id, expiresAtS = 0 }: Session): Promise<boolean> {
      if (id === undefined) return false;
      await look();
      return ended.has(id) || expiresAtS <= (ended.get(ALL) ?? 0);
    },
    /** It takes effect here at once, and in the other processes as soon as Redis is reachable. */
    end,
    /** Throws WebError 503 if the others cannot be notified now: it is done here, and they are notified later anyway. */
    endAll,
    /** Earliest begin of a new session: after the last time that all were ended, in seconds since the epoch. */
    async notBeforeS(): Promise<number> {
      await look();
      return (ended.get(ALL) ?? 0) - SESSION_SECONDS + 1;
    },
  };
}

/** A sorted set of Redis: ids by when they would have expired. */
function sharedThrough({ connection, prefix }: NonNullable<WebPorts['fleet']>, clock: Clock) {
  const key = `${prefix}:web:ended-sessions`;
  const redis = connection.client;
  return {
    async read(nowS: number): Promise<[id: string, untilS: number][]> {
      const asked = redis.zrange(key, nowS, '+inf', 'BYSCORE', 'LIMIT', 0, MAX_ENDED + 1, 'WITHSCORES');
      const found = await askRedis(asked, 'sessions of before count on', redis, clock);
      return Array.from({ length: found.length / 2 }, (_, i) => [found[2 * i]!, Number(found[2 * i + 1])]);
    },
    async add(id: string, untilS: number): Promise<void> {
      const asked = redis
        .multi()
        .zremrangebyscore(key, 0, Math.floor(clock.nowMs() / 1_000))
        .zadd(key, 'GT', untilS, id)
        .expire(key, SESSION_SECONDS + 60)
        .exec();
      await askRedis(asked, 'it is done in this process, and by the others once it is back', redis, clock);
    },
  };
}
