/** What commands about vessel-days print for machines. */
import { z } from 'zod';
import { COVERAGE_STATES } from '../../audit/status/cells.ts';
import type { FindingName } from '../../audit/verify/findings.ts';
import { FINDINGS } from '../../audit/verify/findings.ts';
import { RUN_STATES } from './result-lists.ts';
import {
  code,
  date,
  day,
  from,
  instant,
  job,
  jobRange,
  message,
  readings,
  rows,
  shape,
  sizeBytes,
  text,
  to,
  vessel,
  vesselDays,
  vessels,
  whole,
} from './result-terms.ts';

const vesselCount = whole.describe('how many vessels');
const requests = whole.describe('requests to the query service');
const durationMs = z.number().min(0).describe('milliseconds');
const asMetadataHasIt = text.describe('IMO and seven digits, or the text of metadata that should be');
const vesselTrouble = shape({
  job,
  vessel: asMetadataHasIt,
  code: z.enum(['unlisted', 'malformed-imo']),
  message,
});
const amounts = { vesselDays, rows, sizeBytes, durationMs };
const why = { code: code.optional(), message: message.optional() };
const notCompared = vesselDays.describe('published, and the source could not be asked');
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
const change = shape({
  timeSeriesId: text,
  id: text.nullable(),
  kind: changeKind,
  published: readings,
  now: readings,
});

/** Results of commands about vessel-days: of each its summary, and its lists by name. */
export const DAY_RESULTS = {
  plan: {
    summary: {
      limits: shape({
        concurrencyLimit: whole,
        vesselDaysAtOnce: whole,
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
        ...jobRange,
        dataset: text,
        vessels,
        vesselDays,
        rows,
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
      remarks: shape({ ...day, code: z.enum(['fewer-series', 'other-vessel']), message }),
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
        found: text,
        expected: text,
        next: text.describe('what to do'),
      }),
      remarks: shape({
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
        state: z.enum(['accepted', 'accepted-before', 'nothing-to-accept']),
        series: whole.optional().describe('the fewest that are accepted'),
        message,
      }),
      jobs: shape({
        job,
        state: z.enum(['accepted', 'accepted-before', 'nothing-to-accept']),
        vesselDays: vesselDays.describe('published with other settings: series may go from these'),
        message,
      }),
      sources: shape({
        job,
        source: text.describe('QUERY_BASE_URL'),
        before: text.optional().describe('where it was copied from before'),
        state: z.enum(['accepted', 'accepted-before', 'nothing-to-accept']),
        message,
      }),
    },
  },
} as const;
