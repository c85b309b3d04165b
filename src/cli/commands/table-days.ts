/** Commands about vessel-days of jobs, done in the process itself. */
import type { CommandRow } from './context.ts';
import { ALLOW_SHRINK, dateOptions, JOBS, JSON_RESULT, NDJSON_RESULT, VESSEL } from './table-options.ts';

const EXPORT_DATES = dateOptions('yesterday and today');
const LOOK_DATES = dateOptions("the job's look-back, or 14 days, and today");

export const DAY_COMMANDS: readonly CommandRow[] = [
  {
    name: 'run',
    summary: 'export the due vessel-days of all or some jobs in this process',
    argument: JOBS,
    options: [
      ...EXPORT_DATES,
      VESSEL,
      ['--force', 'export days again that are done'],
      ALLOW_SHRINK,
      ['--takeover', 'take vessel-days from a process that seems to be alive'],
      JSON_RESULT,
      NDJSON_RESULT,
    ],
    examples: [
      'run',
      'run measurements --month 2026-01',
      'run --vessel IMO9321483 --from 2026-01-05 --force',
    ],
    perform: async (...given) => (await import('./run.ts')).runCommand(...given),
  },
  {
    name: 'plan',
    summary: 'say what a run will take: vessel-days, readings, requests, bytes, time; writes nothing',
    argument: JOBS,
    options: [...EXPORT_DATES, VESSEL, JSON_RESULT],
    examples: ['plan', 'plan measurements --from 2023-01-01 --to 2026-01-01'],
    perform: async (...given) => (await import('./plan.ts')).planCommand(...given),
  },
  {
    name: 'reconcile',
    summary:
      'find published days whose source has changed; --run exports exactly those again, --enqueue has workers do it',
    argument: JOBS,
    options: [
      ...LOOK_DATES,
      VESSEL,
      ['--run', 'export what changed, in this process'],
      ['--enqueue', 'put what changed into the queue'],
      ['--allow-shrink', 'with --run or --enqueue: publish days too that lose readings'],
      ['--takeover', 'with --run: take vessel-days from a process that seems to be alive'],
      JSON_RESULT,
      NDJSON_RESULT,
    ],
    examples: ['reconcile', 'reconcile measurements --days 90 --run'],
    readsMuch: true,
    perform: async (...given) => (await import('./reconcile.ts')).reconcileCommand(...given),
  },
  {
    name: 'status',
    summary: 'show what the lake holds of each vessel-day; asks the lake only',
    argument: JOBS,
    options: [
      ...LOOK_DATES,
      VESSEL,
      ['--discover', 'ask the service which vessels there are'],
      JSON_RESULT,
      NDJSON_RESULT,
    ],
    examples: ['status', 'status measurements --from 2025-01-01 --to 2026-01-01'],
    readsMuch: true,
    perform: async (...given) => (await import('./status.ts')).statusCommand(...given),
  },
  {
    name: 'verify',
    summary: 'check receipts against objects; reads only',
    argument: JOBS,
    options: [
      ...dateOptions('the whole lake'),
      ['--vessel <id...>', 'these vessels only'],
      ['--deep', "read every row back and compare with the service's statistics"],
      JSON_RESULT,
      NDJSON_RESULT,
    ],
    examples: ['verify', 'verify measurements --days 7 --deep'],
    perform: async (...given) => (await import('./verify.ts')).verifyCommand(...given),
  },
  {
    name: 'accept',
    summary:
      'accept what is remarked of vessels; without any, that series go which select does not mean any more, or, with --source, that a job has another source',
    argument: ['<job>', 'name of a job'],
    secondArgument: ['[vessel...]', 'such as IMO9321483; none: the series that select has left'],
    options: [['--source', 'the job is copied from QUERY_BASE_URL from now on'], JSON_RESULT],
    examples: ['accept measurements IMO9321483', 'accept measurements', 'accept measurements --source'],
    perform: async (context, [job, vessels], options) =>
      options.source === true
        ? (await import('./accept-source.ts')).acceptSourceCommand(context, job, vessels, options)
        : (await import('./accept.ts')).acceptCommand(context, job, vessels, options),
  },
];
