/** `backfill`: cover a range through the queue; `list`, `pause`, `resume` and `cancel` for those under way. */
import type { AppOverrides } from '../../app.ts';
import { AWAY_STOP_MS, endsAfter } from '../../core/concurrency.ts';
import { CancelledError, ConfigError, type DataError, messageOf, usageError } from '../../core/errors.ts';
import type { Job } from '../../core/model/index.ts';
import { formatCount, formatVesselDay, systemClock } from '../../core/model/index.ts';
import { addDays, datesBetween, microsToDate } from '../../core/model/time.ts';
import type { BackfillChange } from '../../fleet/backfills.ts';
import {
  changeBackfill,
  checkHasHistory,
  createBackfillDriver,
  releaseFailed,
  startBackfill,
  stepDefined,
} from '../../fleet/backfills.ts';
import type { Fleet } from '../../fleet/fleet.ts';
import { type FleetNews, tellFleet } from '../../fleet/fleet-news.ts';
import { type BackfillView, followBackfill } from '../../fleet/follow-backfill.ts';
import { tellingRequests } from '../../fleet/telling-requests.ts';
import { type Backfill, belongsTo, listBackfills } from '../../lake/backfills.ts';
import { vesselsOnDates } from '../../lake/ledger/newest-days.ts';
import { pickJobs } from '../../runtime/config/config.ts';
import { formatSeconds, formatTable } from '../terminal/format.ts';
import { formatVesselTroubles } from '../terminal/plan-view.ts';
import { createBackfillView } from '../terminal/progress-view.ts';
import { roomOn, writeLines, writeText } from '../terminal/screen.ts';
import type { Command, CommandContext, JsonOption, Names } from './command.ts';
import { EXIT_FAILED, EXIT_OK, openOutput, openQueue, readConfig } from './command.ts';
import { type AskedDates, askedDates, type RangeOptions } from './dates.ts';

export interface BackfillOptions extends RangeOptions {
  readonly detach?: boolean;
  readonly failed?: boolean;
  readonly allowShrink?: boolean;
}

const FOLLOW_MS = 2_000;

/** Begin or continue the backfill of a range. `overrides` and `followMs` are for tests. */
export async function backfillCommand(
  context: CommandContext,
  jobName: string,
  options: BackfillOptions,
  overrides: AppOverrides = {},
  followMs: number = FOLLOW_MS,
): Promise<number> {
  const asked = askedDates(options, (overrides.clock ?? systemClock).nowMs());
  const config = readConfig(context);
  const job = pickJobs(config, [jobName])[0]!;
  checkHasHistory(job);
  let news: FleetNews | undefined;
  const telling = tellingRequests(overrides, () => news);
  await using fleet = await openQueue(context, config, telling);
  await fleet.app.ports.layout.check([jobName]);
  const request = await requestOf(fleet, jobName, asked, options);
  const released = options.failed === true ? await releaseFailed(fleet.queue, request) : [];
  if (released.length > 0) writeText(context.stderr, `${released.length} failed vessel-days are retried\n`);
  const { backfill } = await startBackfill(fleet, job, request);
  if (options.detach === true) {
    const driver = createBackfillDriver(fleet.planning, backfill, job);
    await stepDefined(fleet.planning, driver, context.signal);
    writeLines(context.stdout, `${backfill.id}\n`);
    const next = "the scheduler continues it; 'vessel-export backfill list' shows its progress\n";
    writeText(context.stderr, next);
    return EXIT_OK;
  }
  const told = tellFleet({ ...fleet, role: 'backfill' });
  news = told;
  return await follow(context, fleet, news, backfill, job, followMs).finally(told.leave);
}

/** The range asked for; with `--failed` alone, from the first failed day to the last. */
async function requestOf(fleet: Fleet, job: string, { from, to }: AskedDates, options: BackfillOptions) {
  const { vessel: vessels = [], allowShrink = false } = options;
  if (from !== undefined && to !== undefined) return { job, from, to, vessels, allowShrink };
  if (options.failed !== true || from !== undefined || to !== undefined)
    throw usageError('--from and --to: expected both, --days, --month, or --failed alone');
  const letters = await fleet.queue.deadLetters();
  const dates = letters.filter(({ day }) => day.job === job).map(({ day }) => day.date);
  const [first, last] = [dates.toSorted().at(0), dates.toSorted().at(-1)];
  if (first === undefined || last === undefined)
    throw new ConfigError('none-failed', `job '${job}': no failed vessel-day is in the queue`);
  return { job, from: first, to: addDays(last, 1), vessels, allowShrink };
}

