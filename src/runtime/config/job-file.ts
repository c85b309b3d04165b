/** What a job file may hold: field by field, and by rules between fields. */
import { z } from 'zod';
import { AGGREGATIONS, isDate, MICROS_PER_DAY, MICROS_PER_HOUR, VESSEL_ID } from '../../core/model/index.ts';
import { cronFault } from '../../core/plan/firings.ts';

const DURATION = /^(\d{1,6})(m|h|d)$/;
export const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90m`, `6h` or `14d` in milliseconds; undefined when it is none of these. */
export function parseDurationMs(text: string): number | undefined {
  const match = DURATION.exec(text);
  return match ? Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] : undefined;
}

/** A window literal that divides a day, in microseconds. */
export function windowMicros(literal: string): number | undefined {
  const millis = parseDurationMs(literal);
  if (millis === undefined || millis === 0) return undefined;
  const micros = millis * 1_000;
  return MICROS_PER_DAY % micros === 0 && micros <= 24 * MICROS_PER_HOUR ? micros : undefined;
}

const DEFAULT_LOOKBACK = '14d';
const duration = z.string().regex(DURATION, 'expected a duration such as 90m, 6h or 14d');
const timezone = z.string().refine(isTimeZone, 'expected a time zone such as UTC or Europe/Oslo');
const cron = z
  .string()
  .regex(/^\S+( \S+){4,5}$/, {
    error: 'expected a cron expression of five or six fields, such as "15 6 * * *"',
    abort: true,
  })
  .refine((text) => cronFault(text) === undefined, {
    error: ({ input }) => `${cronFault(String(input))}; expected a cron expression such as "15 6 * * *"`,
  });
const expression = z
  .string()
  .regex(/^[^/\s]+\/.+$/, 'expected <domain>/<expression>, such as "flat/{vessel}/*"')
  .max(4_000);
/** Said alike whether it is a text or stands under `expression`. */
const selected = z.union([expression, z.strictObject({ expression, optional: z.boolean().default(false) })], {
  error: 'expected <domain>/<expression>, such as "flat/{vessel}/*", or { expression: "…", optional: true }',
});
const vessel = z.string().regex(VESSEL_ID, 'expected IMO and seven digits, such as IMO9321483');

const schedule = z.strictObject({ cron, timezone: timezone.default('UTC'), settle: duration.default('0m') });
const lookBack = z.strictObject({
  ...schedule.omit({ settle: true }).shape,
  lookback: duration.default(DEFAULT_LOOKBACK),
});

/** What a job file may hold; its JSON Schema is for editors. */
export const JOB_FILE = z.strictObject({
  dataset: z.enum(['measurements', 'statistics', 'metadata']),
  vessels: z
    .union([z.array(vessel).min(1), z.strictObject({ discover: expression })], {
      error: 'expected a list such as [IMO9321483], or { discover: "flat/*/*" }',
    })
    .describe('a list, or the metadata query that finds them'),
  select: z
    .array(selected)
    .min(1)
    .describe('<domain>/<expression>; {vessel} stands for the vessel; an optional one may match no series'),
  since: z
    .string()
    .refine(isDate, 'expected a UTC date YYYY-MM-DD, such as 2024-01-01')
    .optional()
    .describe('the first date that a fleet exports by itself; without it the first one that was published'),
  schedule: schedule.optional().describe('when due days are queued; a day is due `settle` after it ends'),
  reconcile: lookBack
    .optional()
    .describe('when the last days are compared with the source, and how many: whole days'),
  transport: z.enum(['ndjson', 'json', 'parquet']).optional(),
  verify: z.enum(['exact', 'at-least', 'off']).default('exact').describe("what the source's counts must be"),
  window: z.string().optional().describe('statistics only: minutes, hours or 1d that divide a day'),
  aggregations: z
    .array(z.enum(AGGREGATIONS))
    .min(1)
    .optional()
    .describe('statistics only; count is always added'),
});

/** The keys that a mapping in a job file may have, by the key that it stands under. */
export const JOB_FILE_KEYS = {
  schedule: Object.keys(schedule.shape),
  reconcile: Object.keys(lookBack.shape),
};

function isTimeZone(text: string): boolean {
  // The usual one, for the first use of a locale takes 40 ms.
  if (text === 'UTC') return true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

export type JobFile = z.infer<typeof JOB_FILE>;

/** What breaks them, as far as fields can be understood: all faults of a file are named at once. `path` is for messages. */
export function ruleFaults(path: string, content: unknown): string[] {
  if (typeof content !== 'object' || content === null) return [];
  type Unknown = Readonly<Record<string, unknown>>;
  const { dataset, window, aggregations, transport, schedule, reconcile, since } = content as Unknown;
  const faults: string[] = [];
  const statistics = dataset === 'statistics';
  const known = dataset === 'measurements' || dataset === 'metadata' || statistics;
  if (statistics && window === undefined) faults.push(`${path}: window: not set, expected one such as 10m`);
  if (known && !statistics && window !== undefined)
    faults.push(`${path}: window: only for dataset statistics`);
  if (known && !statistics && aggregations !== undefined)
    faults.push(`${path}: aggregations: only for dataset statistics`);
  if (known && transport === 'parquet' && dataset !== 'measurements')
    faults.push(`${path}: transport: the service sends Parquet for measurements only; use ndjson or json`);
  const expected = 'expected minutes, hours or 1d that divide a day, such as 10m, 1h or 6h';
  if (typeof window === 'string' && windowMicros(window) === undefined)
    faults.push(`${path}: window: got '${window}', ${expected}`);
  const lookback = (reconcile as { lookback?: unknown } | null | undefined)?.lookback;
  if (typeof lookback === 'string' && (parseDurationMs(lookback) ?? 0) % UNIT_MS.d !== 0)
    faults.push(`${path}: reconcile.lookback: got '${lookback}', expected whole days, such as 14d`);
  const noHistory = 'the service keeps no history of metadata, so there is nothing to catch up on';
  if (dataset === 'metadata')
    return since === undefined ? faults : [...faults, `${path}: since: ${noHistory}`];
  const settle = (schedule as { settle?: unknown } | null | undefined)?.settle;
  const [settleMs, lookbackMs] = [settle, reconcile && (lookback ?? DEFAULT_LOOKBACK)].map((text) =>
    typeof text === 'string' ? parseDurationMs(text) : undefined,
  );
  if (settleMs !== undefined && lookbackMs !== undefined && settleMs >= lookbackMs) {
    const expected = `expected less than reconcile.lookback (${lookback ?? DEFAULT_LOOKBACK}): no day of a look-back would be due`;
    faults.push(`${path}: schedule.settle: got '${settle}', ${expected}`);
  }
  return faults;
}
