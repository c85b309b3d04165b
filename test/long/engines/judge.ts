/** What a reader says of a lake, held against what the lake holds. */
import type { EngineLake } from './lakes.ts';
import type { Answer, Question, Reader, Where } from './reader.ts';
import { doubleOf, type Row } from './truth.ts';

/** What a reader got wrong: of which job, what was asked, and the first difference or what it said. */
export interface Finding {
  readonly job: string;
  readonly asked: string;
  readonly said: string;
}

export interface Judged {
  readonly asked: number;
  readonly findings: readonly Finding[];
}

/** All questions about a lake. `s3` where it is in a bucket; `only`: those of some kinds. */
export async function judge(
  reader: Reader,
  lake: EngineLake,
  at: (job: string) => Pick<Question, 'url' | 's3'>,
  { hasVersions = true }: { readonly hasVersions?: boolean } = {},
): Promise<Judged> {
  const layout = lake.history === 'plain' ? 'plain' : 'delta';
  const findings: Finding[] = [];
  let asked = 0;
  const check = async (
    job: string,
    name: string,
    question: Pick<Question, 'what' | 'where' | 'version'>,
    rows: readonly Row[],
  ) => {
    asked++;
    try {
      const answer = await reader.ask({ ...at(job), layout, ...question });
      const said = DIFFERENCES[question.what](answer, rows, question.where);
      if (said !== undefined) findings.push({ job, asked: name, said });
    } catch (error) {
      findings.push({ job, asked: name, said: (error as Error).message.replace(/\s+/g, ' ').slice(0, 600) });
    }
  };
  for (const [job, rows] of lake.truth) {
    await check(job, 'every cell of every row', { what: 'rows' }, rows);
    if (job === 'windows') {
      const where = { column: 'max', op: '>', kind: 'double', value: '0' } as const;
      await check(job, nameOf(where), { what: 'count', where }, rows);
      continue;
    }
    await check(job, 'counts, sums and times by vessel, day and series', { what: 'totals' }, rows);
    await check(job, 'totals of the whole', { what: 'whole' }, rows);
    for (const where of wheres(rows)) await check(job, nameOf(where), { what: 'count', where }, rows);
  }
  if (hasVersions)
    for (const [version, rows] of lake.versions)
      await check('measurements', `version ${version}`, { what: 'totals', version }, rows);
  return { asked, findings };
}

const nameOf = ({ column, op, value }: Where) => `${column} ${op} ${value}`;

/** Conditions at the edges of what there is: a reader that skips files or row groups by their bounds may lose a row. */
function wheres(rows: readonly Row[]): Where[] {
  const times = rows.map(({ timestamp }) => Number(timestamp!.slice(1)));
  const [first, last] = [Math.min(...times), Math.max(...times)].map(String) as [string, string];
  const time = (op: Where['op'], value: string): Where => ({ column: 'timestamp', op, kind: 'time', value });
  const texts = [...new Set(rows.flatMap(({ json_value }) => json_value?.slice(1) ?? []))].slice(0, 40);
  const longs = [...new Set(rows.flatMap(({ long_value }) => long_value?.slice(1) ?? []))];
  const edges = longs
    .sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
    .filter((_, n, all) => n === 0 || n === all.length - 1);
  const { vessel, date, time_series_id: series } = rows[0]!;
  return [
    ...[time('>=', last), time('>', last), time('<', first), time('=', first), time('>=', first)],
    { column: 'vessel', op: '=', kind: 'text', value: vessel!.slice(1) },
    { column: 'date', op: '=', kind: 'date', value: date!.slice(1) },
    { column: 'time_series_id', op: '=', kind: 'text', value: series!.slice(1) },
    ...['0', '1e300', '5e-324', '-1e300'].map(
      (value): Where => ({
        column: 'double_value',
        op: value.startsWith('-') ? '<' : '>=',
        kind: 'double',
        value,
      }),
    ),
    { column: 'double_value', op: '=', kind: 'double', value: '0' },
    ...edges.map((value): Where => ({ column: 'long_value', op: '=', kind: 'long', value })),
    ...texts.map((value): Where => ({ column: 'json_value', op: '=', kind: 'text', value })),
  ];
}

type Difference = (answer: Answer, rows: readonly Row[], where?: Where) => string | undefined;

const DIFFERENCES: Readonly<Record<Question['what'], Difference>> = {
  rows: (answer, rows) => {
    const [found, truth] = [answerRows(answer), rows].map((all) => all.map(rowText));
    return differenceOf(found!, truth!) ?? typesFault(answer);
  },
  totals: (answer, rows) => {
    const found = answerRows(answer);
    const truth = totalsOf(rows);
    const sum = (row: Row) =>
      Object.entries(row).filter(([name]) => name !== 'doubles' && name !== 'largest');
    const text = (row: Row) => rowText(Object.fromEntries(sum({ ...row, longs: row.longs ?? 'L0' })));
    return differenceOf(found.map(text), truth.map(text)) ?? sumsFault(found, truth);
  },
  whole: (answer, rows) => {
    const [row = {}] = answerRows(answer);
    const truth = wholeOf(rows);
    return differenceOf([rowText(row)], [rowText(truth)]);
  },
  count: (answer, rows, where) => {
    const found = Number(answerRows(answer)[0]?.n?.slice(1));
    const expected = rows.filter((row) => isMeant(row, where!)).length;
    // NaN is above all numbers for some engines, and beside them for others.
    const orNaN = where!.op.startsWith('>') ? rows.filter((row) => row[where!.column] === 'Dnan').length : 0;
    return [expected, expected + orNaN].includes(found) ? undefined : `${found} rows, not ${expected}`;
  },
};

