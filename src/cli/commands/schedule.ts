/** `schedule`: keep the queue filled with what is due, until told to stop or once. */
import { randomUUID } from 'node:crypto';
import type { AppOverrides } from '../../app.ts';
import { AWAY_STOP_MS, endsAfter } from '../../core/concurrency.ts';
import type { OnFleetEvent } from '../../fleet/events.ts';
import type { Fleet } from '../../fleet/fleet.ts';
import { runFleetProcess } from '../../fleet/fleet-process.ts';
import { openNoticeWatch } from '../../fleet/notice-watch.ts';
import { createScheduler, type Scheduler } from '../../fleet/scheduler.ts';
import { createScheduleState } from '../../redis/schedule-state.ts';
import { formatTable } from '../terminal/format.ts';
import { writeText } from '../terminal/screen.ts';
import type { CommandContext, JsonOption } from './command.ts';
import { commandLog, EXIT_OK, openOutput, openQueue, readConfig } from './command.ts';
import { fleetPage } from './page.ts';

interface ScheduleOptions extends JsonOption {
  /** Plan every job that has a schedule now, and end. It does not look back: `reconcile --enqueue` does. */
  readonly once?: boolean;
}

/** Plan until the signal, or once. `overrides` and `intervalMs` are for tests. */
export async function scheduleCommand(
  context: CommandContext,
  options: ScheduleOptions,
  overrides: AppOverrides = {},
  intervalMs?: number,
): Promise<number> {
  const config = readConfig(context);
  const { env, signal } = context;
  const { jobs } = config;
  const log = commandLog(context, config.settings.LOG_LEVEL);
  const open = ({ planning, redis, prefix }: Fleet, onEvent?: OnFleetEvent) =>
    createScheduler({
      ...{ ...planning, jobs, state: createScheduleState(redis, prefix, randomUUID()) },
      ...(onEvent && { onEvent }),
      ...(intervalMs !== undefined && { intervalMs }),
    });
  if (options.once === true) {
    await using fleet = await openQueue(context, config, overrides);
    await fleet.app.ports.layout.check(jobs.map(({ name }) => name));
    return await planOnce(context, open(fleet), options);
  }
  let scheduler: Scheduler | undefined;
  const trouble = () => scheduler?.trouble;
  const page = fleetPage(config, log);
  const process = { role: 'scheduler', config, env, log, overrides, signal, trouble, page } as const;
  await runFleetProcess(process, async (fleet, events, url) => {
    const namesWith = (key: 'schedule' | 'reconcile') =>
      jobs.flatMap((job) => (job[key] === undefined ? [] : job.name));
    const fields = { jobs: namesWith('schedule'), reconciled: namesWith('reconcile') };
    log.info({ ...fields, http: url }, 'scheduler is ready');
    const notices = openNoticeWatch(config, fleet, log, intervalMs);
    if (notices !== undefined) events.listen(notices.onEvent);
    scheduler = open(fleet, events.emit);
    const noticing = notices?.run(signal);
    // It may be waiting for Redis.
    await endsAfter(scheduler.run(signal), signal, AWAY_STOP_MS, fleet.app.ports.clock);
    await noticing;
  });
  return EXIT_OK;
}

async function planOnce(context: CommandContext, scheduler: Scheduler, options: ScheduleOptions) {
  const output = openOutput(context.stdout, 'schedule-once', options);
  const rows: (string | number)[][] = [['job', 'queued', 'in queue already', 'without room']];
  for (const [job, { added: enqueued, waiting: queued, left }] of await scheduler.planAll(context.signal)) {
    output.add('jobs', { job, enqueued, queued, left });
    rows.push([job, enqueued, queued, left]);
  }
  output.end({});
  if (output.isText) writeText(context.stdout, `${formatTable(rows)}\n`);
  return EXIT_OK;
}
