import type { Clock, Log } from '../../core/model/ports.ts';
import type { Answer, Send } from './exchange.ts';

/** A larger difference between the clocks gives a warning. */
export const CLOCK_TOLERANCE_MS = 300_000;
/** An older response is ignored: the machine may have been asleep since. */
const MAX_AGE_MS = 3_600_000;
/** The API began on this date; a clock with an earlier one was never set. */
const EARLIEST_MS = Date.UTC(2025, 9, 31);
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The service's clock by its responses, as a second opinion beside this machine's clock. */
export function createServerClock(clock: Clock, log: Log) {
  let noted: { readonly serverMs: number; readonly atMs: number } | undefined;
  let hasWarned = false;

  function warnOfDistance(serverMs: number): void {
    const ours = clock.nowMs();
    if (hasWarned || Math.abs(ours - serverMs) <= CLOCK_TOLERANCE_MS) return;
    hasWarned = true;
    const iso = (ms: number) => new Date(ms).toISOString();
    log.warn(
      { here: iso(ours), service: iso(serverMs) },
      "the clocks of this machine and of the query service are minutes apart or more: correct this machine's clock, or inform the operator of the service; a day is due when it is over by both clocks",
    );
  }

  return {
    /** Milliseconds since the epoch by the service; undefined if no recent response has the time. */
    nowMs(): number | undefined {
      const ageMs = noted === undefined ? Infinity : clock.monotonicMs() - noted.atMs;
      return ageMs > MAX_AGE_MS ? undefined : noted!.serverMs + ageMs;
    },
    note(answer: Answer): void {
      const serverMs = dateOf(answer);
      if (serverMs === undefined) return;
      noted = { serverMs, atMs: clock.monotonicMs() };
      warnOfDistance(serverMs);
    },
  };
}

/** When a response was made, or has left a cache; undefined if it has no valid time. */
function dateOf({ headers }: Answer): number | undefined {
  const { date = '', age = '' } = headers;
  const serverMs = HTTP_DATE.test(date) ? Date.parse(date) : Number.NaN;
  if (!(serverMs >= EARLIEST_MS)) return undefined;
  return serverMs + (/^\d{1,9}$/.test(age) ? Number(age) * 1_000 : 0);
}

export function withServerClock(serverClock: ReturnType<typeof createServerClock>, next: Send): Send {
  return (attempt) =>
    next({
      ...attempt,
      consume: (answer) => {
        serverClock.note(answer);
        return attempt.consume(answer);
      },
    });
}
