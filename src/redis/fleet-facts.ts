/**
 * What the processes of a fleet report of themselves: which there are, what runs, their requests to the service, and what the
 * scheduler that plans has found. It is only shown to people: no process depends on it, everything is bounded and may be lost
 * with Redis. Times are durations by Redis' clock, so the clocks of the machines play no part.
 */

import { CONCURRENCY_LIMIT_RULES, RATE_LIMIT_RULES } from '../core/model/limit-rules.ts';
import { uniqueId } from '../core/unique-id.ts';
import type { RedisConnection } from './connection.ts';
import type { Fact, FactKind, LookAnswer, ProcessFacts } from './fleet-shapes.ts';
import { readFact, readLook, readProcessFacts } from './fleet-shapes.ts';
import { fleetLookScript, fleetReportScript } from './lua/fleet-facts.ts';
import { REDIS_NOW } from './lua/members.ts';
import { SHARED_TIMES } from './shared-limit.ts';

/** Requests to the service: all, responses 429, retries, and those with 5xx or without a response. */
const REQUEST_COUNTS = ['requests', 'limited', 'retries', 'errors'] as const;
export type RequestCounts = Readonly<Record<(typeof REQUEST_COUNTS)[number], number>>;

/** Requests are counted per ten minutes, and the counts of a day are kept. */
export const REQUEST_SLICE_MS = 600_000;
export const REQUEST_SLICES = 144;
/** A process that has not reported for so long is not shown. */
export const ALIVE_MS = 45_000;

/** Serials are kept for longer, for processes that come back. */
const KEEP_MS = 3_600_000;
/** Findings of a weekly look-back must be kept until the next one, even if the scheduler is stopped. */
const KEEP_FACTS_MS = 30 * 86_400_000;
const MAX_PROCESSES = 200;
const MAX_REPORT_BYTES = 64 << 10;
const MAX_FACTS = 5_000;

/** A fact of the fleet: of a job, or of a backfill. */
export interface FactName {
  readonly kind: FactKind;
  readonly of: string;
}

/** What a process sends; it needs to contain only changes. */
export interface FleetReport {
  readonly process: ProcessFacts;
  readonly counts?: RequestCounts;
  /** Null: the fact is removed. */
  readonly facts: readonly (FactName & { readonly value: object | null })[];
  /** The last report: the process is not shown any more. */
  readonly isLeaving?: boolean;
}

export type FleetReporter = ReturnType<typeof createFleetReporter>;

interface FactsOptions {
  readonly connection: Pick<RedisConnection, 'run'>;
  readonly prefix: string;
  /** Lua that sets `now` in milliseconds, Redis' own clock unless a test owns the time. */
  readonly redisNow?: string;
}

export function createFleetReporter({ connection, prefix, redisNow = REDIS_NOW }: FactsOptions) {
  const script = fleetReportScript(redisNow);
  const keys = factKeys(prefix);
  const always = {
    ...{ process: uniqueId(), keepMs: KEEP_MS, keepFactsMs: KEEP_FACTS_MS },
    ...{ mostProcesses: 1_000, mostFacts: MAX_FACTS, sliceMs: REQUEST_SLICE_MS, slices: REQUEST_SLICES },
  };
  let serial = 1;
  return {
    /** Throws what Redis throws. A report that failed must be sent again with the same counts, before others. */
    async send({ process, counts, facts, isLeaving = false }: FleetReport): Promise<void> {
      const ask = {
        ...always,
        serial,
        report: JSON.stringify(process),
        ...(counts && { counts }),
        facts: facts.map((fact) => [fieldOf(fact), fact.value !== null && JSON.stringify(fact.value)]),
        leaving: isLeaving,
      };
      await connection.run(script, keys, [JSON.stringify(ask)]);
      serial++;
    },
  };
}

/** The names under which the processes share the concurrency limit and the rate limit: digests. */
type LimitNames = { readonly credential: string; readonly group: string };

