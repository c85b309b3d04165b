/** Common part of `views` and `sql`: a session on the lake's views of the given jobs, and the shape of `wide`. */
import { ConfigError, usageError } from '../../core/errors.ts';
import { readLayout } from '../../lake/lake-file.ts';
import { openLakeSession } from '../../query/sql/lake-session.ts';
import { findSources } from '../../query/sql/lake-sources.ts';
import type { ViewedLake } from '../../query/views/dialect.ts';
import type { WideAggregate, WideOptions } from '../../query/views/wide.ts';
import { MAX_HELD_WINDOWS, WIDE_AGGREGATES } from '../../query/views/wide.ts';
import { chooseColumns, type NamedSeries } from '../../query/views/wide-columns.ts';
import { pickJobs } from '../../runtime/config/config.ts';
import { parseDurationMs, windowMicros } from '../../runtime/config/job-file.ts';
import { paint, writeText } from '../terminal/screen.ts';
import { type CommandContext, openLake } from './command.ts';
import { vesselFaults } from './dates.ts';

export interface LakeSqlOptions {
  readonly job?: readonly string[];
  readonly fetchGb: number;
  /** What `wide` is to be. */
  readonly columns?: readonly string[];
  readonly vessel?: readonly string[];
  readonly window: string;
  readonly aggregate: string;
  readonly hold: string;
}

/** A session, the lake it shows, and what `wide` is to be. `ofJob` and `ofLake` warn of what has no objects; without `ofLake` an empty lake is refused. Throws ConfigError. */
export async function openLakeSql(
  context: CommandContext,
  options: LakeSqlOptions,
  ofJob: string,
  ofLake?: string,
) {
  const warn = (text: string) =>
    writeText(context.stderr, `${paint(context.stderr, 'yellow', 'warning:')} ${text}\n`);
  const wide = wideFromOptions(options, warn);
  const { job: names = [], fetchGb } = options;
  await using opening = new AsyncDisposableStack();
  const { store, config, log, jobs } = opening.use(await openLake(context));
  const named = names.length === 0 ? [] : pickJobs(config, names);
  const layout = await readLayout(store);
  const found = await findSources(store, jobs, named);
  const { sources, emptySources } = found;
  const jobNames = jobs.map(({ name }) => name);
  const isEmpty = sources.length === 0;
  if (isEmpty && (ofLake === undefined || emptySources.length === 0))
    throw new ConfigError(
      'empty-lake',
      `${store.url} has no objects of the jobs in ${config.settings.JOBS_DIR} (${jobNames.join(', ')}): check LAKE_URL and JOBS_DIR, or run 'vessel-export run' first`,
    );
  if (isEmpty) warn(`${store.url} has no objects of any job yet: ${ofLake}`);
  else for (const { job } of emptySources) warn(`the lake has no objects of the job '${job}' yet: ${ofJob}`);
  const bounds = { tempDir: config.settings.TEMP_DIR, maxFetchBytes: fetchGb * 1e9 };
  const session = await openLakeSession({ store, layout, log, ...found, wide, ...bounds }, context.signal);
  opening.defer(() => session.close());
  // The first export gives it the layout of LAKE_LAYOUT.
  const toBe = layout === 'plain' ? (config.settings.LAKE_LAYOUT ?? layout) : layout;
  const empty = { layout: toBe, sources: emptySources, receiptJobs: jobNames };
  const lake: ViewedLake = { ...session.lake, ...(isEmpty && empty) };
  const opened = opening.move();
  return { session, lake, wide, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Checks options without the lake. Throws ConfigError `usage` that lists every fault. */
function wideFromOptions(options: LakeSqlOptions, onWarning: (text: string) => void) {
  const { columns = ['shared'], vessel: vessels = [], aggregate } = options;
  const windowed = windowMicros(options.window);
  const held = parseDurationMs(options.hold);
  const faults = [
    windowed === undefined &&
      `--window: got '${options.window}', expected minutes, hours or 1d that divide a day, such as 10m`,
    !WIDE_AGGREGATES.includes(aggregate as WideAggregate) &&
      `--aggregate: got '${aggregate}', expected ${WIDE_AGGREGATES.join(', ')}`,
    !held && `--hold: got '${options.hold}', expected a duration such as 10m or 1h`,
    ...vesselFaults(vessels),
  ].filter((fault) => typeof fault === 'string');
  if (windowed !== undefined && held && Math.ceil((held * 1_000) / windowed) > MAX_HELD_WINDOWS)
    faults.push(
      `--hold: got '${options.hold}', expected at most ${MAX_HELD_WINDOWS} windows of ${options.window}`,
    );
  if (faults.length > 0) throw usageError(faults.join('\n'));
  return (series: readonly NamedSeries[]): WideOptions => {
    const own = series.filter(({ vessel }) => vessels.length === 0 || vessels.includes(vessel));
    const [only] = columns;
    const asked = columns.length === 1 && (only === 'shared' || only === 'all') ? only : columns;
    const { columns: chosen, warnings } = chooseColumns(own, asked);
    for (const warning of warnings) onWarning(warning);
    const [windowMicros, holdMicros] = [windowed!, held! * 1_000];
    return { columns: chosen, windowMicros, aggregate: aggregate as WideAggregate, holdMicros };
  };
}
