/**
 * What commands print for machines: one vocabulary over all of them, and one source of the JSON Schemas in `schemas/`.
 * A result is a summary and some lists; output.ts prints it, and needs of it no more than result-lists.ts.
 */
import { z } from 'zod';
import { AGGREGATIONS } from '../../core/model/index.ts';
import { VALUE_TYPES } from '../../query/catalogue/entries.ts';
import { CHECK_STATES, CHECK_SUBJECTS } from '../check/result.ts';
import {
  code,
  day,
  instant,
  job,
  jobRange,
  message,
  readings,
  shape,
  sizeBytes,
  text,
  vessel,
  vesselDays,
  vessels,
  whole,
} from './result-terms.ts';
import { DAY_RESULTS } from './results-days.ts';

const lastTime = instant.nullable();
const jobNames = z.array(job).readonly().describe('that select it');
const waiting = { queued: vesselDays, left: vesselDays.describe('due, and without room in the queue') };
const schedule = { cron: text, timezone: text };
const jobFile = {
  path: text.optional(),
  dataset: text,
  vessels: z.union([vessels, shape({ discover: text })]),
  select: z.array(text).readonly(),
  optional: z.array(text).readonly().optional().describe('of `select`: those that may match no series'),
  since: text.optional(),
  schedule: shape({ ...schedule, settleMs: whole }).optional(),
  reconcile: shape({ ...schedule, lookbackDays: whole }).optional(),
  transport: text,
  verify: text,
  window: text.optional(),
  windowMicros: whole.optional(),
  aggregations: z.array(z.enum(AGGREGATIONS)).readonly().optional(),
};

/** Every result: its summary, and its lists by name. */
export const RESULTS = {
  ...DAY_RESULTS,
  convert: {
    summary: { converted: z.boolean().describe('false: it was a delta lake already') },
    lists: {
      jobs: shape({ job, vesselDays, sizeBytes }),
      days: shape({ ...day, message }).describe('published, and not in the table of their job'),
    },
  },
  'rebuild-log': {
    summary: {
      job,
      vesselDays: vesselDays.describe('how many are in the table, or are to be'),
      version: whole.describe(
        'of the table; unless `isWritten` that which it would come to, where there are faults',
      ),
      isWritten: z.boolean(),
    },
    lists: {
      days: shape({ ...day, message }).describe(
        'published, or with files in their folders, and not in the table; or whose receipt cannot be read',
      ),
      faults: text.describe('what is wrong with the log'),
    },
  },
  gc: {
    summary: {},
    lists: {
      items: shape({
        kind: z.enum(['claim', 'upload', 'file', 'note', 'probe', 'temp-file']),
        key: text,
        state: z.enum(['removed', 'would-be-removed', 'kept', 'in-use']),
        message,
      }),
    },
  },
  'backfill-list': {
    summary: {},
    lists: {
      backfills: shape({
        ...jobRange,
        id: text,
        vessels: vessels.describe("empty: the job's own"),
        allowShrink: z.boolean(),
        createdAt: instant,
        state: z.enum(['running', 'paused', 'job-gone']),
        vesselsFrom: z.enum(['command', 'job', 'lake']).describe('whose days are counted'),
        progress: shape({ due: vesselDays, published: vesselDays, failed: vesselDays, ...waiting })
          .nullable()
          .describe('null: nothing is known, for want of the job or of any vessel'),
      }),
    },
  },
  'schedule-once': {
    summary: {},
    lists: { jobs: shape({ job, enqueued: vesselDays, ...waiting }) },
  },
  vessels: {
    summary: {},
    lists: {
      vessels: shape({
        vessel,
        name: text.nullable(),
        series: whole.describe('that the queries for vessels list'),
        lastTime: lastTime.describe('of its last reading; null: none in the days that were looked at'),
        readings: readings.nullable().describe('in the days that were looked at; null: none were'),
        jobs: jobNames,
      }),
    },
  },
  series: {
    summary: { listed: whole.describe('before --search') },
    lists: {
      series: shape({
        select: text.describe('how a job selects it'),
        vessel: vessel.nullable(),
        vesselName: text.nullable(),
        timeSeriesId: text,
        names: z.record(text, text).describe('domain: name in it'),
        name: text.nullable(),
        description: text.nullable(),
        source: text.nullable(),
        unit: text.nullable(),
        rangeLow: z.number().nullable(),
        rangeHigh: z.number().nullable(),
        type: z.enum(VALUE_TYPES).nullable().describe('of its last reading'),
        lastTime,
        lastValue: text.nullable().describe('JSON of the last reading'),
        readings: readings.nullable().describe('in the days that were looked at; null: none were'),
        jobs: jobNames,
      }),
    },
  },
  check: {
    summary: { totals: z.record(z.enum(CHECK_STATES), whole) },
    lists: {
      checks: shape({
        subject: z.enum(CHECK_SUBJECTS),
        check: text.describe('what was checked: a stable word, or the name of a job'),
        state: z.enum(CHECK_STATES),
        code: code.optional().describe('of what has failed, or is worth a warning: a stable word'),
        message,
      }),
    },
  },
  config: {
    summary: {},
    lists: {
      settings: shape({
        name: text,
        value: text.nullable(),
        valid: z.boolean(),
        origin: text,
        meaning: text,
      }),
      jobs: shape({ job, ...jobFile }),
      faults: text,
      warnings: text,
    },
  },
} as const satisfies Record<string, { summary: z.ZodRawShape; lists: Record<string, z.ZodType> }>;

/** The lists of a result, by name. */
export type Lists<K extends ResultName> = (typeof RESULTS)[K]['lists'];
export type ResultName = keyof typeof RESULTS;
export type Summary<K extends ResultName> = z.infer<z.ZodObject<(typeof RESULTS)[K]['summary']>>;
/** An item of a list. */
export type Item<K extends ResultName, L extends keyof Lists<K>> = Readonly<z.infer<Lists<K>[L]>>;
