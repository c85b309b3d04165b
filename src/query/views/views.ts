/** The views of a lake in the order in which they build on each other; `coverage`, `readings` and `windows` are spelled here. */
import { comment, commentText, joinSql, type Sql, sql } from '../../core/duckdb/sql-text.ts';
import { AGGREGATIONS, aggregationColumns } from '../../core/model/index.ts';
import type { Dialect, SelectItem, Source, View, ViewedLake } from './dialect.ts';
import { relation, selectList, withoutVessel } from './dialect.ts';
import { seriesView } from './series.ts';
import { type WideOptions, wideView } from './wide.ts';

export const VIEWS: Readonly<Record<string, string>> = {
  series: 'what each series is: the newest snapshot that has it',
  readings: 'one row per reading; value: as a double, text: what is no number, as JSON',
  windows: 'one row per series and window of the statistics job',
  receipts: 'one row per published vessel-day, and how it was proven',
  notes: 'why vessel-days failed, were refused or wait; gone once they are published',
  vessel_days: 'one row per vessel-day that has to be there, and what became of it',
  coverage: 'what the receipts say of each job and vessel',
  wide: 'one row per vessel and window, a column per series',
};

/** Those that a lake can have; `receipts` is made by its dialect, before `coverage`. */
export function viewsOf(d: Dialect, lake: ViewedLake, wide: WideOptions | undefined): View[] {
  const source = (dataset: string) => lake.sources.find((one) => one.dataset === dataset);
  const [metadata, measurements, statistics] = ['metadata', 'measurements', 'statistics'].map(source);
  return [
    ...(metadata === undefined ? [] : [seriesView(d, lake, metadata)]),
    ...(measurements === undefined ? [] : [readingsView(d, lake, measurements)]),
    ...(statistics === undefined ? [] : [windowsView(d, lake, statistics)]),
    ...(lake.receiptJobs.length === 0 ? [] : [coverageView(d, lake)]),
    ...(wide === undefined || measurements === undefined ? [] : [wideView(d, lake, wide)]),
  ];
}

/** `CREATE VIEW`, and what its columns mean. */
export function viewStatements(d: Dialect, lake: ViewedLake, { name, body, comments }: View): Sql[] {
  const qualified = relation(d, lake, name);
  const { commentOn } = d;
  const said =
    commentOn === undefined
      ? []
      : [...comments].map(([column, text]) => commentOn(qualified, column, commentText(text)));
  return [sql`${d.createView} ${qualified} AS\n${body}`, ...said];
}

export function viewScript(d: Dialect, lake: ViewedLake, wide: WideOptions | undefined): Sql {
  const part = (title: string, statements: readonly Sql[]) =>
    sql`\n${comment(title)}${joinSql(
      statements.map((one) => sql`${one};\n`),
      sql``,
    )}`;
  return joinSql(
    [
      ...d.notes(lake).map((note) => sql`-- ${note}\n`),
      ...lake.sources.map((source) => part(`job ${source.job}: ${source.dataset}`, d.source(lake, source))),
      ...(lake.receiptJobs.length > 0 ? [part(`receipts: ${VIEWS.receipts}`, d.receipts(lake))] : []),
      ...viewsOf(d, lake, wide).map((view) =>
        part(`${view.name}: ${VIEWS[view.name]}`, viewStatements(d, lake, view)),
      ),
    ],
    sql``,
  );
}

/** Snapshots are left out: they are written only when something has changed, so that a date without one is no gap. */
function coverageView(d: Dialect, lake: ViewedLake): View {
  const q = d.quote;
  const [first, last] = [sql`min(r.${q('date')})`, sql`max(r.${q('date')})`];
  const items = [
    [sql`r.${q('job')}`, 'job'],
    [sql`r.${q('vessel')}`, 'vessel'],
    [first, 'first_date'],
    [last, 'last_date'],
    [sql`count(*)`, 'days'],
    [sql`${d.days(first, last)} + 1 - count(*)`, 'days_missing'],
    [sql`sum(CASE WHEN r.${q('rows')} = 0 THEN 1 ELSE 0 END)`, 'days_empty'],
    [sql`sum(CASE WHEN r.${q('proof')} = 'exact' THEN 1 ELSE 0 END)`, 'days_exact'],
    [sql`sum(r.${q('rows')})`, 'total_rows'],
    [sql`max(r.${q('finished_at')})`, 'last_finished_at'],
  ] as const;
  const body = sql`SELECT
${selectList(d, items)}
FROM ${relation(d, lake, 'receipts')} r
WHERE r.${q('dataset')} <> 'metadata'
GROUP BY r.${q('job')}, r.${q('vessel')}`;
  return { name: 'coverage', body, comments: new Map() };
}

/** Where there is no metadata, names come from the rows alone and units are unknown. */
function readingsView(d: Dialect, lake: ViewedLake, source: Source): View {
  const q = (name: string) => sql`m.${d.quote(name)}`;
  const asDouble = sql`CAST(${q('long_value')} AS ${d.types.double})`;
  return named(d, lake, source, 'readings', [
    [sql`coalesce(${q('double_value')}, ${asDouble})`, 'value'],
    [q('json_value'), 'text'],
  ]);
}

function windowsView(d: Dialect, lake: ViewedLake, source: Source): View {
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
