/** `series`: what series there are, in the words of a job's `select`. */
import type { AppOverrides } from '../../app.ts';
import { ConfigError } from '../../core/errors.ts';
import { vesselOf } from '../../core/model/index.ts';
import type { SeriesEntry } from '../../query/catalogue/entries.ts';
import { expressionOf, isAbout } from '../../query/catalogue/entries.ts';
import { listLakeSeries } from '../../query/catalogue/from-lake.ts';
import { listServiceSeries } from '../../query/catalogue/from-service.ts';
import { formatSeries } from '../terminal/catalogue-view.ts';
import { roomOn, writeLines } from '../terminal/screen.ts';
import type { CatalogueCommandOptions } from './catalogue.ts';
import { askCatalogue, checkForms, isoOrNull, writeCsv } from './catalogue.ts';
import type { CommandContext } from './context.ts';
import { EXIT_FAILED, EXIT_OK } from './context.ts';
import { openOutput } from './output.ts';

interface SeriesOptions extends CatalogueCommandOptions {
  readonly search?: string;
  readonly select?: readonly string[];
}

/** Print them; exit code 1 where none is found. `overrides` are for tests. */
export async function seriesCommand(
  context: CommandContext,
  written: string | undefined,
  options: SeriesOptions,
  overrides: AppOverrides = {},
): Promise<number> {
  checkForms(options);
  const vessel = written === undefined ? undefined : vesselNamed(written);
  const output = openOutput(context.stdout, 'series', options);
  const { days, search, select = [] } = options;
  const all = await askCatalogue(context, options, overrides, {
    fromService: (ports, jobs) => listServiceSeries(ports, vessel, { days, jobs, select }),
    fromLake: (ports, jobs) => listLakeSeries(ports, vessel, { days, jobs }),
  });
  const entries = search === undefined ? all : all.filter((entry) => isAbout(entry, search));
  const { stdout, stderr } = context;
  for (const entry of entries) output.add('series', shown(entry));
  output.end({ listed: all.length });
  if (options.csv === true) writeSeriesCsv(context, entries);
  else if (output.isText && entries.length > 0)
    writeLines(stdout, `${formatSeries(entries, roomOn(stdout), stdout)}\n`);
  if (entries.length === 0 && search !== undefined)
    writeLines(
      stderr,
      `nothing of ${all.length} series has '${search}' in its names, description, unit or source\n`,
    );
  return entries.length === 0 ? EXIT_FAILED : EXIT_OK;
}

/** `IMO9321483`, or the number alone. */
function vesselNamed(written: string): string {
  const vessel = vesselOf(written);
  if (vessel !== undefined) return vessel;
  throw new ConfigError(
    'usage',
    `got the vessel '${written}', expected IMO and seven digits, such as IMO9321483`,
  );
}

function shown(entry: SeriesEntry) {
  const { vessel, vesselName, timeSeriesId, name, description, source, unit, type, readings } = entry;
  return {
    select: expressionOf(entry),
    ...{ vessel, vesselName, timeSeriesId, names: Object.fromEntries(entry.names) },
    ...{ name, description, source, unit, rangeLow: entry.rangeLow, rangeHigh: entry.rangeHigh, type },
    ...{ lastTime: isoOrNull(entry.lastMicros), lastValue: entry.lastValue, readings, jobs: [...entry.jobs] },
  };
}

/** A column for each domain that any of them has a name in. */
function writeSeriesCsv({ stdout }: CommandContext, entries: readonly SeriesEntry[]): void {
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
