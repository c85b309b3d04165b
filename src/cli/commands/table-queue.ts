/** Commands about the queue and its processes. */
import type { CommandRow } from './context.ts';
import { ALLOW_SHRINK, dateOptions, JSON_RESULT, VESSEL } from './table-lake.ts';

function backfillAction(name: 'pause' | 'resume' | 'cancel', summary: string): CommandRow {
  return {
    name,
    summary,
    argument: ['<id...>', 'backfills, as `backfill list` names them'],
    examples: [`backfill ${name} ID`],
    perform: async (context, ids) =>
      (await import('./backfill.ts')).backfillActionCommand(context, name, ids),
  };
}

export const QUEUE_COMMANDS: readonly CommandRow[] = [
  {
    name: 'backfill',
    summary: 'cover a range through the queue; issued again, it goes on where it is',
    argument: ['<job>', 'name of a job'],
    options: [
      ...dateOptions('with --failed only'),
      VESSEL,
      ['--detach', 'leave it to the scheduler'],
      ['--failed', 'try vessel-days again that have failed'],
      ALLOW_SHRINK,
    ],
    examples: [
      'backfill measurements --from 2023-01-01 --to 2026-01-01 --detach',
      'backfill measurements --failed',
      'backfill list',
    ],
    perform: async (...given) => (await import('./backfill.ts')).backfillCommand(...given),
    subcommands: [
      {
        name: 'list',
        summary: 'show the backfills under way, and how far they are',
        options: [JSON_RESULT],
        examples: ['backfill list', 'backfill list --json'],
        perform: async (context, _, options) =>
          (await import('./backfill.ts')).backfillActionCommand(context, 'list', [], {}, options),
      },
      backfillAction('pause', 'take what waits out of the queue, and add no more until it is resumed'),
      backfillAction('resume', 'go on with a paused backfill'),
      backfillAction('cancel', 'end a backfill; what is exported stays'),
    ],
  },
  {
    name: 'schedule',
    summary: 'keep the queue filled with what is due: nightly and late data by the jobs, and backfills',
    options: [
      ['--once', 'plan every job with a schedule now, and end'],
      ['--json', 'with --once: print the result as JSON'],
    ],
    examples: ['schedule', 'schedule --once'],
    isLongRunning: true,
    readsMuch: true,
    perform: async (context, _, options) => (await import('./schedule.ts')).scheduleCommand(context, options),
  },
  {
    name: 'notify',
    summary: 'send a test message to where NOTIFY_URL says',
    argument: ['<what>', 'what to send', ['test']],
    examples: ['notify test'],
    perform: async (context) => (await import('./notify.ts')).notifyCommand(context),
  },
  {
    name: 'worker',
    summary: 'export vessel-days from the queue',
    examples: ['worker', 'worker   # as many as there is work for, on as many machines'],
    isLongRunning: true,
    perform: async (context) => (await import('./worker.ts')).workerCommand(context),
  },
  {
    name: 'hold',
    summary: 'say whether the queue is on hold, and why',
    examples: ['hold', 'hold lift'],
    perform: async (context) => (await import('./hold.ts')).holdCommand(context),
    subcommands: [
      {
        name: 'lift',
        summary:
          'have every worker try now, whatever its probe says; if the fault lasts, the hold comes back',
        examples: ['hold lift'],
        perform: async (context) => (await import('./hold.ts')).liftHoldCommand(context),
      },
    ],
  },
  {
    name: 'web',
    summary: 'serve the page from a lake alone: no Redis, no query service',
    options: [
      ['--host <host>', 'address to listen on, instead of HTTP_HOST'],
      ['--port <n>', 'port, instead of HTTP_PORT; 0 takes a free one'],
    ],
    examples: ['web', 'web --port 8000'],
    isLongRunning: true,
    perform: async (context, _, options) => (await import('./web.ts')).webCommand(context, options),
  },
];