function answerRows({ columns, rows }: Answer): Row[] {
  return rows.map((row) =>
    Object.fromEntries(row.flatMap((cell, n) => (cell === null ? [] : [[columns[n]!, cell]]))),
  );
}

const rowText = (row: Row) =>
  Object.entries(row)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, cell]) => `${name}=${cell}`)
    .join(' | ');

function differenceOf(found: readonly string[], truth: readonly string[]): string | undefined {
  const balance = new Map<string, number>();
  for (const text of truth) balance.set(text, (balance.get(text) ?? 0) + 1);
  for (const text of found) balance.set(text, (balance.get(text) ?? 0) - 1);
  const only = (sign: number) => [...balance].filter(([, count]) => count * sign > 0).map(([text]) => text);
  const [missing, extra] = [only(1), only(-1)];
  if (missing.length + extra.length === 0) return undefined;
  const first = (texts: readonly string[]) =>
    texts.length === 0 ? 'none' : `${texts.length}, such as ${texts[0]}`;
  return `${found.length} rows of ${truth.length}; missing: ${first(missing)}; instead: ${first(extra)}`;
}

/** A time without its zone is shown as another one by whoever is elsewhere. */
function typesFault({ columns, types }: Answer): string | undefined {
  const type = types[columns.indexOf('timestamp')];
  return type?.includes('tz=') ? undefined : `timestamp is of type ${type}, without a time zone`;
}

/** `largest` is the greatest magnitude: the sum of doubles is as exact as that allows. */
function totalsOf(rows: readonly Row[]): Row[] {
  const groups = Map.groupBy(
    rows,
    ({ vessel, date, time_series_id }) => `${vessel} ${date} ${time_series_id}`,
  );
  return [...groups.values()].map((group) => {
    const { vessel, date, time_series_id } = group[0] as Record<string, string>;
    const times = group.map(({ timestamp }) => Number(timestamp!.slice(1)));
    const doubles = group.flatMap(({ double_value }) => (double_value ? [doubleOf(double_value)] : []));
    const sum = doubles.reduce((total, value) => total + value, 0);
    const largest = doubles.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const longs = group.reduce((total, { long_value }) => total + BigInt(long_value?.slice(1) ?? 0), 0n);
    return {
      ...{
        vessel: vessel!,
        date: date!,
        time_series_id: time_series_id!,
        n: `L${group.length}`,
        longs: `L${longs}`,
      },
      ...{ doubles: `${sum}`, largest: `${largest}` },
      texts: `L${group.filter(({ json_value }) => json_value !== undefined).length}`,
      ...{ first: `T${Math.min(...times)}`, last: `T${Math.max(...times)}` },
    };
  });
}

function sumsFault(found: readonly Row[], truth: readonly Row[]): string | undefined {
  const keyOf = ({ vessel, date, time_series_id }: Row) => `${vessel} ${date} ${time_series_id}`;
  const sums = new Map(
    found.map((row) => [keyOf(row), row.doubles === undefined ? 0 : doubleOf(row.doubles)]),
  );
  for (const row of truth) {
    const [ours, theirs] = [Number(row.doubles), sums.get(keyOf(row))!];
    const slack = 1e-15 * Number(row.n!.slice(1)) * Number(row.largest);
    const isSame = Number.isFinite(ours) ? Math.abs(ours - theirs) <= slack : Object.is(ours, theirs);
    if (!isSame) return `sum of doubles of ${keyOf(row)}: ${theirs}, not ${ours}`;
  }
  return undefined;
}

function wholeOf(rows: readonly Row[]): Row {
  const times = rows.map(({ timestamp }) => Number(timestamp!.slice(1)));
  const series = [...new Set(rows.map(({ time_series_id }) => time_series_id!))].sort();
  const longs = rows.flatMap(({ long_value }) => (long_value ? [BigInt(long_value.slice(1))] : []));
  longs.sort((a, b) => (a < b ? -1 : 1));
  const bounds = longs.length === 0 ? {} : { least_long: `L${longs[0]}`, most_long: `L${longs.at(-1)}` };
  return {
    ...{ n: `L${rows.length}`, series: `L${series.length}`, least_series: series[0]!, ...bounds },
    ...{ first: `T${Math.min(...times)}`, last: `T${Math.max(...times)}` },
  };
}

function isMeant(row: Row, { column, op, kind, value }: Where): boolean {
  const cell = row[column];
  if (cell === undefined) return false;
  const compare = <T>(a: T, b: T) =>
    op === '=' ? a === b : op === '<' ? a < b : op === '>' ? a > b : a >= b;
  if (kind === 'double') return compare(doubleOf(cell), Number(value));
  if (kind === 'long' || kind === 'time') return compare(BigInt(cell.slice(1)), BigInt(value));
  return compare(cell.slice(1), value);
}
