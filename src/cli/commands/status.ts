/** `status`: the state of each vessel-day, from the lake alone. */
import { type Coverage, type CoverageState, createCoverageSum } from '../../audit/status/cells.ts';
import { readJobStatus } from '../../audit/status/job-status.ts';
import { type Clock, type Job, lookbackDaysOf, systemClock } from '../../core/model/index.ts';
import { thisProcess } from '../../core/process/process-id.ts';
import type { VesselTrouble } from '../../export/events.ts';
import { findVessels, type JobVessels } from '../../export/job-vessels.ts';
import { describeWarning, describeWarnings, howToAccept } from '../../lake/warnings.ts';
import { formatVesselTroubles } from '../terminal/plan-view.ts';
import { paint } from '../terminal/screen.ts';
import { formatStatus } from '../terminal/status-view.ts';
import type { Command, Item, Names, OpenedLake, Output, OutputOptions } from './command.ts';
import { EXIT_OK, openLakeAndService, openOutput } from './command.ts';
import { askedDates, datesOr, formatDates, type RangeOptions } from './dates.ts';

export interface StatusOptions extends RangeOptions, OutputOptions {
  /** Request the vessels from the service, for jobs with discovery. */
  readonly discover?: boolean;
}

const DEFAULT_COLUMNS = 120;

export const statusCommand: Command<[Names, StatusOptions]> = async (
  context,
  names,
  options,
  overrides = {},
) => {
  const clock = overrides.clock ?? systemClock;
  const asked = askedDates(options, clock.nowMs());
  const { stdout } = context;
  const output = openOutput(stdout, 'status', options);
  await using lake = await openLakeAndService(context, names, options.discover === true, overrides);
  const apiVersion = lake.config.settings.QUERY_API_VERSION;
  const ports = { store: lake.store, clock, self: thisProcess(), log: lake.log, apiVersion };
  const blocks: string[] = [];
  const all = { vesselDays: 0, rows: 0 };
  for (const job of lake.jobs) {
    const dates = datesOr(lookbackDaysOf(job), asked, clock.nowMs());
    const { from, to, meaning } = dates;
    const asker = { ...lake, clock };
    const { vesselsFrom, ...known } = await vesselsToShow(asker, job, options, to, context.signal);
    const isCurrent = vesselsFrom === 'service';
    const status = await readJobStatus(ports, job, { from, to, vessels: known.vessels, isCurrent });
    const cells: Coverage[] = [];
    const { summary, newest } = await tellCells(output, status.cells, cells);
    const troubles = known.troubles ?? unlistedBy(newest);
    for (const trouble of troubles) output.add('vessels', { job: job.name, ...trouble });
    all.vesselDays += summary.vesselDays;
    all.rows += summary.rows;
    for (const { day, warnings } of status.warnings)
      for (const warning of warnings)
        output.add('warnings', { ...day, code: warning.kind, message: describeWarning(warning) });
    const receipts = { fetched: status.fetched, fromIndex: status.fromIndex };
    const about = { job: job.name, dataset: job.dataset, from, to, vesselsFrom, vessels: status.vessels };
    output.add('jobs', { ...about, ...summary, receipts });
    if (!output.isText) continue;
    const warned = status.warnings.map(
      ({ day, warnings }) =>
        `${paint(stdout, 'yellow', 'warning:')} ${day.vessel}: ${describeWarnings(warnings)}; '${howToAccept(day)}' accepts it`,
    );
    const shownDates = meaning === undefined ? '' : `dates: ${formatDates(dates)}`;
    const warnings = [shownDates, WARNINGS[vesselsFrom], formatVesselTroubles(troubles), ...warned];
    const warning = warnings.filter((line) => line !== '').join('\n');
    const shown = { job: job.name, cells, summary, warning };
    blocks.push(formatStatus(shown, stdout.columns ?? DEFAULT_COLUMNS, stdout));
  }
  output.end(all, () => `${blocks.join('\n\n')}\n`);
  return EXIT_OK;
};

/** Prints each cell as JSON, or keeps it for people; returns the totals, and each vessel's newest day with an attempt. */
async function tellCells(output: Output<'status'>, cells: Iterable<Coverage>, shown: Coverage[]) {
  const sum = createCoverageSum();
  const newest = new Map<string, Coverage>();
  for (const cell of cells) {
    sum.add(cell);
    if (!UNTRIED.has(cell.state)) newest.set(cell.day.vessel, cell);
    if (output.isText) {
      shown.push(cell);
      continue;
    }
    const { day, ...more } = cell;
    const { job, vessel, date } = day;
    output.add('days', { job, vessel, date, ...more });
    const taken = output.taken();
    if (taken !== undefined) await taken;
  }
  return { summary: sum.end(), newest };
}

type VesselsFrom = Item<'status', 'jobs'>['vesselsFrom'];

/** Undefined `vessels`: those in the lake; undefined `troubles`: the service was not requested. */
interface ShownVessels extends Partial<Pick<JobVessels, 'vessels' | 'troubles'>> {
  readonly vesselsFrom: VesselsFrom;
}

async function vesselsToShow(
  { client, store, log, clock }: OpenedLake & { readonly clock: Clock },
  job: Job,
  options: StatusOptions,
  to: string,
  signal: AbortSignal,
): Promise<ShownVessels> {
  if (options.vessel !== undefined) return { vessels: options.vessel, vesselsFrom: 'command' };
  if (!('discover' in job.vessels)) return { vessels: job.vessels, vesselsFrom: 'job' };
  if (client === undefined) return { vesselsFrom: 'lake' };
  const found = await findVessels({ client, store, log, clock }, job, { vessels: [], to }, signal);
  return { ...found, vesselsFrom: 'service' };
}

const UNTRIED: ReadonlySet<CoverageState> = new Set(['not-due', 'not-asked-for', 'missing', 'running']);

/** Without the service: vessels that it did not list, or had no series of, at the last attempt, with the day of that. */
function unlistedBy(newest: ReadonlyMap<string, Coverage>): VesselTrouble[] {
  return [...newest].flatMap(([vessel, { day, unlisted, code, message = '' }]) => {
    if (code === 'no-series') return [{ vessel, code: 'unlisted' as const, message }];
    if (unlisted !== true) return [];
    const known = `not among the vessels that were discovered when ${day.date} was published`;
    return [{ vessel, code: 'unlisted' as const, message: known }];
  });
}

const WARNINGS: Readonly<Record<VesselsFrom, string>> = {
  command: '',
  job: '',
  service: 'vessels: as the service lists them now',
  lake: 'vessels: those that the lake has on these dates; the service was not queried for others (use --discover)',
};
