/**
 * What printing a result for machines takes of results.ts, without it: who prints needs no shapes, and each
 * command would wait for them to be made.
 */

/** Goes up when a member is renamed, removed, or means something else; new members may come without it. */
export const SCHEMA_VERSION = 1;

/** The lists of every result, in the order in which they are printed. */
export const LISTS = {
  plan: ['jobs', 'vessels'],
  run: ['days', 'vessels'],
  reconcile: ['jobs', 'findings', 'unasked', 'days'],
  status: ['jobs', 'days', 'vessels', 'remarks'],
  verify: ['findings', 'remarks'],
  accept: ['vessels', 'jobs', 'sources'],
  convert: ['jobs', 'days'],
  'rebuild-log': ['days', 'faults'],
  gc: ['items'],
  'backfill-list': ['backfills'],
  'schedule-once': ['jobs'],
  vessels: ['vessels'],
  series: ['series'],
  check: ['checks'],
  config: ['settings', 'jobs', 'faults', 'warnings'],
} as const;

/** `kind` of the lines that hold items of a list. */
export const LINE_KINDS = {
  jobs: 'job',
  days: 'day',
  findings: 'finding',
  unasked: 'unasked',
  vessels: 'vessel',
  remarks: 'remark',
} as const;

/** `published`: has a receipt of the job's settings (and rows, where `empty` is told apart); `running`: elsewhere. */
const KNOWN_STATES = ['published', 'empty', 'unchanged', 'not-due', 'failed', 'refused', 'running'] as const;
export const RUN_STATES = [...KNOWN_STATES, 'waiting', 'interrupted', 'not-begun'] as const;
