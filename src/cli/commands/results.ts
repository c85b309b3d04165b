/** The JSON output of commands: each member has the same meaning everywhere. The source of `schemas/`. */
import { z } from 'zod';
import { COVERAGE_STATES } from '../../audit/status/cells.ts';
import { FINDINGS, type FindingName } from '../../audit/verify/findings.ts';
import { AGGREGATIONS, JOB_NAME, VESSEL_ID } from '../../core/model/index.ts';
import { VALUE_TYPES } from '../../query/catalogue/entries.ts';
import { CHECK_STATES, CHECK_SUBJECTS } from '../check/result.ts';

/** Goes up when a member is renamed, removed, or means something else; new members may come without it. */
export const SCHEMA_VERSION = 1;

/** `kind` of the lines that hold items of a list: one of `days` is a `day`. */
export const lineKind = (list: string) => list.replace(/s$/, '');

/** `published`: has a receipt of the job's settings (and rows, where `empty` is told apart); `running`: elsewhere. */
const KNOWN_STATES = ['published', 'empty', 'unchanged', 'not-due', 'failed', 'refused', 'running'] as const;
export const RUN_STATES = [...KNOWN_STATES, 'waiting', 'interrupted', 'not-begun'] as const;

const shape = z.strictObject;
const whole = z.int().min(0);
const text = z.string();
const utcDate = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const job = z.string().regex(JOB_NAME).describe('name of a job');
const vessel = z.string().regex(VESSEL_ID);
const date = utcDate.describe('UTC date');
const from = utcDate.describe('first UTC date');
const to = utcDate.describe('UTC date to stop before');
const vessels = z.array(vessel).readonly();
const vesselDays = whole.describe('how many vessel-days');
const rows = whole.describe('rows in the lake');
const readings = whole.describe('readings, as the source counts them');
const sizeBytes = whole.describe('bytes of objects');
const code = text.describe('stable word that scripts may match');
const message = text.describe('the same for people');
const instant = z.iso.datetime();
const day = { job, vessel, date };
const jobRange = { job, from, to };
const vesselCount = whole.describe('how many vessels');
const requests = whole.describe('requests to the query service');
const durationMs = z.number().min(0).describe('milliseconds');
const asMetadataHasIt = text.describe('IMO and seven digits, or the text of metadata that should be');
const troubleCode = z.enum(['unlisted', 'malformed-imo']);
const vesselTrouble = shape({ job, vessel: asMetadataHasIt, code: troubleCode, message });
const amounts = { vesselDays, rows, sizeBytes, durationMs };
const why = { code: code.optional(), message: message.optional() };
const notCompared = vesselDays.describe('published, and the source could not be asked');
const RECONCILE_STATES = ['changed', 'would-shrink', 'refused', 'disagree', 'unreadable'] as const;
const exported = z.boolean().describe('published by this command');
const warning = text.optional().describe('what the receipt says until it is accepted');
const size = { rows: rows.optional(), sizeBytes: sizeBytes.optional() };
const result = { exported, ...size, resumed: z.boolean().optional(), warning, ...why };
const changeKind = z.enum(['added', 'appeared', 'removed', 'vanished', 'shifted']);
const named = { timeSeriesId: text, id: text.nullable(), kind: changeKind };
const change = shape({ ...named, published: readings, now: readings });
const acceptState = z.enum(['accepted', 'accepted-before', 'nothing-to-accept']);
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

