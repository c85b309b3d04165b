import { usageError } from '../../core/errors.ts';
import { shortName } from '../../core/model/index.ts';
import { columnName, columnNames } from './column-names.ts';

export interface NamedSeries {
  readonly vessel: string;
  readonly timeSeriesId: string;
  readonly tag: string;
  readonly unit: string | null;
}

export interface WideColumn {
  readonly name: string;
  readonly tag: string;
  /** Only these series of that tag; empty: all. */
  readonly ids: readonly string[];
  /** Not these, which have columns of their own. */
  readonly notIds: readonly string[];
  /** The original and the unit, in the words of the source. */
  readonly comment: string;
}

/** `shared`: what every vessel has; `all`: what any has; else the names themselves. */
type AskedColumns = 'shared' | 'all' | readonly string[];

/** More are no table any more: Athena, Snowflake and Fabric end near a thousand. */
const MAX_COLUMNS = 1_000;
const FIXED = ['vessel', 'date', 'timestamp'] as const;
/** Engines take scripts of some hundred thousand characters, in which a name stands twice. */
const MAX_TAG_CHARS = 1_000;

/** A column for each name; series of one vessel that share a name have one each. Throws ConfigError `usage` for an unknown name, no or too many columns. */
export function chooseColumns(series: readonly NamedSeries[], asked: AskedColumns) {
  const byTag = Map.groupBy(series, ({ tag }) => tag);
  const warnings: string[] = [];
  const tooLong = [...byTag.keys()].filter((tag) => tag.length > MAX_TAG_CHARS);
  for (const tag of tooLong) {
    byTag.delete(tag);
    warnings.push(`'${shortName(tag)}' has no column: a name of more than ${MAX_TAG_CHARS} characters`);
  }
  const tags = tagsOf(byTag, new Set(series.map(({ vessel }) => vessel)).size, asked);
  const slots = tags.flatMap((tag) => slotsOf(tag, byTag.get(tag)!, warnings));
  if (slots.length === 0 || slots.length > MAX_COLUMNS) {
    const found = slots.length === 0 ? 'no series that every vessel has' : `${slots.length} columns`;
    throw usageError(
      `--columns: found ${found}, expected 1 to ${MAX_COLUMNS}; name the series: --columns 'Shaft Power' 'Speed Over Ground', or the vessels of one type: --vessel IMO9321483`,
    );
  }
  // Ids may begin alike: those made in one minute do.
  const alike = Map.groupBy(slots, ({ label }) => label);
  const keyOf = ({ label, ids }: Slot) => (alike.get(label)!.length === 1 ? label : `${label}\0${ids}`);
  const labels = new Map(slots.map((slot) => [keyOf(slot), slot.label]));
  const names = columnNames([...labels.keys()], FIXED, { wanted: (key) => columnName(labels.get(key)!) });
  const columns = slots.map((slot) => ({ name: names.get(keyOf(slot))!, ...slot }));
  return { columns, warnings };
}

function tagsOf(
  byTag: ReadonlyMap<string, readonly NamedSeries[]>,
  vessels: number,
  asked: AskedColumns,
): string[] {
  const known = [...byTag.keys()].sort();
  if (asked === 'all') return known;
  if (asked === 'shared')
    return known.filter((tag) => new Set(byTag.get(tag)!.map(({ vessel }) => vessel)).size === vessels);
  const unknown = asked.filter((tag) => !known.includes(tag));
  if (unknown.length > 0)
    throw usageError(
      `--columns: no series is called '${unknown.map(shortName).join("', '")}'; the view 'series' has the names, as 'tag'`,
    );
  return [...new Set(asked)];
}

type Slot = Omit<WideColumn, 'name'> & { readonly label: string };

function slotsOf(tag: string, series: readonly NamedSeries[], warnings: string[]): Slot[] {
  const units = [...new Set(series.map(({ unit }) => unit ?? 'no unit'))].sort();
  const shown = shortName(tag);
  if (units.length > 1)
    warnings.push(`'${shown}' has several units, which one column does not tell: ${units.join(', ')}`);
  const comment = (unit: readonly string[]) => `${shown} [${unit.map(shortName).join(', ')}]`;
  const ofVessel = Map.groupBy(series, ({ vessel }) => vessel);
  const doubled = [...ofVessel.values()].filter((some) => some.length > 1).flat();
  const notIds = doubled.map(({ timeSeriesId }) => timeSeriesId).sort();
  const own = notIds.map((id): Slot => {
    const one = doubled.find(({ timeSeriesId }) => timeSeriesId === id)!;
    const told = `${comment([one.unit ?? 'no unit'])}, series ${shortName(id)} of ${one.vessel}`;
    return { label: `${tag} ${id.slice(0, 8)}`, tag, ids: [id], notIds: [], comment: told };
  });
  if (own.length === series.length) return own;
  return [{ label: tag, tag, ids: [], notIds, comment: comment(units) }, ...own];
}
