/**
 * What commands print for machines: one vocabulary over all of them, and one source of the JSON Schemas in `schemas/`.
 * A result is a summary and some lists; output.ts prints it.
 */
import { z } from 'zod';
import { VALUE_TYPES } from '../catalogue/entries.ts';
import { CHECK_STATES, CHECK_SUBJECTS } from '../check/result.ts';
import { AGGREGATIONS, JOB_NAME, VESSEL_ID } from '../model/index.ts';
import { COVERAGE_STATES } from '../status/cells.ts';
import type { FindingName } from '../verify/findings.ts';
import { FINDINGS } from '../verify/findings.ts';

/** Goes up when a member is renamed, removed, or means something else; new members may come without it. */
export const SCHEMA_VERSION = 1;

const o = z.strictObject;
const whole = z.int().min(0);
const text = z.string();
const utcDate = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const job = z.string().regex(JOB_NAME).describe('name of a job');
const vessel = z.string().regex(VESSEL_ID);
const date = utcDate.describe('UTC date');
const from = utcDate.describe('first UTC date');
const to = utcDate.describe('UTC date to stop before');
const vessels = z.array(vessel).readonly();
const vesselCount = whole.describe('how many vessels');
const vesselDays = whole.describe('how many vessel-days');
const rows = whole.describe('rows in the lake');
const readings = whole.describe('readings, as the source counts them');
const requests = whole.describe('requests to the query service');
const sizeBytes = whole.describe('bytes of objects');
const durationMs = z.number().min(0).describe('milliseconds');
const code = text.describe('stable word that scripts may match');
const message = text.describe('the same for people');
const instant = z.iso.datetime();
const lastTime = instant.nullable();
const jobNames = z.array(job).readonly().describe('that select it');
const asMetadataHasIt = text.describe('IMO and seven digits, or the text of metadata that should be');
const vesselTrouble = o({
  job,
  vessel: asMetadataHasIt,
  code: z.enum(['unlisted', 'malformed-imo']),
  message,
});
const day = { job, vessel, date };
const jobRange = { job, from, to };
const amounts = { vesselDays, rows, sizeBytes, durationMs };
const why = { code: code.optional(), message: message.optional() };
const notCompared = vesselDays.describe('published, and the source could not be asked');
const waiting = { queued: vesselDays, left: vesselDays.describe('due, and without room in the queue') };
const schedule = { cron: text, timezone: text };

/** `published`: has a receipt of the job's settings (and rows, where `empty` is told apart); `running`: elsewhere. */
const KNOWN_STATES = ['published', 'empty', 'unchanged', 'not-due', 'failed', 'refused', 'running'] as const;
export const RUN_STATES = [...KNOWN_STATES, 'waiting', 'interrupted', 'not-begun'] as const;
const RECONCILE_STATES = ['changed', 'would-shrink', 'refused', 'disagree', 'unreadable'] as const;
const exported = z.boolean().describe('published by this command');
const result = {
  exported,
  rows: rows.optional(),
  sizeBytes: sizeBytes.optional(),
  resumed: z.boolean().optional(),
  remark: text.optional().describe('what the receipt says until it is accepted'),
  ...why,
};
const changeKind = z.enum(['added', 'appeared', 'removed', 'vanished', 'shifted']);
const change = o({
  timeSeriesId: text,
  id: text.nullable(),
  kind: changeKind,
  published: readings,
  now: readings,
});
const jobFile = {
  path: text.optional(),
  dataset: text,
  vessels: z.union([vessels, o({ discover: text })]),
  select: z.array(text).readonly(),
  optional: z.array(text).readonly().optional().describe('of `select`: those that may match no series'),
  since: text.optional(),
  schedule: o({ ...schedule, settleMs: whole }).optional(),
  reconcile: o({ ...schedule, lookbackDays: whole }).optional(),
  transport: text,
  verify: text,
  window: text.optional(),
  windowMicros: whole.optional(),
  aggregations: z.array(z.enum(AGGREGATIONS)).readonly().optional(),
};