async function follow(
  context: CommandContext,
  fleet: Fleet,
  news: FleetNews,
  backfill: Backfill,
  job: Job,
  intervalMs: number,
): Promise<number> {
  const { planning } = fleet;
  const { clock } = planning.ports;
  const startedMs = clock.monotonicMs();
  const view = createBackfillView(context.stderr, clock);
  const show: BackfillView['show'] = (id, progress) => {
    view.show(id, progress);
    news.onEvent({ kind: 'backfill', id, progress });
  };
  const { signal } = context;
  const following = followBackfill({ planning, backfill, job, view: { ...view, show }, intervalMs, signal });
  // It may be waiting for Redis.
  if (!(await endsAfter(following, signal, AWAY_STOP_MS, clock))) throw new CancelledError();
  const end = await following;
  if (end.state === 'stopped') {
    writeText(context.stdout, `${backfill.id}: ${end.reason}\n`);
    return EXIT_FAILED;
  }
  news.onEvent({ kind: 'backfill-ended', id: backfill.id });
  const { done, failed, troubles } = end.progress;
  const time = formatSeconds((clock.monotonicMs() - startedMs) / 1_000);
  const days = `${formatCount(done)} done, ${formatCount(failed)} failed`;
  // Rows and bytes are counted by the workers: `status` reads them from the receipts.
  writeText(context.stdout, `${backfill.id}: ${days} in ${time}, in ${fleet.app.config.settings.LAKE_URL}\n`);
  for (const { day, code, message } of await fleet.queue.deadLetters()) {
    if (belongsTo(backfill, day))
      writeText(context.stderr, `failed: ${formatVesselDay(day)}: ${code}: ${message}\n`);
  }
  if (troubles.length > 0) writeText(context.stderr, `${formatVesselTroubles(troubles)}\n`);
  return failed === 0 && !troubles.some(({ code }) => code === 'malformed-imo') ? EXIT_OK : EXIT_FAILED;
}

/** `backfill pause | resume | cancel`. */
export const backfillChangeCommand =
  (change: BackfillChange): Command<[Names]> =>
  async (context, ids, overrides = {}) => {
    await using fleet = await openQueue(context, readConfig(context), overrides);
    for (const id of ids) {
      const { withdrawn } = await changeBackfill(fleet, change, id);
      const waited = `; ${formatCount(withdrawn)} vessel-days were taken out of the queue`;
      writeText(context.stdout, `${id}: ${CHANGE_WORDS[change]}${withdrawn === 0 ? '' : waited}\n`);
    }
    return EXIT_OK;
  };

const CHANGE_WORDS = { pause: 'paused', resume: 'goes on', cancel: 'cancelled' };
const STATE_WORDS = { running: 'under way', paused: 'paused', 'job-gone': 'its job is gone' };

export const backfillListCommand: Command<[JsonOption]> = async (context, options, overrides = {}) => {
  const config = readConfig(context);
  await using fleet = await openQueue(context, config, overrides);
  const { stdout, stderr } = context;
  const output = openOutput(stdout, 'backfill-list', options);
  const ofLake: string[] = [];
  const rows: (string | number)[][] = [['backfill', 'state', 'due', 'done', 'failed', 'in queue', 'left']];
  const onDamaged = (id: string, error: DataError) =>
    writeText(stderr, `backfill ${id} cannot be read: ${messageOf(error)}\n`);
  for (const backfill of await listBackfills(fleet.app.store, onDamaged)) {
    const { backfillVersion: _, paused, ...definition } = backfill;
    const job = config.jobs.find(({ name }) => name === backfill.job);
    const { vessels, vesselsFrom } = await vesselsToList(fleet, backfill, job);
    const listed = { ...backfill, vessels };
    // With a share of 0 it only computes the progress. Without a vessel nothing is known.
    const driver = job && vessels.length > 0 && createBackfillDriver(fleet.planning, listed, job);
    const seen = driver ? await driver.step(context.signal, 0) : undefined;
    const { due = 0, done: published = 0, failed = 0, queued = 0, left = 0 } = seen ?? {};
    const progress = seen && { due, published, failed, queued, left };
    const state = job === undefined ? 'job-gone' : paused ? 'paused' : 'running';
    output.add('backfills', { ...definition, state, vesselsFrom, progress: progress ?? null });
    if (vesselsFrom === 'lake') ofLake.push(backfill.id);
    const cells = progress ? Object.values(progress) : ['-', '-', '-', '-', '-'];
    rows.push([backfill.id, STATE_WORDS[state], ...cells]);
  }
  output.end({});
  if (!output.isText) return EXIT_OK;
  const table = rows.length === 1 ? 'there is no unfinished backfill' : formatTable(rows, roomOn(stdout));
  writeLines(stdout, `${table}\n`);
  const known = 'counts the vessels in the lake; the service, which may have others, was not queried';
  if (ofLake.length > 0) writeText(stdout, `${ofLake.join(', ')}: ${known}\n`);
  return EXIT_OK;
};

/** Days before today whose receipts give the vessels, besides those of the range. */
const RECENT_DAYS = 14;

/** The vessels of a backfill, as far as they are known without the service, which may be down. */
async function vesselsToList({ app }: Fleet, backfill: Backfill, job: Job | undefined) {
  if (backfill.vessels.length > 0) return { vessels: backfill.vessels, vesselsFrom: 'command' as const };
  if (job === undefined || !('discover' in job.vessels))
    return {
      vessels: job === undefined ? [] : (job.vessels as readonly string[]),
      vesselsFrom: 'job' as const,
    };
  const today = microsToDate(app.ports.clock.nowMs() * 1_000);
  const recent = datesBetween(addDays(today, -RECENT_DAYS), addDays(today, 1));
  const dates = [...new Set([...datesBetween(backfill.from, backfill.to), ...recent])];
  return { vessels: await vesselsOnDates(app.store, job.name, dates), vesselsFrom: 'lake' as const };
}
