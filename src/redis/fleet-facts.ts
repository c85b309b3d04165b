/**
 * What the processes of a fleet know of each other: who is there, what runs, what was asked of the service, and what the
 * scheduler that plans has learned. It is for people who look. Nothing that is done depends on it: everything is bounded,
 * runs out, and may be lost with Redis.
 *
 * A process sends one report at a time, with a script of one round trip; it is forgotten when none came for a while.
 * Times are those of Redis' clock, told as "so long ago": the clocks of the machines play no part.
 */
import { randomUUID } from 'node:crypto';
import { CONCURRENCY_LIMIT_RULES, RATE_LIMIT_RULES } from '../core/model/limit-rules.ts';
import type { RedisConnection } from './connection.ts';
import type { Fact, FactKind, ProcessFacts } from './fleet-shapes.ts';
import { readCount, readFact, readPositive, readProcessFacts } from './fleet-shapes.ts';
import { fleetLookScript, fleetReportScript } from './lua/fleet-facts.ts';
import { REDIS_NOW } from './lua/members.ts';
import { SHARED_TIMES } from './shared-limit.ts';

/** What was asked of the service: all requests, answers 429, repeated ones, and those without an answer or with 5xx. */
const REQUEST_COUNTS = ['requests', 'limited', 'retries', 'errors'] as const;
export type RequestCounts = Readonly<Record<(typeof REQUEST_COUNTS)[number], number>>;

/** Requests are counted in steps of ten minutes, and a day of them is kept. */
export const REQUEST_SLICE_MS = 600_000;
export const REQUEST_SLICES = 144;
/** A process of which nothing was heard for so long is not shown. */
export const ALIVE_MS = 45_000;

/** The serials of those that may come back are kept for longer. */
const KEEP_MS = 3_600_000;
/** Findings of a look-back outlast a scheduler that is away for its weekly one. */
const KEEP_FACTS_MS = 30 * 86_400_000;
const MAX_PROCESSES = 200;
const MAX_REPORT_BYTES = 64 << 10;
const MAX_FACTS = 5_000;

/** A fact of the fleet: of a job, or of a backfill. */
export interface FactName {
  readonly kind: FactKind;
  readonly of: string;
}

/** What a process sends; only what has changed needs to stand in it. */
export interface FleetReport {
  readonly process: ProcessFacts;
  readonly counts?: RequestCounts;
  readonly facts: readonly (FactName & { readonly value: object })[];
  readonly dropped: readonly FactName[];
  /** The last one: the process is not shown any more. */
  readonly isLeaving?: boolean;
}

export interface FleetReporter {
  /** Throws what Redis throws. A report that failed is to be sent again with the same counts, before others. */
  send(report: FleetReport): Promise<void>;
}

interface FactsOptions {
  readonly connection: Pick<RedisConnection, 'run'>;
  /** Of all keys. */
  readonly prefix: string;
  /** Lua that sets `now` in milliseconds, Redis' own clock unless a test owns the time. */
  readonly redisNow?: string;
}

/** The side of a process that reports. */
export function createFleetReporter({
  connection,
  prefix,
  redisNow = REDIS_NOW,
}: FactsOptions): FleetReporter {
  const script = fleetReportScript(redisNow);
  const keys = factKeys(prefix);
  const process = randomUUID();
  const always = {
    process,
    keepMs: KEEP_MS,
    keepFactsMs: KEEP_FACTS_MS,
    mostProcesses: 1_000,
    mostFacts: MAX_FACTS,
    sliceMs: REQUEST_SLICE_MS,
    slices: REQUEST_SLICES,
  };
  let serial = 1;
  return {
    async send({ process: facts, counts, facts: told, dropped, isLeaving = false }) {
      const ask = {
        ...always,
        serial,
        report: JSON.stringify(facts),
        ...(counts && { counts }),
        set: told.map((fact) => [fieldOf(fact), JSON.stringify(fact.value)]),
        drop: dropped.map(fieldOf),
        leaving: isLeaving,
      };
      await connection.run(script, keys, [JSON.stringify(ask)]);
      serial++;
    },
  };
}

/** The names under which the processes share their limits: digests. */
interface LimitNames {
  /** Of the concurrency limit. */
  readonly credential: string;
  /** Of the rate limit. */
  readonly group: string;
}