/** Every result: its summary, and its lists by name. */
export const RESULTS = {
  plan: {
    summary: {
      limits: o({
        concurrencyLimit: whole,
        vesselDaysAtOnce: whole,
        requestsPerMinute: whole.describe('0: no limit'),
      }),
      requests: requests.describe('what this plan took'),
    },
    lists: {
      jobs: o({
        ...jobRange,
        vesselCount,
        totals: z.record(z.enum(['missing', 'stale', 'published', 'not-due']), vesselDays),
        cost: o({
          ...amounts,
          dataset: text,
          readings,
          requests,
          leastRows: rows.describe('of the smallest sampled day'),
          mostRows: rows.describe('of the largest sampled day'),
          boundBy: z.enum(['rate-limit', 'experience', 'timed-request', 'requests']),
          bytesFrom: z.enum(['experience', 'assumption']),
        }),
        sampled: z.array(o({ vessel, date, readings, rows, series: whole })).readonly(),
        experience: o(amounts).nullable(),
        timed: o({ vessel, date, rows, durationMs }).nullable(),
      }),
      vessels: vesselTrouble,
    },
  },
  run: {
    summary: { from, to, vesselDays, rows, totals: z.record(z.enum(RUN_STATES), vesselDays) },
    lists: { days: o({ ...day, state: z.enum(RUN_STATES), ...result }), vessels: vesselTrouble },
  },
  reconcile: {
    summary: { vesselDays, notCompared, requests, exportRequests: requests.describe('of --run') },
    lists: {
      jobs: o({
        ...jobRange,
        vesselCount,
        vesselDays: vesselDays.describe('that were compared with the source'),
        notCompared,
        message: message.nullable().describe('why the job cannot be reconciled'),
      }),
      findings: o({
        ...day,
        state: z.enum(['missing', 'stale', ...RECONCILE_STATES]),
        message,
        published: readings.nullable().describe('when the day was published'),
        now: readings.nullable(),
        changes: z.array(change).readonly(),
        compared: o({ epoch: whole, totalsSha256: text }).optional(),
      }),
      unasked: o({ job, vessel: asMetadataHasIt, code, message }),
      days: o({ ...day, state: z.enum([...RUN_STATES, 'enqueued', 'queued', 'left']), ...result }),
    },
  },
  status: {
    summary: { vesselDays, rows },
    lists: {
      jobs: o({
        ...jobRange,
        dataset: text,
        vessels,
        vesselDays,
        rows,
        vesselsFrom: z.enum(['command', 'job', 'service', 'lake']),
        totals: z.record(z.enum(COVERAGE_STATES), vesselDays),
        oldestGap: o(day).nullable(),
        lastPublished: o({ ...day, finishedAt: instant }).nullable(),
        receipts: o({ fetched: whole, fromIndex: whole }),
      }),
      days: o({
        ...day,
        state: z.enum(COVERAGE_STATES),
        rows: rows.nullable(),
        finishedAt: instant.nullable(),
        begun: z.boolean().optional().describe('an attempt was broken off'),
        unlisted: z.boolean().optional().describe('published although discovery left the vessel out'),
        ...why,
      }),
      vessels: vesselTrouble,
      remarks: o({ ...day, code: z.enum(['fewer-series']), message }),
    },
  },
  verify: {
    summary: {
      from: from.nullable().describe('null: nothing is there'),
      to: to.nullable(),
      planned: vesselDays.describe(
        'to verify; more than vesselDays and notVerified where it was interrupted',
      ),
      vesselDays,
      notVerified: vesselDays.describe('that could not be checked; the other number is of those that were'),
      withFindings: vesselDays.describe('of both'),
      rows,
      sizeBytes,
      unknownJobs: z.array(text).describe('in the lake, without a job file: not verified'),
    },
    lists: {
      findings: o({
        job,
        vessel: vessel.optional(),
        date: date.optional(),
        code: z.enum(Object.keys(FINDINGS) as [FindingName]),
        message,
        key: text.describe('where in the lake'),
        found: text,
        expected: text,
        next: text.describe('what to do'),
      }),
      remarks: o({
        ...day,
        code: z.enum(['unfinished', 'not-compared', 'metadata-changed', 'fewer-series']),
        message,
      }),
    },
  },
  accept: {
    summary: {},
    lists: {
      vessels: o({
        job,
        vessel,
        state: z.enum(['accepted', 'accepted-before', 'nothing-to-accept']),
        series: whole.optional().describe('the fewest that are accepted'),
        message,
      }),
    },
  },
  convert: {
    summary: { converted: z.boolean().describe('false: it was a delta lake already') },
    lists: {
      jobs: o({ job, vesselDays, sizeBytes }),
      days: o({ ...day, message }).describe('published, and not in the table of their job'),
    },
  },
  gc: {
    summary: {},
    lists: {
      items: o({
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
      backfills: o({
        ...jobRange,
        id: text,
        vessels: vessels.describe("empty: the job's own"),
        allowShrink: z.boolean(),
        createdAt: instant,
        state: z.enum(['running', 'paused', 'job-gone']),
        vesselsFrom: z.enum(['command', 'job', 'lake']).describe('whose days are counted'),
        progress: o({ due: vesselDays, published: vesselDays, failed: vesselDays, ...waiting })
          .nullable()
          .describe('null: nothing is known, for want of the job or of any vessel'),
      }),
    },
  },
  'schedule-once': {
    summary: {},
    lists: { jobs: o({ job, enqueued: vesselDays, ...waiting }) },
  },
  vessels: {
    summary: {},
    lists: {
      vessels: o({
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
      series: o({
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
      checks: o({
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
      settings: o({ name: text, value: text.nullable(), valid: z.boolean(), origin: text, meaning: text }),
      jobs: o({ job, ...jobFile }),
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

/** `kind` of the lines that hold items of a list. */
export const LINE_KINDS = {
  jobs: 'job',
  days: 'day',
  findings: 'finding',
  unasked: 'unasked',
  vessels: 'vessel',
  remarks: 'remark',
} as const;
