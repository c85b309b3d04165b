/** `vessels` and `series`: list what the service or the lake has, in the form of a job's `select`. */
import { type AppOverrides, openClient } from '../../app.ts';
import { usageError } from '../../core/errors.ts';
import { formatCount, type Job, microsToIso, systemClock, vesselOf } from '../../core/model/index.ts';
import { expressionOf, isAbout, type SeriesEntry, type VesselEntry } from '../../query/catalogue/entries.ts';
import { type LakePorts, listLakeSeries, listLakeVessels } from '../../query/catalogue/from-lake.ts';
import type { CataloguePorts } from '../../query/catalogue/from-service.ts';
import { listServiceSeries, listServiceVessels } from '../../query/catalogue/from-service.ts';
import { loadServiceConfig } from '../../runtime/config/config.ts';
import { formatTable, widthOf } from '../terminal/format.ts';
import { csvLine } from '../terminal/query-view.ts';
import { type Colours, paint, roomOn, type Screen, writeLines } from '../terminal/screen.ts';
import type { Command, CommandContext, JsonOption } from './command.ts';
import { commandLog, EXIT_FAILED, EXIT_OK, expectOne, openLake, openOutput } from './command.ts';

interface CatalogueOptions extends JsonOption {
  readonly lake?: boolean;
  /** Days before now in which the last reading is searched; 0: it is not searched. */
  readonly days: number;
  readonly csv?: boolean;
}

interface SeriesOptions extends CatalogueOptions {
  readonly search?: string;
  readonly select?: readonly string[];
}

export const vesselsCommand: Command<[CatalogueOptions]> = async (context, options, overrides = {}) => {
  expectOne(options, ['json', 'csv']);
  const { stdout } = context;
  const output = openOutput(stdout, 'vessels', options);
  const { days } = options;
  const entries = await ask(
    context,
    options,
    overrides,
    (ports, jobs) => listServiceVessels(ports, { days, jobs }),
    listLakeVessels,
  );
  for (const { lastMicros, ...entry } of entries)
    output.add('vessels', { ...entry, jobs: [...entry.jobs], lastTime: isoOrNull(lastMicros) });
  output.end({});
  if (options.csv === true) {
    const rows = entries.map(({ vessel, name, series, lastMicros, readings, jobs }) => [
      ...[vessel, name, series, isoOrNull(lastMicros), readings, jobs.join(' ')],
    ]);
    writeCsv(stdout, ['vessel', 'name', 'series', 'last_time', 'readings', 'jobs'], rows);
  } else if (output.isText) writeLines(stdout, `${formatVessels(entries, roomOn(stdout))}\n`);
  return EXIT_OK;
};

export const seriesCommand: Command<[string | undefined, SeriesOptions]> = async (
  context,
  written,
  options,
  overrides = {},
) => {
  expectOne(options, ['json', 'csv']);
  // `IMO9321483`, or the number alone.
  const vessel = written === undefined ? undefined : vesselOf(written);
  if (written !== undefined && vessel === undefined)
    throw usageError(`got the vessel '${written}', expected IMO and seven digits, such as IMO9321483`);
  const { stdout, stderr } = context;
  const output = openOutput(stdout, 'series', options);
  const { days, search, select = [] } = options;
  const all = await ask(
    context,
    options,
    overrides,
    (ports, jobs) => listServiceSeries(ports, vessel, { days, jobs, select }),
    (ports, jobs) => listLakeSeries(ports, vessel, { days, jobs }),
  );
  const entries = search === undefined ? all : all.filter((entry) => isAbout(entry, search));
  for (const entry of entries) {
    const { names, lastMicros, jobs, vessel, vesselName, timeSeriesId, ...more } = entry;
    const named = { select: expressionOf(entry), vessel, vesselName, timeSeriesId };
    const shown = { ...more, lastTime: isoOrNull(lastMicros), jobs: [...jobs] };
    output.add('series', { ...named, names: Object.fromEntries(names), ...shown });
  }
  output.end({ listed: all.length });
  if (options.csv === true) writeSeriesCsv(stdout, entries);
  else if (output.isText && entries.length > 0)
    writeLines(stdout, `${formatSeries(entries, roomOn(stdout), stdout)}\n`);
  const nowhere = `nothing of ${all.length} series has '${search}' in its names, description, unit or source`;
  if (entries.length === 0 && search !== undefined) writeLines(stderr, `${nowhere}\n`);
  return entries.length === 0 ? EXIT_FAILED : EXIT_OK;
};