interface LimitsNow {
  /** Most requests in flight now; undefined: as it is set. */
  readonly concurrency: number | undefined;
  /** The smallest setting of the processes that ask now; undefined: none does. */
  readonly concurrencySetting: number | undefined;
  readonly inFlight: number;
  /** Nobody may ask for so long; 0: everybody may. */
  readonly holdMs: number;
  /** Requests a minute; undefined: as it is set, or none. */
  readonly pace: number | undefined;
  readonly paceSetting: number | undefined;
}

export interface FleetSeen {
  readonly processes: readonly (ProcessFacts & { readonly agoMs: number })[];
  /** By the start of each step by Redis' clock, the oldest first; steps without a request are left out. */
  readonly requests: readonly (RequestCounts & { readonly fromMs: number })[];
  /** By Redis' clock. */
  readonly nowMs: number;
  readonly limits: LimitsNow;
  fact<K extends FactKind>(kind: K, of: string): (Fact<K> & { readonly agoMs: number }) | undefined;
}

/** One look, in one round trip. `names`: the facts that are wanted. Throws what Redis throws. */
export async function lookAtFleet(
  options: FactsOptions & { readonly limits: LimitNames },
  names: readonly FactName[],
): Promise<FleetSeen> {
  const { connection, prefix, redisNow = REDIS_NOW, limits } = options;
  const wanted = names.slice(0, MAX_FACTS);
  const want = {
    aliveMs: ALIVE_MS,
    mostProcesses: MAX_PROCESSES,
    mostBytes: MAX_REPORT_BYTES,
    names: REQUEST_COUNTS,
    sliceMs: REQUEST_SLICE_MS,
    slices: REQUEST_SLICES,
    facts: wanted.map(fieldOf),
    memberMs: SHARED_TIMES.ttlMs,
    capRecoverMs: CONCURRENCY_LIMIT_RULES.recoverMs,
    maxHoldMs: CONCURRENCY_LIMIT_RULES.maxHoldMs,
    rate: RATE_LIMIT_RULES,
  };
  const keys = [...factKeys(prefix), ...limitKeys(prefix, limits)];
  const answer = await connection.run(fleetLookScript(redisNow), keys, [JSON.stringify(want)]);
  const [now, processes, requests, told, cap, pace] = answer as [string, ...(readonly unknown[])[]];
  const texts = new Map(
    wanted.map((name, index) => [fieldOf(name), (told as readonly (readonly string[] | null)[])[index]]),
  );
  return {
    nowMs: readCount(now) ?? 0,
    processes: (processes as readonly [string, string][]).flatMap(([ago, text]) => {
      const facts = readProcessFacts(text);
      return facts === undefined ? [] : [{ ...facts, agoMs: readCount(ago) ?? 0 }];
    }),
    requests: (requests as readonly unknown[][]).map(([slice, ...counts]) => {
      const named = REQUEST_COUNTS.map((name, index) => [name, readCount(counts[index]) ?? 0]);
      return { fromMs: Number(slice) * REQUEST_SLICE_MS, ...(Object.fromEntries(named) as RequestCounts) };
    }),
    limits: limitsOf(cap!, pace!),
    fact(kind, of) {
      const found = texts.get(fieldOf({ kind, of }));
      const fact = found ? readFact(kind, found[1]!) : undefined;
      return fact && { ...fact, agoMs: readCount(found![0]) ?? 0 };
    },
  };
}

/** As the script answers: see there. */
function limitsOf(cap: readonly unknown[], pace: readonly unknown[]): LimitsNow {
  const [concurrency, concurrencySetting, inFlight, holdMs] = cap;
  return {
    concurrency: readPositive(concurrency),
    concurrencySetting: readPositive(concurrencySetting),
    inFlight: readCount(inFlight) ?? 0,
    holdMs: readCount(holdMs) ?? 0,
    pace: readPositive(pace[0]),
    paceSetting: readPositive(pace[1]),
  };
}

function fieldOf({ kind, of }: FactName): string {
  return `${kind}/${of}`;
}

function factKeys(prefix: string): string[] {
  return ['seen', 'reports', 'requests', 'facts'].map((end) => `${prefix}:fleet:${end}`);
}

/** As the limits call them. */
function limitKeys(prefix: string, { credential, group }: LimitNames): string[] {
  const [cap, pace] = [`${prefix}:cap:{${credential}}`, `${prefix}:pace:{${group}}`];
  return [
    ...['state', 'seen', 'limits', 'leases'].map((end) => `${cap}:${end}`),
    ...['state', 'seen', 'limits'].map((end) => `${pace}:${end}`),
  ];
}
