/**
 * The shapes of what the processes of a fleet report through Redis, and the only way to read it. Anyone who can write to
 * Redis can put anything there: what does not fit these shapes is ignored.
 */
import { z } from 'zod';
import { cleanForeignText, isDate, JOB_NAME, shortName, VESSEL_ID } from '../core/model/index.ts';

/** The current step of a vessel-day under way, as its export reported it last. */
const DAY_STEPS = [
  ...['claiming', 'counting', 'fetching', 'proving', 'sealing', 'publishing'],
  'committing',
] as const;
export type DayStep = (typeof DAY_STEPS)[number];

const MAX_RUNNING = 200;
const word = z.string().regex(/^[a-z0-9-]{1,40}$/);
const count = z.int().min(0);
const job = z.string().regex(JOB_NAME);
const date = z.string().refine(isDate);
const rate = z.number().min(0).max(1e12);

const RUNNING = z.object({
  job,
  vessel: z.string().regex(VESSEL_ID),
  date,
  kind: word,
  forMs: rate,
  rows: count.nullable(),
  /** Rows that the source counted. */
  rowsKnown: count.nullable(),
  rowsPerSecond: rate.nullable(),
  step: z.enum(DAY_STEPS).nullable(),
});

const PROCESS = z.object({
  role: z.enum(['worker', 'scheduler', 'run', 'backfill']),
  host: z.string().transform(shortName),
  pid: count,
  version: z.string().transform((text) => cleanForeignText(text, [], 30)),
  upMs: rate,
  /** Vessel-days under way, and the maximum at once; null for a process that exports none. */
  active: count.nullable(),
  atOnce: count.nullable(),
  /** Whether this scheduler plans; null for other processes, and if it cannot know. */
  leads: z.boolean().nullable(),
  running: z.array(RUNNING).max(MAX_RUNNING),
});

const PLANNED = z.object({
  lookedMs: count.nullable(),
  missing: count.nullable(),
  oldestMissing: date.nullable(),
  /** In the failed set: those that failed, and those that were refused. */
  failed: count.nullable(),
  refused: count.nullable(),
});

const LOOK_BACK = z.object({
  endedMs: count,
  from: date,
  to: date,
  found: z.record(word, count).refine((found) => Object.keys(found).length <= 30),
});

const BACKFILL = z.object({
  due: count,
  done: count,
  failed: count,
  queued: count,
  vesselDaysPerHour: rate.nullable(),
  secondsLeft: rate.nullable(),
});

/** Texts of facts by their subject: a job, or the id of a backfill. */
const FACTS = { planned: PLANNED, 'look-back': LOOK_BACK, backfill: BACKFILL } as const;

export type RunningFacts = z.infer<typeof RUNNING>;
export type ProcessFacts = z.infer<typeof PROCESS>;
export type FactKind = keyof typeof FACTS;
export type Fact<K extends FactKind> = z.infer<(typeof FACTS)[K]>;

export const REPORTED_AT_MOST: number = MAX_RUNNING;

/** Undefined for an invalid report. */
export function readProcessFacts(text: string): ProcessFacts | undefined {
  return parsed(PROCESS, text);
}

export function readFact<K extends FactKind>(kind: K, text: string): Fact<K> | undefined {
  return parsed(FACTS[kind] as unknown as z.ZodType<Fact<K>>, text);
}

function parsed<T>(shape: z.ZodType<T>, text: string): T | undefined {
  try {
    return shape.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The state of a limit, as of its own time. */
interface LimitSeen {
  readonly timeMs: number;
  readonly setting?: number;
}

/** The reply of our own script. Its texts and counts may come from anyone, and are validated one by one. */
export interface LookAnswer {
  readonly nowMs: number;
  /** Lua encodes empty lists as objects. */
  readonly processes: Readonly<Record<string, { readonly agoMs: number; readonly text: string }>>;
  readonly requests: Readonly<
    Record<string, { readonly fromMs: number } & Readonly<Record<string, unknown>>>
  >;
  readonly facts: Readonly<Record<string, { readonly agoMs: number; readonly text: string }>>;
  readonly cap: LimitSeen & {
    readonly current?: number;
    readonly heldUntil?: number;
    readonly inFlight: number;
  };
  readonly pace: LimitSeen & { readonly rate?: number };
}

export const readLook = (text: string): LookAnswer => JSON.parse(text);
