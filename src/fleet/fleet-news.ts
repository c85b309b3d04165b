/** What a process tells the fleet of itself, every few seconds in one command; without Redis nothing is told. */
import { hostname } from 'node:os';
import type { App } from '../app.ts';
import { endsAfter, endsWithin } from '../core/concurrency.ts';
import { messageOf } from '../core/errors.ts';
import { onKinds } from '../core/event-stream.ts';
import type { Clock, Log, VesselDay } from '../core/model/index.ts';
import type { RedisConnection } from '../redis/connection.ts';
import type { FactName, FleetReport, FleetReporter, RequestCounts } from '../redis/fleet-facts.ts';
import { createFleetReporter } from '../redis/fleet-facts.ts';
import { type DayStep, type Fact, type ProcessFacts, REPORTED_AT_MOST } from '../redis/fleet-shapes.ts';
import type { BackfillProgress, FleetEvent } from './events.ts';
import { BACKFILL_RATE, createRate, type Rate } from './rate.ts';

interface FleetNewsOptions {
  readonly reporter: FleetReporter;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: Pick<ProcessFacts, 'role' | 'host' | 'pid' | 'version' | 'atOnce'>;
  /** Vessel-days under way, null for a process that exports none; without it those that have begun and not ended. */
  readonly active?: (() => number | null) | undefined;
}

export type FleetNews = Pick<ReturnType<typeof createFleetNews>, 'onEvent'>;

/** While something runs, and the longest time between two reports. */
const TICK_MS = 2_000;
const IDLE_MS = 10_000;
const FAREWELL_MS = 500;
const NOTHING: RequestCounts = { requests: 0, limited: 0, retries: 0, errors: 0 };

const UNKNOWN_PLAN: Fact<'planned'> = {
  ...{ lookedMs: null, missing: null, oldestMissing: null },
  ...{ failed: null, refused: null },
};

const STEP_AFTER: ReadonlyMap<string, DayStep> = new Map([
  ['claimed', 'counting'],
  ['counted', 'fetching'],
  ['fetched', 'proving'],
  ['verified', 'sealing'],
  ['sealed', 'publishing'],
  ['completed', 'committing'],
]);

/** A vessel-day under way: what it does, and its rows of those that the source counted. */
interface RunningDay {
  /** Why it is exported, such as `nightly` or `run`. */
  readonly kind: string;
  readonly startedMs: number;
  readonly rate: Rate;
  step: DayStep;
  rows: number | null;
  rowsKnown: number | null;
}

