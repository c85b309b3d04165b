/** `backfill`: cover a range through the queue; `list`, `pause`, `resume` and `cancel` for those under way. */
import type { AppOverrides } from '../app.ts';
import type { Config } from '../config/config.ts';
import { loadConfig, pickJobs } from '../config/config.ts';
import { CancelledError, ConfigError } from '../errors.ts';
import {
  belongsTo,
  createBackfillDriver,
  releaseFailed,
  withdrawBackfill,
} from '../fleet/backfill-driver.ts';
import type { Backfill, BackfillRequest } from '../fleet/backfills.ts';
import {
  backfillId,
  listBackfills,
  readBackfill,
  removeBackfill,
  writeBackfill,
} from '../fleet/backfills.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { openFleet } from '../fleet/fleet.ts';
import { followBackfill } from '../fleet/follow-backfill.ts';
import { createLedgerView } from '../fleet/ledger-view.ts';
import type { PlanningPorts } from '../fleet/nightly.ts';
import type { Job, Log } from '../model/index.ts';
import { addDays, formatVesselDay } from '../model/index.ts';
import { AWAY_STOP_MS, endsAfter } from '../queue/ends-within.ts';
import { formatCount, formatTable } from '../terminal/format.ts';
import type { CommandContext } from './context.ts';
import { commandLog, EXIT_FAILED, EXIT_OK } from './context.ts';
import { checkRange } from './run.ts';

export interface BackfillOptions {
  readonly from?: string;
  readonly to?: string;
  readonly vessel?: readonly string[];
  readonly detach?: boolean;
  readonly failed?: boolean;
  readonly allowShrink?: boolean;
}

export type BackfillAction = 'list' | 'pause' | 'resume' | 'cancel';

/** Between looks while attached. */
const FOLLOW_MS = 2_000;

/** Begin, or go on with, the backfill of a range; the exit code. `overrides` and `followMs` are for tests. */
export async function backfillCommand(
  context: CommandContext,
  jobName: string,
  options: BackfillOptions,
  overrides: AppOverrides = {},
  followMs: number = FOLLOW_MS,
): Promise<number> {
  const config = loadConfig(context.env);
  const job = pickJobs(config, [jobName])[0]!;
  if (job.dataset === 'metadata') {
    throw new ConfigError(
      'no-history',
      `job '${jobName}': the service keeps no history of metadata, so there is nothing to fill in; 'schedule' and 'run' take today's snapshot`,
    );
  }
  return withFleet(context, config, overrides, async (fleet, log) => {
    const request = await requestOf(fleet, jobName, options);
    const released = options.failed === true ? await releaseFailed(fleet.queue, request) : [];
    if (released.length > 0) context.stderr.write(`${released.length} failed vessel-days are tried again\n`);
    const backfill = await define(fleet, request);
    if (options.detach === true) {
      await createBackfillDriver(planningOf(fleet, log), backfill, job).step(context.signal);
      context.stdout.write(`${backfill.id}\n`);
      context.stderr.write(
        "the scheduler goes on with it; 'vessel-export backfill list' shows how far it is\n",
      );
      return EXIT_OK;
    }
    return follow(context, fleet, backfill, job, followMs, log);
  });
}

/** The range asked for; with `--failed` alone, from the first failed day to the last. */
async function requestOf(fleet: Fleet, job: string, options: BackfillOptions): Promise<BackfillRequest> {
  const { from, to, vessel: vessels = [], allowShrink = false } = options;
  if (from !== undefined && to !== undefined) {
    const range = checkRange({ from, to, vessel: vessels }, 0);
    return { job, ...range, vessels, allowShrink };
  }
  if (options.failed !== true || from !== undefined || to !== undefined)
    throw new ConfigError('usage', '--from and --to: expected both, or --failed alone');
  const letters = await fleet.queue.deadLetters();
  const dates = letters.filter(({ day }) => day.job === job).map(({ day }) => day.date);
  const [first, last] = [dates.toSorted().at(0), dates.toSorted().at(-1)];
  if (first === undefined || last === undefined)
    throw new ConfigError('none-failed', `job '${job}': no failed vessel-day is in the queue`);
  return { job, from: first, to: addDays(last, 1), vessels, allowShrink };
}

/** Write the definition, unless the same backfill is under way; a paused one goes on. */
async function define(fleet: Fleet, request: BackfillRequest): Promise<Backfill> {
  const { store, ports } = fleet.app;
  const id = backfillId(request);
  const there = await readBackfill(store, id);
  if (there !== undefined && !there.paused) return there;
  const createdAt = there?.createdAt ?? new Date(ports.clock.nowMs()).toISOString();
  const backfill: Backfill = { backfillVersion: 1, id, ...request, paused: false, createdAt };
  await writeBackfill(store, backfill);
  return backfill;
}

