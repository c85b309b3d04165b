/** `wide`: one row per vessel and window, a column per series. */
import { comment, joinSql, type Sql, sql } from '../../core/duckdb/sql-text.ts';
import { MICROS_PER_DAY } from '../../core/model/index.ts';
import type { Dialect, SelectItem, View, ViewedLake } from './dialect.ts';
import { relation, selectList } from './dialect.ts';
import type { WideColumn } from './wide-columns.ts';

export const WIDE_AGGREGATES = ['mean', 'last', 'min', 'max', 'time-weighted'] as const;
export type WideAggregate = (typeof WIDE_AGGREGATES)[number];

export interface WideOptions {
  readonly columns: readonly WideColumn[];
  readonly windowMicros: number;
  readonly aggregate: WideAggregate;
  /** Longest time that a reading stands for; time-weighted only. */
  readonly holdMicros: number;
}

/** Windows that one reading can reach into, at most: the steps are a table of digits. */
export const MAX_HELD_WINDOWS = 999;

const KEYS = ['vessel', 'date', 'time_series_id', 'tag'] as const;

/**
 * A series of texts has an empty column; a row is where any series has a value. The time-weighted mean holds a reading until the next of its series, at
 * most `holdMicros` and to the end of its day, cuts that at the edges of windows, and weighs values by these times.
 */
export function wideView(d: Dialect, lake: ViewedLake, options: WideOptions): View {
  const q = d.quote;
  const { columns, aggregate } = options;
  const windowed = aggregate === 'time-weighted' ? timeWeighted(d, options) : grouped(d, options);
  const list = (texts: readonly string[]) => sql`(${joinSql(texts.map(d.literal))})`;
  const cells = columns.map(({ name, tag, ids, notIds }): SelectItem => {
    const conditions = [
      sql`w.${q('tag')} = ${d.literal(tag)}`,
      ...(ids.length === 0 ? [] : [sql`w.${q('time_series_id')} IN ${list(ids)}`]),
      ...(notIds.length === 0 ? [] : [sql`w.${q('time_series_id')} NOT IN ${list(notIds)}`]),
    ];
    return [sql`max(CASE WHEN ${joinSql(conditions, sql` AND `)} THEN w.${q('value')} END)`, name];
  });
  const notes = new Map(columns.map(({ name, comment: said }) => [name, said]));
  const items: SelectItem[] = [
    [sql`w.${q('vessel')}`, 'vessel'],
    [sql`w.${q('date')}`, 'date'],
    [d.instant(sql`w.${q('window_us')}`), 'timestamp'],
    ...cells,
  ];
  const lines = items.map(([expression, name], index) => {
    const comma = index === items.length - 1 ? sql`` : sql`,`;
    const said = notes.get(name);
    return sql`  ${expression} AS ${q(name)}${comma}${said === undefined ? sql`\n` : sql` ${comment(said)}`}`;
  });
  const read = selectList(d, [
    ...KEYS.map((name): SelectItem => [sql`r.${q(name)}`, name]),
    [d.micros(sql`r.${q('timestamp')}`), 'at_us'],
    [sql`r.${q('value')}`, 'value'],
  ]);
  const body = sql`WITH reading AS (
SELECT
${read}
FROM ${relation(d, lake, 'readings')} r
WHERE r.${q('value')} IS NOT NULL AND r.${q('tag')} IN ${list([...new Set(columns.map(({ tag }) => tag))])}
), ${windowed}
SELECT
${joinSql(lines, sql``)}FROM windowed w
GROUP BY w.${q('vessel')}, w.${q('date')}, w.${q('window_us')}`;
  return { name: 'wide', body, comments: notes };
}

function windowStart(d: Dialect, at: Sql, { windowMicros }: WideOptions): Sql {
  return sql`${at} - ${d.remainder(at, d.long(windowMicros))}`;
}

const AVERAGES = { mean: sql`avg`, min: sql`min`, max: sql`max` } as const;