export interface FleetSeen {
  readonly processes: readonly (ProcessFacts & { readonly agoMs: number })[];
  /** By start of the ten minutes by Redis' clock, the oldest first; those without a request are left out. */
  readonly requests: readonly (RequestCounts & { readonly fromMs: number })[];
  /** By Redis' clock. */
  readonly nowMs: number;
  readonly limits: ReturnType<typeof limitsOf>;
  fact<K extends FactKind>(
    kind: K,
    of: string,
  ): { readonly fact: Fact<K>; readonly agoMs: number } | undefined;
}

/** Read everything in one round trip. `names`: the facts to read. Throws what Redis throws. */
export async function lookAtFleet(
  options: FactsOptions & { readonly limits: LimitNames },
  names: readonly FactName[],
): Promise<FleetSeen> {
  const { connection, prefix, redisNow = REDIS_NOW, limits } = options;
  const want = {
    ...{ aliveMs: ALIVE_MS, memberMs: SHARED_TIMES.ttlMs, sliceMs: REQUEST_SLICE_MS, slices: REQUEST_SLICES },
    ...{ mostProcesses: MAX_PROCESSES, mostBytes: MAX_REPORT_BYTES, names: REQUEST_COUNTS },
    ...{ recoverMs: CONCURRENCY_LIMIT_RULES.recoverMs, rateRules: RATE_LIMIT_RULES },
    facts: names.slice(0, MAX_FACTS).map(fieldOf),
  };
  const keys = [...factKeys(prefix), ...limitKeys(prefix, limits)];
  const text = await connection.run(fleetLookScript(redisNow), keys, [JSON.stringify(want)]);
  const { nowMs, processes, requests, facts, cap, pace } = readLook(String(text));
  return {
    nowMs,
    processes: Object.values(processes).flatMap(({ agoMs, text }) => {
      const read = readProcessFacts(text);
      return read === undefined ? [] : [{ ...read, agoMs }];
    }),
    requests: Object.values(requests).map(({ fromMs, ...counts }) => {
      const named = REQUEST_COUNTS.map((name) => [name, countOf(counts[name])]);
      return { fromMs, ...(Object.fromEntries(named) as RequestCounts) };
    }),
    limits: limitsOf(cap, pace),
    fact(kind, of) {
      const found = facts[fieldOf({ kind, of })];
      const fact = found && readFact(kind, found.text);
      return fact && { fact, agoMs: found.agoMs };
    },
  };
}

/** The limits as of the time of their state. */
function limitsOf(cap: LookAnswer['cap'], pace: LookAnswer['pace']) {
  const { maxHoldMs } = CONCURRENCY_LIMIT_RULES;
  return {
    /** Maximum of requests in flight now; undefined: the setting. */
    concurrency: finite(cap.current),
    /** The smallest setting of the active processes; undefined: there are none. */
    concurrencySetting: finite(cap.setting && Math.floor(cap.setting)),
    inFlight: cap.inFlight,
    /** How long no process may send requests; 0: all may. */
    holdMs: Math.round(Math.min(maxHoldMs, Math.max(0, (cap.heldUntil ?? 0) - cap.timeMs))),
    /** Requests a minute; undefined: the setting, or no limit. */
    pace: finite(pace.rate),
    paceSetting: finite(pace.setting),
  };
}

const finite = (limit = 0) => (limit > 0 && limit < Infinity ? limit : undefined);

function countOf(text: unknown): number {
  const count = Number(text);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}

function fieldOf({ kind, of }: FactName): string {
  return `${kind}/${of}`;
}

function factKeys(prefix: string): string[] {
  return ['seen', 'reports', 'requests', 'facts'].map((end) => `${prefix}:fleet:${end}`);
}

/** The keys of the limits. */
function limitKeys(prefix: string, { credential, group }: LimitNames): string[] {
  const [cap, pace] = [`${prefix}:cap:{${credential}}`, `${prefix}:pace:{${group}}`];
  return [
    ...['state', 'seen', 'limits', 'leases'].map((end) => `${cap}:${end}`),
    ...['state', 'seen', 'limits'].map((end) => `${pace}:${end}`),
  ];
}
