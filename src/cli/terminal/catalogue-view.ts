/** Vessels and series as tables. */
import { formatCount, microsToIso } from '../../core/model/index.ts';
import { expressionOf, type SeriesEntry, type VesselEntry } from '../../query/catalogue/entries.ts';
import { formatTable, widthOf } from './format.ts';
import { type Colours, paint } from './screen.ts';

const NONE = '-';

export function formatVessels(entries: readonly VesselEntry[], columns: number): string {
  const rows = entries.map(({ vessel, name, series, lastMicros, jobs }) => [
    ...[vessel, name ?? NONE, series, timeOf(lastMicros), jobs.join(', ') || NONE],
  ]);
  return formatTable([['vessel', 'name', 'series', 'last reading', 'jobs'], ...rows], columns);
}

/** Longest value and name that a column is made wide for. */
const VALUE_CHARS = 24;

const HEAD = ['select', 'unit', 'range', 'type', 'last reading', 'value', 'jobs', 'other names'];
const LEFT_OUT = 'The names in other domains are left out, for want of room: --json and --csv have them.';

/** A table for each vessel; without the names in other domains where `columns` do not hold them. */
export function formatSeries(entries: readonly SeriesEntry[], columns: number, colours: Colours): string {
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

/** As they would stand in `select`, but for the one that is shown already. */
function otherNames(entry: SeriesEntry): string {
  const shown = expressionOf(entry);
  const others = [...entry.names].map(([domain, name]) =>
    name.startsWith(`${entry.vessel}/`)
      ? `${domain}/{vessel}${name.slice(entry.vessel!.length)}`
      : `${domain}/${name}`,
  );
  return others.filter((name) => name !== shown).join(' ') || NONE;
}
