/** `readings`: one row per reading, with its name and unit; `windows`: the same for statistics. */
import { sql } from '../../core/duckdb/sql-text.ts';
import { AGGREGATIONS, aggregationColumns } from '../../core/model/index.ts';
import type { Dialect, SelectItem, Source, View, ViewedLake } from './dialect.ts';
import { relation, selectList, withoutVessel } from './dialect.ts';

/** Where there is no metadata, names come from the rows alone and units are unknown. */
export function readingsView(d: Dialect, lake: ViewedLake, source: Source): View {
  const q = (name: string) => sql`m.${d.quote(name)}`;
  const asDouble = sql`CAST(${q('long_value')} AS ${d.types.double})`;
  return named(d, lake, source, 'readings', [
    [sql`coalesce(${q('double_value')}, ${asDouble})`, 'value'],
    [q('json_value'), 'text'],
  ]);
}

export function windowsView(d: Dialect, lake: ViewedLake, source: Source): View {
  const known = new Set(AGGREGATIONS.flatMap(aggregationColumns).map(({ name }) => name));
  const own = source.columns.map(({ name }) => name).filter((name) => known.has(name));
  return named(
    d,
    lake,
    source,
    'windows',
    own.map((name): SelectItem => [sql`m.${d.quote(name)}`, name]),
  );
}

function named(
  d: Dialect,
  lake: ViewedLake,
  source: Source,
  name: string,
  values: readonly SelectItem[],
): View {
  const q = (column: string) => sql`m.${d.quote(column)}`;
  const hasSeries = lake.sources.some(({ dataset }) => dataset === 'metadata');
  const plainTag = withoutVessel(d, q('id'));
  const tag = hasSeries ? sql`coalesce(s.${d.quote('tag')}, ${plainTag})` : plainTag;
  const unit = hasSeries ? sql`s.${d.quote('unit')}` : sql`CAST(NULL AS ${d.types.text})`;
  const items: SelectItem[] = [
    [q('vessel'), 'vessel'],
    [q('date'), 'date'],
    [q('timestamp'), 'timestamp'],
    [tag, 'tag'],
    [unit, 'unit'],
    ...values,
    [q('time_series_id'), 'time_series_id'],
  ];
  const join = sql`\nLEFT JOIN ${relation(d, lake, 'series')} s ON s.${d.quote('vessel')} = ${q('vessel')} AND s.${d.quote('time_series_id')} = ${q('time_series_id')}${d.afterJoin}`;
  const body = sql`SELECT
${selectList(d, items)}
FROM ${relation(d, lake, source.relation)} m${hasSeries ? join : sql``}`;
  return { name, body, comments: new Map() };
}