function grouped(d: Dialect, options: WideOptions): Sql {
  const q = d.quote;
  const start = windowStart(d, sql`r.${q('at_us')}`, options);
  const keys = keysOf(d, sql`r`, KEYS);
  const { aggregate } = options;
  if (aggregate === 'last') {
    const newest = sql`row_number() OVER (PARTITION BY ${keys}, ${start} ORDER BY r.${q('at_us')} DESC, r.${q('value')} DESC)`;
    return sql`numbered AS (
SELECT ${keys}, r.${q('value')}, ${start} AS ${q('window_us')}, ${newest} AS ${q('place')}
FROM reading r
), windowed AS (
SELECT * FROM numbered n WHERE n.${q('place')} = 1
)`;
  }
  const of = AVERAGES[aggregate as keyof typeof AVERAGES];
  return sql`windowed AS (
SELECT ${keys}, ${start} AS ${q('window_us')}, ${of}(r.${q('value')}) AS ${q('value')}
FROM reading r
GROUP BY ${keys}, ${start}
)`;
}

function keysOf(d: Dialect, alias: Sql, keys: readonly string[]): Sql {
  return joinSql(keys.map((name) => sql`${alias}.${d.quote(name)}`));
}

function timeWeighted(d: Dialect, options: WideOptions): Sql {
  const q = d.quote;
  const { windowMicros, holdMicros } = options;
  const [day, window] = [d.long(MICROS_PER_DAY), d.long(windowMicros)];
  const [readAt, at, heldAt] = [sql`r.${q('at_us')}`, sql`n.${q('at_us')}`, sql`h.${q('at_us')}`];
  const series = keysOf(d, sql`r`, ['vessel', 'date', 'time_series_id']);
  const keys = keysOf(d, sql`p`, KEYS);
  const dayEnd = sql`${at} - ${d.remainder(at, day)} + ${day}`;
  const start = sql`${windowStart(d, heldAt, options)} + s.${q('n')} * ${window}`;
  const from = sql`greatest(p.${q('at_us')}, p.${q('window_us')})`;
  const until = sql`least(p.${q('until_us')}, p.${q('window_us')} + ${window})`;
  const weight = sql`CAST(${until} - ${from} AS ${d.types.double})`;
  return sql`followed AS (
SELECT r.*, lead(${readAt}) OVER (PARTITION BY ${series} ORDER BY ${readAt}, r.${q('value')}) AS ${q('next_us')}
FROM reading r
), held AS (
SELECT n.*, least(coalesce(n.${q('next_us')}, ${dayEnd}), ${at} + ${d.long(holdMicros)}, ${dayEnd}) AS ${q('until_us')}
FROM followed n
), step AS (
${steps(d, Math.ceil(holdMicros / windowMicros))}
), piece AS (
SELECT h.*, ${start} AS ${q('window_us')}
FROM held h CROSS JOIN step s
WHERE ${start} < h.${q('until_us')} AND ${heldAt} < h.${q('until_us')}
), windowed AS (
SELECT ${keys}, p.${q('window_us')}, sum(p.${q('value')} * ${weight}) / sum(${weight}) AS ${q('value')}
FROM piece p
GROUP BY ${keys}, p.${q('window_us')}
)`;
}

/** The numbers 0 to `last` as a query that every engine takes. */
function steps(d: Dialect, last: number): Sql {
  const n = d.quote('n');
  const digits = joinSql(
    Array.from({ length: 10 }, (_, digit) => (digit === 0 ? sql`SELECT 0 AS ${n}` : sql`SELECT ${digit}`)),
    sql` UNION ALL `,
  );
  const places = Array.from({ length: String(last).length }, (_, place) => place);
  const tables = joinSql(
    places.map((place) => sql`(${digits}) d${place}`),
    sql` CROSS JOIN `,
  );
  const sum = joinSql(
    places.map((place) => sql`d${place}.${n} * ${10 ** place}`),
    sql` + `,
  );
  return sql`SELECT CAST(${sum} AS ${d.types.long}) AS ${n} FROM ${tables} WHERE ${sum} <= ${last}`;
}
