/**
 * The rate limit that all processes of a group share: Redis grants the turns.
 *
 * - Waiting processes form a line in Redis; each learns when its turn comes, and asks again then, so that a rate limit lowered
 *   meanwhile counts for it too.
 * - Without a rate limit turns are free, and only reported every few seconds, so that a new limit can start from the actual
 *   rate. As soon as one process slows down, all are notified. The smallest rate limit of the active processes counts.
 * - If Redis' clock was set back, time continues from the latest moment that it has shown. If it was set forward, or Redis
 *   flushed, one turn may come early, and a lowered rate limit recovers by so much time, or is forgotten. If Redis is
 *   unreachable, a process that needs a turn waits.
 */

import { grownRate, RATE_LIMIT_RULES } from '../core/model/limit-rules.ts';
import type { RateLimit } from '../core/model/ports.ts';
import { rateLimitScript } from './lua/rate-limit.ts';
import { SharedLimit, type SharedLimitOptions } from './shared-limit.ts';

interface SharedRateLimitOptions extends SharedLimitOptions {
  readonly group: string;
  /** Requests per minute; undefined for no limit of our own. */
  readonly perMinute?: number | undefined;
}

/** Free turns are reported when the last report is older. */
const REPORT_MS = 5_000;

interface Report {
  readonly want: number;
  readonly taken: number;
  readonly slow: boolean;
  /** A turn that was granted but not used any more; 0: none. */
  readonly unused: number;
}

interface Reply {
  readonly granted: boolean;
  readonly turn?: number;
  readonly waitMs: number;
  /** Turns per minute; -1 for no rate limit. */
  readonly rate: number;
  /** The rate up to which it recovers, and at which it is forgotten; -1 for never. */
  readonly limit: number;
  readonly forgetAt: number;
  readonly changedAgoMs: number;
}

const orInfinity = (value: number): number => (value < 0 ? Infinity : value);

export class SharedRateLimit extends SharedLimit<Report, Reply, void> implements RateLimit {
  readonly #configured: number;
  readonly #recoverMs: number;
  /** The rate limit as Redis reported it last, and when it was changed. */
  #known:
    | { readonly rate: number; readonly limit: number; readonly forgetAt: number; readonly changedMs: number }
    | undefined;
  #taken = 0;
  #slow = false;
  #unused = 0;
  #reportedMs = -Infinity;

  constructor(options: SharedRateLimitOptions) {
    const { prefix, group, perMinute } = options;
    const { coolDownMs, recoverMs } = { ...RATE_LIMIT_RULES, ...options };
    const channel = `${prefix}:pace:{${group}}`;
    super(options, {
      name: 'the shared rate limit',
      channel,
      ownKey: 'turns',
      script: rateLimitScript,
      limit: perMinute ?? 0,
      rules: { ...RATE_LIMIT_RULES, coolDownMs, recoverMs },
    });
    this.#configured = perMinute ?? Infinity;
    this.#recoverMs = recoverMs;
    this.listen(channel, () => this.reportSoon());
  }

  take(signal?: AbortSignal): Promise<void> {
    const isFree = this.#known !== undefined && this.line.length === 0 && this.#rate === Infinity;
    if (!isFree || signal?.aborted) {
      const turn = this.line.join(signal);
      this.reportSoon();
      return turn;
    }
    this.#taken += 1;
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.#reportedMs >= REPORT_MS) {
      this.#reportedMs = nowMs;
      this.reportSoon();
    }
    return Promise.resolve();
  }

  slowDown(): void {
    this.#slow = true;
    this.reportSoon();
  }

  get perMinute(): number | undefined {
    const rate = this.#rate;
    return rate === Infinity ? undefined : rate;
  }

  /** The rate limit has recovered since Redis reported it. */
  get #rate(): number {
    if (this.#known === undefined) return this.#configured;
    const rules = { ...RATE_LIMIT_RULES, recoverMs: this.#recoverMs };
    return grownRate(this.#known, this.#known.limit, this.clock.monotonicMs(), rules).rate;
  }

  protected report(isLeaving: boolean): Report {
    const want = isLeaving ? 0 : this.line.length;
    const report = { want, taken: this.#taken, slow: this.#slow, unused: this.#unused };
    this.#taken = 0;
    this.#slow = false;
    this.#unused = 0;
    return report;
  }

  /** A turn is not given back twice: Redis may have received it. */
  protected takeBack({ taken, slow }: Report): void {
    this.#taken += taken;
    this.#slow ||= slow;
  }

  protected learn(reply: Reply): number | undefined {
    const nowMs = this.clock.monotonicMs();
    this.#reportedMs = nowMs;
    const rate = orInfinity(reply.rate);
    this.#known = {
      rate,
      limit: orInfinity(reply.limit),
      forgetAt: orInfinity(reply.forgetAt),
      changedMs: nowMs - reply.changedAgoMs,
    };
    if (rate === Infinity) while (this.line.letOneGo()) this.#taken += 1;
    // The caller may have left the line meanwhile.
    if (reply.granted && !this.line.letOneGo()) this.#unused = reply.turn!;
    if (this.#unused !== 0) return 0;
    return this.line.length === 0 ? undefined : Math.min(reply.waitMs, this.pollAgainMs());
  }
}
