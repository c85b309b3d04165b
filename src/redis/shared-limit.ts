/**
 * What the shared concurrency limit and the shared rate limit have in common. A process is a member of a limit in
 * Redis: it reports to the limit's script, one exchange at a time, what it wants and what has happened, and learns
 * from the reply what it was granted. Messages make it report earlier than it would by itself.
 */

import { createWaitingLine, endsWithin, type WaitingLine } from '../core/concurrency.ts';
import { cleanForeignText, messageOf } from '../core/errors.ts';
import { type Clock, type Log, type Random, silentLog } from '../core/model/ports.ts';
import { uniqueId } from '../core/unique-id.ts';
import type { RedisConnection } from './connection.ts';
import { REDIS_NOW } from './lua/members.ts';

export const SHARED_TIMES = {
  /** A slot, and the membership of a process, expires so long after it was last renewed. */
  ttlMs: 20_000,
  /** A waiting process asks again after at most this time, even without a message. */
  pollMs: 1_000,
  /** A waiting process that has not reported for so long is skipped. */
  patienceMs: 3_000,
};
type SharedTimes = Readonly<typeof SHARED_TIMES>;
/** A limit that was not used for so long is forgotten. */
const KEEP_MS = 86_400_000;
/** A failed exchange is repeated after this time, or when Redis is back. */
const RETRY_MS = 500;
/** How long an ending process tries to give back what it holds; together with closing connections it takes AWAY_STOP_MS. */
const LEAVE_MS = 2_000;

/** By default the times of `SHARED_TIMES` and of the limit's rules; all processes must have the same. */
export interface SharedLimitOptions extends Partial<SharedTimes> {
  readonly connection: RedisConnection;
  readonly prefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  readonly coolDownMs?: number;
  readonly recoverMs?: number;
  /** Lua that sets `now` in milliseconds, Redis' own clock unless a test owns the time. */
  readonly redisNow?: string;
}

interface LimitKind {
  readonly name: string;
  /** Prefix of its keys, and the channel on which members learn of changes. */
  readonly channel: string;
  /** End of the key that only this kind has. */
  readonly ownKey: string;
  readonly script: (now: string) => string;
  /** The limit of this process' settings; 0 for none. */
  readonly limit: number;
  /** Parameters of the script, beside the times of every limit. */
  readonly rules: object;
}

/**
 * One process' side of a limit. `Report` is what it sends in an exchange, `Reply` the reply, `Turn` what a waiting caller
 * gets. Throws nothing; contacts Redis when the first turn is wanted.
 */
export abstract class SharedLimit<Report extends object, Reply, Turn> {
  protected readonly member: string = uniqueId();
  protected readonly clock: Clock;
  protected readonly log: Log;
  protected readonly times: SharedTimes;
  protected readonly line: WaitingLine<Turn> = createWaitingLine(() => {
    if (this.line.length === 0) this.reportSoon();
  });
  readonly #name: string;
  readonly #random: Random;
  readonly #connection: RedisConnection;
  readonly #send: (said: object) => Promise<Reply>;
  readonly #endings: (() => void)[] = [];
  /** An exchange is wanted now, whenever the next one is due. */
  #isWanted = false;
  /** The running exchanges; undefined while none is due. */
  #talk: Promise<void> | undefined;
  #pause: AbortController | undefined;
  #hasAsked = false;
  #hasFailed = false;
  #isClosed = false;

  constructor(options: SharedLimitOptions, { name, channel, ownKey, script, limit, rules }: LimitKind) {
    const { connection, clock, random, log = silentLog, redisNow = REDIS_NOW } = options;
    this.clock = clock;
    this.log = log;
    this.times = { ...SHARED_TIMES, ...options };
    this.#name = name;
    this.#random = random;
    this.#connection = connection;
    const { ttlMs, patienceMs } = this.times;
    const member = { process: this.member, limit, channel };
    const always = { ...member, memberMs: ttlMs, keepMs: KEEP_MS, patienceMs, ...rules };
    const keys = ['state', 'seen', 'limits', 'line', ownKey].map((end) => `${channel}:${end}`);
    const lua = script(redisNow);
    this.#send = async (said) =>
      JSON.parse(String(await connection.run(lua, keys, [JSON.stringify({ ...always, ...said })])));
    this.#endings.push(connection.onReady(() => this.reportSoon()));
  }

  /** The report to send now; events in it are forgotten. A process that is leaving wants nothing. */
  protected abstract report(isLeaving: boolean): Report;
  /** No reply came: the events of the report must be sent again. */
  protected abstract takeBack(report: Report): void;
  /** Act on the reply. Returns the time until the next exchange is due; undefined: when `reportSoon` is called. */
  protected abstract learn(reply: Reply, report: Report, askedMs: number): number | undefined;

  /** Exchange soon. Requests in the same turn of the event loop go into one exchange. */
  protected reportSoon(): void {
    this.#isWanted = true;
    this.#pause?.abort();
    if (!this.#isClosed) this.#talk ??= this.#talkWhileDue();
  }

  protected listen(channel: string, onMessage: (message: string) => void): void {
    this.#endings.push(this.#connection.listen(channel, onMessage));
  }

  /** Time until a waiting process asks again: about `pollMs`, with jitter. */
  protected pollAgainMs(): number {
    return Math.ceil(this.times.pollMs * (0.5 + this.#random() / 2));
  }

  /** Give everything back, within a short time, and leave; callers that still wait get nothing. */
  async close(): Promise<void> {
    for (const end of this.#endings) end();
    this.#isClosed = true;
    this.#pause?.abort();
    // While Redis is unreachable, or hangs, nothing can be given back: it expires.
    await endsWithin(this.#leave(), LEAVE_MS, this.clock);
  }

  async #leave(): Promise<void> {
    await this.#talk;
    if (this.#hasAsked) await this.#send({ ...this.report(true), leaving: true }).catch(() => {});
  }

  async #talkWhileDue(): Promise<void> {
    for (let dueMs: number | undefined = 0; dueMs !== undefined; ) {
      await undefined;
      if (!this.#isWanted) await this.#pauseFor(dueMs);
      if (this.#isClosed) break;
      this.#isWanted = false;
      dueMs = await this.#exchange();
      if (this.#isWanted) dueMs = 0;
    }
    this.#talk = undefined;
  }

  async #pauseFor(delayMs: number): Promise<void> {
    this.#pause = new AbortController();
    // Rejects when an exchange is wanted before.
    await this.clock.sleep(delayMs, this.#pause.signal).catch(() => {});
    this.#pause = undefined;
  }

  async #exchange(): Promise<number | undefined> {
    const report = this.report(false);
    const askedMs = this.clock.monotonicMs();
    this.#hasAsked = true;
    try {
      const dueMs = this.learn(await this.#send({ ...report, leaving: false }), report, askedMs);
      if (this.#hasFailed) this.log.info({}, `${this.#name} goes on`);
      this.#hasFailed = false;
      return dueMs;
    } catch (error) {
      this.takeBack(report);
      const fields = { error: cleanForeignText(messageOf(error)) };
      if (!this.#hasFailed && !this.#isClosed) this.log.warn(fields, `${this.#name} waits for Redis`);
      this.#hasFailed = true;
      return RETRY_MS;
    }
  }
}