export function createFleetNews({ reporter, clock, log, self, active }: FleetNewsOptions) {
  const startedMs = clock.monotonicMs();
  const running = new Map<VesselDay, RunningDay>();
  /** What the fleet's scheduler learned, told with every report: Redis may have lost it. */
  const facts = new Map<string, FleetReport['facts'][number]>();
  const rates = new Map<string, Rate>();
  let counts = { ...NOTHING };
  /** Counts of a report without an answer: it may have come. */
  let unanswered: RequestCounts | undefined;
  let leads: boolean | null = null;
  let sentMs = Number.NEGATIVE_INFINITY;
  let hasNews = true;

  function tell(name: FactName, value: object | null): void {
    facts.set(`${name.kind}/${name.of}`, { ...name, value });
    hasNews = true;
  }

  function tellPlanned(job: string, change: Partial<Fact<'planned'>>): void {
    const before = facts.get(`planned/${job}`)?.value;
    tell({ kind: 'planned', of: job }, { ...UNKNOWN_PLAN, ...before, ...change });
  }

  function describe(nowMs: number): ProcessFacts {
    const days = [...running].slice(0, REPORTED_AT_MOST);
    return {
      ...self,
      leads,
      upMs: Math.round(nowMs - startedMs),
      active: active === undefined ? running.size : active(),
      running: days.map(([{ job, vessel, date }, { kind, startedMs, rate, step, rows, rowsKnown }]) => {
        if (rows !== null) rate.add(nowMs, rows);
        // Of a day whose rows have all come the rate says nothing any more.
        const perSecond = step === 'fetching' ? rate.perSecond : undefined;
        return {
          ...{ job, vessel, date, kind, forMs: Math.round(nowMs - startedMs), rows, rowsKnown, step },
          rowsPerSecond: perSecond === undefined ? null : Math.round(perSecond),
        };
      }),
    };
  }

  async function send(isLeaving = false): Promise<void> {
    const nowMs = clock.monotonicMs();
    if (unanswered === undefined && Object.values(counts).some((count) => count > 0)) {
      unanswered = counts;
      counts = { ...NOTHING };
    }
    const told = [...facts];
    const report: FleetReport = {
      process: describe(nowMs),
      ...(unanswered && { counts: unanswered }),
      facts: told.map(([, fact]) => fact),
      isLeaving,
    };
    // What is learned meanwhile is news again.
    hasNews = false;
    await reporter.send(report).catch((error: unknown) => {
      hasNews = true;
      throw error;
    });
    for (const [key, fact] of told) if (fact.value === null && facts.get(key) === fact) facts.delete(key);
    unanswered = undefined;
    sentMs = nowMs;
  }

  function onLead(now: boolean | undefined): void {
    if ((now ?? null) !== leads) hasNews = true;
    leads = now ?? null;
    // What another one learns is that one's to tell.
    if (now !== false) return;
    facts.clear();
    rates.clear();
  }

  function tellBackfill(of: string, { due, done, failed, queued }: BackfillProgress): void {
    const rate = rates.get(of) ?? createRate(BACKFILL_RATE);
    rates.set(of, rate);
    rate.add(clock.monotonicMs(), done);
    const { perSecond = 0 } = rate;
    const vesselDaysPerHour = rate.perSecond === undefined ? null : perSecond * 3_600;
    const secondsLeft = perSecond > 0 ? (due - done - failed) / perSecond : null;
    tell({ kind: 'backfill', of }, { due, done, failed, queued, vesselDaysPerHour, secondsLeft });
  }

  return {
    onEvent: onKinds<FleetEvent>({
      request({ status, retry }) {
        counts.requests++;
        if (status === 429) counts.limited++;
        else if (status === undefined || status >= 400) counts.errors++;
        if (retry > 0) counts.retries++;
      },
      'day-begun'({ day, origin }) {
        running.set(day, {
          ...{ kind: origin, startedMs: clock.monotonicMs(), step: 'claiming', rows: null, rowsKnown: null },
          rate: createRate({ windowMs: 10_000, minMs: 1_000 }),
        });
        hasNews = true;
      },
      'day-step'({ day, step }) {
        const of = running.get(day);
        if (of !== undefined) of.step = STEP_AFTER.get(step) ?? of.step;
      },
      'day-rows'({ day, rows, rowsKnown = null }) {
        const of = running.get(day);
        if (of !== undefined) [of.rows, of.rowsKnown] = [rows, rowsKnown];
      },
      'day-ended'({ day }) {
        running.delete(day);
        hasNews = true;
      },
      lead: ({ leads: now }) => onLead(now),
      missing: ({ job, missing, oldest = null }) =>
        tellPlanned(job, { lookedMs: clock.nowMs(), missing, oldestMissing: oldest }),
      'job-planned': ({ job }) => tellPlanned(job, { lookedMs: clock.nowMs() }),
      failed: ({ job, failed, refused }) => tellPlanned(job, { failed, refused }),
      'looked-back': ({ job: of, from, to, found }) =>
        tell({ kind: 'look-back', of }, { endedMs: clock.nowMs(), from, to, found }),
      backfill: ({ id, progress }) => tellBackfill(id, progress),
      'backfill-ended'({ id }) {
        rates.delete(id);
        if (facts.has(`backfill/${id}`)) tell({ kind: 'backfill', of: id }, null);
        hasNews = true;
      },
    }),
    /** Tell again and again until the signal is aborted, then say farewell. Never rejects. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const agoMs = clock.monotonicMs() - sentMs;
        if (hasNews || running.size > 0 || agoMs >= IDLE_MS) {
          const sending = send().catch((error: unknown) => {
            log.debug({ error: messageOf(error) }, 'cannot tell the fleet now');
          });
          // Who is stopped has no time for a Redis that does not answer.
          if (!(await endsAfter(sending, signal, FAREWELL_MS, clock))) return;
        }
        await clock.sleep(TICK_MS, signal).catch(() => {});
      }
      const farewell = async () => {
        if (unanswered !== undefined) await send();
        await send(true);
      };
      await endsWithin(farewell(), FAREWELL_MS, clock);
    },
  };
}

interface FleetNewsOf {
  readonly app: Pick<App, 'config' | 'ports'>;
  readonly connection: RedisConnection;
  readonly log: Log;
  readonly role: ProcessFacts['role'];
  /** How many vessel-days are under way; by default counted from the events. */
  readonly active?: (() => number) | undefined;
}

/** Roles that export vessel-days. */
const EXPORTING: ReadonlySet<ProcessFacts['role']> = new Set(['worker', 'run']);

/** Tell of this process until `leave`. */
export function tellFleet({ app, connection, log, role, active }: FleetNewsOf) {
  const { config, ports } = app;
  const { REDIS_PREFIX: prefix, WORKER_CONCURRENCY } = config.settings;
  const isExporting = EXPORTING.has(role);
  const news = createFleetNews({
    reporter: createFleetReporter({ connection, prefix }),
    clock: ports.clock,
    log,
    self: {
      ...{ role, host: hostname(), pid: process.pid, version: ports.version },
      atOnce: isExporting ? WORKER_CONCURRENCY : null,
    },
    active: isExporting ? active : () => null,
  });
  const left = new AbortController();
  const telling = news.run(left.signal);
  const leave = async () => {
    left.abort();
    await telling;
  };
  return { onEvent: news.onEvent, leave };
}