async function ask<T>(
  context: CommandContext,
  { lake }: CatalogueOptions,
  overrides: AppOverrides,
  askService: (ports: CataloguePorts, jobs: readonly Job[]) => Promise<T>,
  askLake: (ports: LakePorts, jobs: readonly Job[]) => Promise<T>,
): Promise<T> {
  const { clock = systemClock } = overrides;
  if (lake === true) {
    await using opened = await openLake(context);
    return await askLake({ ...opened, clock }, opened.jobs);
  }
  const config = loadServiceConfig(context.env, context.envFile);
  const { settings, jobs, jobFaults } = config;
  const log = commandLog(context, settings.LOG_LEVEL);
  // The author of a first job wants to know what it may select.
  for (const fault of jobFaults) log.warn({}, `the jobs that are left out: ${fault}`);
  const { client, close } = await openClient(config, context.env, log, overrides);
  const { QUERY_MAX_CONCURRENCY: concurrency } = settings;
  return askService({ client, clock, log, concurrency, signal: context.signal }, jobs).finally(close);
}

function writeSeriesCsv(stdout: Screen, entries: readonly SeriesEntry[]): void {
  const domains = [...new Set(entries.flatMap(({ names }) => [...names.keys()]))].sort();
  const head = ['vessel', 'vessel_name', 'select', 'unit', 'range_low', 'range_high', 'type', 'last_time'];
  const more = ['last_value', 'readings', 'jobs', 'name', 'description', 'source', 'time_series_id'];
  const rows = entries.map((entry) => [
    ...[entry.vessel, entry.vesselName, expressionOf(entry), entry.unit, entry.rangeLow, entry.rangeHigh],
    ...[entry.type, isoOrNull(entry.lastMicros), entry.lastValue, entry.readings, entry.jobs.join(' ')],
    ...[entry.name, entry.description, entry.source, entry.timeSeriesId],
    ...domains.map((domain) => entry.names.get(domain) ?? null),
  ]);
  writeCsv(stdout, [...head, ...more, ...domains], rows);
}

type CsvRow = readonly (string | number | null)[];

function writeCsv(screen: Screen, head: readonly string[], rows: readonly CsvRow[]): void {
  writeLines(screen, `${[head, ...rows].map(csvLine).join('\n')}\n`);
}

function isoOrNull(micros: number | null): string | null {
  return micros === null ? null : microsToIso(micros);
}

const NONE = '-';

function formatVessels(entries: readonly VesselEntry[], columns: number): string {
  const rows = entries.map(({ vessel, name, series, lastMicros, jobs }) => [
    ...[vessel, name ?? NONE, series, timeOf(lastMicros), jobs.join(', ') || NONE],
  ]);
  return formatTable([['vessel', 'name', 'series', 'last reading', 'jobs'], ...rows], columns);
}

const VALUE_CHARS = 24;

const HEAD = ['select', 'unit', 'range', 'type', 'last reading', 'value', 'jobs', 'other names'];
const LEFT_OUT = 'The names in other domains are left out, for want of room: --json and --csv have them.';

/** A table for each vessel; without the names in other domains if `columns` are too few. */
function formatSeries(entries: readonly SeriesEntry[], columns: number, colours: Colours): string {
  const byVessel = [...Map.groupBy(entries, ({ vessel }) => vessel)];
  const whole = byVessel.map(([, ofVessel]) => [HEAD, ...ofVessel.map(rowOf)]);
  const isWide = whole.some((rows) => Math.max(...formatTable(rows).split('\n').map(widthOf)) > columns);
  const tables = isWide ? whole.map((rows) => rows.map((row) => row.slice(0, -1))) : whole;
  const blocks = byVessel.map(([vessel, ofVessel], at) => {
    const name = ofVessel[0]!.vesselName;
    const title = `${vessel ?? 'of no vessel'}${name === null ? '' : ` ${name}`}: ${formatCount(ofVessel.length)} series`;
    return `${paint(colours, 'bold', title)}\n${formatTable(tables[at]!, columns)}`;
  });
  return [...blocks, ...(isWide ? [LEFT_OUT] : [])].join('\n\n');
}

function rowOf(entry: SeriesEntry): string[] {
  const { unit, type, lastMicros, lastValue, jobs } = entry;
  const cells = [unit ?? NONE, rangeOf(entry), type ?? NONE, timeOf(lastMicros), shortValue(lastValue)];
  return [expressionOf(entry), ...cells, jobs.join(', ') || NONE, otherNames(entry)];
}

function rangeOf({ rangeLow, rangeHigh }: SeriesEntry): string {
  return rangeLow === null && rangeHigh === null ? NONE : `${rangeLow ?? ''} to ${rangeHigh ?? ''}`.trim();
}

function timeOf(micros: number | null): string {
  return micros === null ? NONE : `${microsToIso(micros).slice(0, 19)}Z`;
}

function shortValue(json: string | null): string {
  if (json === null) return NONE;
  return json.length > VALUE_CHARS ? `${json.slice(0, VALUE_CHARS - 1)}…` : json;
}

/** Names in the form of `select`, except for the one that is shown already. */
function otherNames(entry: SeriesEntry): string {
  const shown = expressionOf(entry);
  const others = [...entry.names].map(([domain, name]) =>
    name.startsWith(`${entry.vessel}/`)
      ? `${domain}/{vessel}${name.slice(entry.vessel!.length)}`
      : `${domain}/${name}`,
  );
  return others.filter((name) => name !== shown).join(' ') || NONE;
}