/** Every result: its summary, and its lists by name, in the order in which they are printed. */
export const RESULTS = {
  plan: {
    summary: {
      limits: shape({
        ...{ concurrencyLimit: whole, vesselDaysAtOnce: whole },
        requestsPerMinute: whole.describe('0: no limit'),
      }),
      requests: requests.describe('what this plan took'),
    },
    lists: {
      jobs: shape({
        ...jobRange,
        vesselCount,
        totals: z.record(z.enum(['missing', 'stale', 'published', 'not-due']), vesselDays),
        cost: shape({
          ...amounts,
          dataset: text,
          readings,
          requests,
          leastRows: rows.describe('of the smallest sampled day'),
          mostRows: rows.describe('of the largest sampled day'),
          boundBy: z.enum(['rate-limit', 'experience', 'timed-request', 'requests']),
          bytesFrom: z.enum(['experience', 'assumption']),
        }),
        sampled: z.array(shape({ vessel, date, readings, rows, series: whole })).readonly(),
        experience: shape(amounts).nullable(),
        timed: shape({ vessel, date, rows, durationMs }).nullable(),
      }),
      vessels: vesselTrouble,
    },
  },
  run: {
    summary: { from, to, vesselDays, rows, totals: z.record(z.enum(RUN_STATES), vesselDays) },
    lists: { days: shape({ ...day, state: z.enum(RUN_STATES), ...result }), vessels: vesselTrouble },
  },
  reconcile: {
    summary: { vesselDays, notCompared, requests, exportRequests: requests.describe('of --run') },
    lists: {
      jobs: shape({
        ...jobRange,
        vesselCount,
        vesselDays: vesselDays.describe('that were compared with the source'),
        notCompared,
        message: message.nullable().describe('why the job cannot be reconciled'),
      }),
      findings: shape({
        ...day,
        state: z.enum(['missing', 'stale', ...RECONCILE_STATES]),
        message,
        published: readings.nullable().describe('when the day was published'),
        now: readings.nullable(),
        changes: z.array(change).readonly(),
        compared: shape({ epoch: whole, totalsSha256: text }).optional(),
      }),
      unasked: shape({ job, vessel: asMetadataHasIt, code, message }),
      days: shape({ ...day, state: z.enum([...RUN_STATES, 'enqueued', 'queued', 'left']), ...result }),
    },
  },
  status: {
    summary: { vesselDays, rows },
    lists: {
      jobs: shape({
        ...{ ...jobRange, dataset: text, vessels, vesselDays, rows },
        vesselsFrom: z.enum(['command', 'job', 'service', 'lake']),
        totals: z.record(z.enum(COVERAGE_STATES), vesselDays),
        oldestGap: shape(day).nullable(),
        lastPublished: shape({ ...day, finishedAt: instant }).nullable(),
        receipts: shape({ fetched: whole, fromIndex: whole }),
      }),
      days: shape({
        ...day,
        state: z.enum(COVERAGE_STATES),
        rows: rows.nullable(),
        finishedAt: instant.nullable(),
        begun: z.boolean().optional().describe('an attempt was broken off'),
        unlisted: z.boolean().optional().describe('published although discovery left the vessel out'),
        ...why,
      }),
      vessels: vesselTrouble,
      warnings: shape({ ...day, code: z.enum(['fewer-series', 'other-vessel']), message }),
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
      findings: shape({
        job,
        vessel: vessel.optional(),
        date: date.optional(),
        code: z.enum(Object.keys(FINDINGS) as [FindingName]),
        message,
        key: text.describe('where in the lake'),
        ...{ found: text, expected: text, next: text.describe('what to do') },
      }),
      warnings: shape({
        ...day,
        code: z.enum(['unfinished', 'not-compared', 'metadata-changed', 'fewer-series', 'other-vessel']),
        message,
      }),
    },
  },
  accept: {
    summary: {},
    lists: {
      vessels: shape({
        job,
        vessel,
        state: acceptState,
        series: whole.optional().describe('the fewest that are accepted'),
        message,
      }),
      jobs: shape({
        job,
        state: acceptState,
        vesselDays: vesselDays.describe('published with other settings: series may go from these'),
        message,
      }),
      sources: shape({
        ...{ job, source: text.describe('QUERY_BASE_URL') },
        before: text.optional().describe('where it was copied from before'),
        ...{ state: acceptState, message },
      }),
    },
  },
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
  'schedule-once': { summary: {}, lists: { jobs: shape({ job, enqueued: vesselDays, ...waiting }) } },
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
        ...{ name: text.nullable(), description: text.nullable(), source: text.nullable() },
        ...{ unit: text.nullable(), rangeLow: z.number().nullable(), rangeHigh: z.number().nullable() },
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

export type Lists<K extends ResultName> = (typeof RESULTS)[K]['lists'];
export type ResultName = keyof typeof RESULTS;
export type Summary<K extends ResultName> = z.infer<z.ZodObject<(typeof RESULTS)[K]['summary']>>;
export type Item<K extends ResultName, L extends keyof Lists<K>> = Readonly<z.infer<Lists<K>[L]>>;