async function follow(
  context: CommandContext,
  fleet: Fleet,
  backfill: Backfill,
  job: Job,
  intervalMs: number,
  log: Log,
): Promise<number> {
  const planning = planningOf(fleet, log);
  const following = followBackfill({
    planning,
    backfill,
    driver: createBackfillDriver(planning, backfill, job),
    screen: context.stderr,
    intervalMs,
    signal: context.signal,
  });
  // It may be waiting for Redis.
  if (!(await endsAfter(following, context.signal, AWAY_STOP_MS, planning.ports.clock)))
    throw new CancelledError();
  const end = await following;
  if (end.state === 'stopped') {
    context.stdout.write(`${backfill.id}: ${end.reason}\n`);
    return EXIT_FAILED;
  }
  const { done, failed } = end.progress;
  context.stdout.write(`${backfill.id}: ${formatCount(done)} done, ${formatCount(failed)} failed\n`);
  for (const { day, code, message } of await fleet.queue.deadLetters()) {
    if (belongsTo(backfill, day))
      context.stderr.write(`failed: ${formatVesselDay(day)}: ${code}: ${message}\n`);
  }
  return failed === 0 ? EXIT_OK : EXIT_FAILED;
}

/** `backfill list | pause | resume | cancel`; the exit code. */
export async function backfillActionCommand(
  context: CommandContext,
  action: BackfillAction,
  ids: readonly string[],
  overrides: AppOverrides = {},
): Promise<number> {
  const config = loadConfig(context.env);
  return withFleet(context, config, overrides, async (fleet, log) => {
    if (action === 'list') {
      context.stdout.write(`${await listText(context, config, fleet, log)}\n`);
      return EXIT_OK;
    }
    if (ids.length === 0) throw new ConfigError('usage', `backfill ${action}: expected the id of a backfill`);
    for (const id of ids) await act(context, fleet, action, id);
    return EXIT_OK;
  });
}

async function act(
  context: CommandContext,
  { app, queue }: Fleet,
  action: Exclude<BackfillAction, 'list'>,
  id: string,
): Promise<void> {
  const backfill = await readBackfill(app.store, id);
  if (backfill === undefined) {
    const there = (await listBackfills(app.store)).map((one) => one.id).join(', ') || 'none';
    throw new ConfigError('unknown-backfill', `no backfill '${id}' is under way; there are: ${there}`);
  }
  if (action === 'cancel') await removeBackfill(app.store, id);
  else await writeBackfill(app.store, { ...backfill, paused: action === 'pause' });
  const withdrawn = action === 'resume' ? 0 : await withdrawBackfill(queue, backfill);
  const words = { pause: 'paused', resume: 'goes on', cancel: 'cancelled' };
  const waited = withdrawn === 0 ? '' : `; ${formatCount(withdrawn)} vessel-days were taken out of the queue`;
  context.stdout.write(`${id}: ${words[action]}${waited}\n`);
}

async function listText(context: CommandContext, config: Config, fleet: Fleet, log: Log): Promise<string> {
  const backfills = await listBackfills(fleet.app.store);
  if (backfills.length === 0) return 'no backfill is under way';
  const planning = planningOf(fleet, log);
  const rows: (string | number)[][] = [['backfill', 'state', 'due', 'done', 'failed', 'in queue', 'left']];
  for (const backfill of backfills) {
    const job = config.jobs.find(({ name }) => name === backfill.job);
    if (job === undefined) {
      rows.push([backfill.id, 'its job is gone', '-', '-', '-', '-', '-']);
      continue;
    }
    // With a share of nothing it only looks.
    const seen = await createBackfillDriver(planning, backfill, job).step(context.signal, 0);
    const state = backfill.paused ? 'paused' : 'under way';
    rows.push([backfill.id, state, seen.due, seen.done, seen.failed, seen.queued, seen.left]);
  }
  return formatTable(rows);
}

function planningOf(fleet: Fleet, log: Log): PlanningPorts {
  const { app, queue } = fleet;
  return { ports: app.ports, queue, ledger: createLedgerView(app.store), log, onPlanned: () => {} };
}

async function withFleet(
  context: CommandContext,
  config: Config,
  overrides: AppOverrides,
  use: (fleet: Fleet, log: Log) => Promise<number>,
): Promise<number> {
  const log = commandLog(context, config.settings.LOG_LEVEL);
  const fleet = await openFleet(config, context.env, log, overrides);
  try {
    return await use(fleet, log);
  } finally {
    await fleet.close();
  }
}
