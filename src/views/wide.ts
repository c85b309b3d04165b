/** `wide`: one row per vessel and window, a column per series. */
import { MICROS_PER_DAY } from '../model/index.ts';
import type { Dialect, View, ViewedLake } from './dialect.ts';
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
export const MOST_HELD_WINDOWS = 999;

const KEYS = ['vessel', 'date', 'time_series_id', 'tag'] as const;

/**
 * Numbers only: a series of texts has an empty column. A row is there where one of the series has a value. The
 * time-weighted mean holds each reading until the next one of its series, but not beyond `holdMicros` nor the end of
 * its day, cuts that at the edges of windows, and weighs values by these times.
 */
export function wideView(d: Dialect, lake: ViewedLake, options: WideOptions): View {
  const q = d.quote;
  const { columns, aggregate } = options;
  const windowed = aggregate === 'time-weighted' ? timeWeighted(d, options) : grouped(d, options);
  const cells = columns.map(({ name, tag, ids, notIds }) => {
    const conditions = [
      `w.${q('tag')} = ${d.literal(tag)}`,
      ...(ids.length === 0 ? [] : [`w.${q('time_series_id')} IN (${ids.map(d.literal).join(', ')})`]),
      ...(notIds.length === 0
        ? []
        : [`w.${q('time_series_id')} NOT IN (${notIds.map(d.literal).join(', ')})`]),
    ];
    return [`max(CASE WHEN ${conditions.join(' AND ')} THEN w.${q('value')} END)`, name] as const;
  });
  const notes = new Map(columns.map(({ name, comment }) => [name, comment]));
  const lines = [
    [`w.${q('vessel')}`, 'vessel'],
    [`w.${q('date')}`, 'date'],
    [d.instant(`w.${q('window_us')}`), 'timestamp'],
    ...cells,
  ].map(([expression, name], index, all) => {
    const comma = index === all.length - 1 ? '' : ',';
    const comment = notes.get(name!);
    return `  ${expression} AS ${q(name!)}${comma}${comment === undefined ? '' : ` -- ${comment}`}`;
  });
  const body = [
    'WITH reading AS (',
    'SELECT',
    selectList(d, [
      ...KEYS.map((name) => [`r.${q(name)}`, name] as const),
      [d.micros(`r.${q('timestamp')}`), 'at_us'],
      [`r.${q('value')}`, 'value'],
    ]),
    `FROM ${relation(d, lake, 'readings')} r`,
    `WHERE r.${q('value')} IS NOT NULL AND r.${q('tag')} IN (${[...new Set(columns.map(({ tag }) => tag))].map(d.literal).join(', ')})`,
    `), ${windowed}`,
    'SELECT',
    ...lines,
    'FROM windowed w',
    `GROUP BY w.${q('vessel')}, w.${q('date')}, w.${q('window_us')}`,
  ].join('\n');
  return { name: 'wide', body, comments: notes };
}

function windowStart(d: Dialect, at: string, { windowMicros }: WideOptions): string {
  return `${at} - ${d.remainder(at, d.long(windowMicros))}`;
}

function grouped(d: Dialect, options: WideOptions): string {
  const q = d.quote;
  const start = windowStart(d, `r.${q('at_us')}`, options);
  const keys = KEYS.map((name) => `r.${q(name)}`).join(', ');
  if (options.aggregate === 'last') {
    const newest = `row_number() OVER (PARTITION BY ${keys}, ${start} ORDER BY r.${q('at_us')} DESC, r.${q('value')} DESC)`;
    return [
      'numbered AS (',
      `SELECT ${keys}, r.${q('value')}, ${start} AS ${q('window_us')}, ${newest} AS ${q('place')}`,
      'FROM reading r',
      '), windowed AS (',
      `SELECT * FROM numbered n WHERE n.${q('place')} = 1`,
      ')',
    ].join('\n');
  }
  const aggregate = { mean: 'avg', min: 'min', max: 'max' }[options.aggregate as 'mean' | 'min' | 'max'];
  return [
    'windowed AS (',
    `SELECT ${keys}, ${start} AS ${q('window_us')}, ${aggregate}(r.${q('value')}) AS ${q('value')}`,
    'FROM reading r',
    `GROUP BY ${keys}, ${start}`,
    ')',
  ].join('\n');
}

function timeWeighted(d: Dialect, options: WideOptions): string {
  const q = d.quote;
  const { windowMicros, holdMicros } = options;
  const at = (alias: string) => `${alias}.${q('at_us')}`;
  const series = ['vessel', 'date', 'time_series_id'].map((name) => `r.${q(name)}`).join(', ');
  const dayEnd = `${at('n')} - ${d.remainder(at('n'), d.long(MICROS_PER_DAY))} + ${d.long(MICROS_PER_DAY)}`;
  const keysOf = (alias: string) => KEYS.map((name) => `${alias}.${q(name)}`).join(', ');
  const start = `${windowStart(d, at('h'), options)} + s.${q('n')} * ${d.long(windowMicros)}`;
  const from = `greatest(p.${q('at_us')}, p.${q('window_us')})`;
  const until = `least(p.${q('until_us')}, p.${q('window_us')} + ${d.long(windowMicros)})`;
  const weight = `CAST(${until} - ${from} AS ${d.types.double})`;
  return [
    'followed AS (',
    `SELECT r.*, lead(${at('r')}) OVER (PARTITION BY ${series} ORDER BY ${at('r')}, r.${q('value')}) AS ${q('next_us')}`,
    'FROM reading r',
    '), held AS (',
    `SELECT n.*, least(coalesce(n.${q('next_us')}, ${dayEnd}), ${at('n')} + ${d.long(holdMicros)}, ${dayEnd}) AS ${q('until_us')}`,
    'FROM followed n',
    '), step AS (',
    steps(d, Math.ceil(holdMicros / windowMicros)),
    '), piece AS (',
    `SELECT h.*, ${start} AS ${q('window_us')}`,
    'FROM held h CROSS JOIN step s',
    `WHERE ${start} < h.${q('until_us')} AND ${at('h')} < h.${q('until_us')}`,
    '), windowed AS (',
    `SELECT ${keysOf('p')}, p.${q('window_us')}, sum(p.${q('value')} * ${weight}) / sum(${weight}) AS ${q('value')}`,
    'FROM piece p',
    `GROUP BY ${keysOf('p')}, p.${q('window_us')}`,
    ')',
  ].join('\n');
}

/** The numbers 0 to `last` as a query that every engine takes. */
function steps(d: Dialect, last: number): string {
  const n = d.quote('n');
  const digits = Array.from(
    { length: 10 },
    (_, digit) => `SELECT ${digit}${digit === 0 ? ` AS ${n}` : ''}`,
  ).join(' UNION ALL ');
  const places = String(last).length;
  const tables = Array.from({ length: places }, (_, place) => `(${digits}) d${place}`);
  const sum = Array.from({ length: places }, (_, place) => `d${place}.${n} * ${10 ** place}`).join(' + ');
  return `SELECT CAST(${sum} AS ${d.types.long}) AS ${n} FROM ${tables.join(' CROSS JOIN ')} WHERE ${sum} <= ${last}`;
}
