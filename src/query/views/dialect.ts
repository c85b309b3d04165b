/** What differs between the engines, as data and small functions; what is alike is in the files of the views. A view is a text: no lake is read here. */
import { joinSql, type Spelling, type Sql, sql } from '../../core/duckdb/sql-text.ts';
import type { Dataset, Layout } from '../../core/model/index.ts';
import type { Column } from '../../parquet/write/columns.ts';

/** The relation that holds the rows of a job: `vessel`, `date` and the columns of its dataset. */
export interface Source {
  readonly job: string;
  readonly dataset: Dataset;
  readonly relation: string;
  readonly columns: readonly Column[];
}

export interface ViewedLake {
  /** Without a slash at its end. */
  readonly url: string;
  readonly layout: Layout;
  /** Jobs with objects, one per dataset at most. */
  readonly sources: readonly Source[];
  readonly receiptJobs: readonly string[];
  /** Naming domains that series of the lake have names in. */
  readonly domains: readonly string[];
  /** Schema (dataset, database) that the relations belong to; undefined: the session's own. */
  readonly schema: string | undefined;
}

export interface View {
  readonly name: string;
  readonly body: Sql;
  /** What its columns mean, by name, in the words of the source. */
  readonly comments: ReadonlyMap<string, string>;
}

type ColumnKind = Column['type'] | 'date';

export interface Dialect extends Spelling {
  readonly title: string;
  /** Said first: what has to be there before the statements run, and whether they were ever run. */
  readonly notes: (lake: ViewedLake) => readonly Sql[];
  /** What an address has to be, where the engine does not reach this one; a folder is a path. */
  readonly urlFault: (url: string) => string | undefined;
  /** How a relation is called, where that is not its quoted name. */
  readonly relation?: (name: string) => Sql;
  readonly types: Readonly<Record<ColumnKind, Sql>>;
  /** A whole number that is wider than 32 bits. */
  readonly long: (value: number) => Sql;
  /** Place of a literal in a text, from 1; 0: it is not there. */
  readonly position: (text: Sql, literal: Sql) => Sql;
  /** The text from a place on; its first characters. */
  readonly from: (text: Sql, place: Sql) => Sql;
  readonly first: (text: Sql, length: Sql) => Sql;
  /** A member of a JSON text as text; null or '' where there is none. */
  readonly json: (text: Sql, path: readonly string[]) => Sql;
  /** Microseconds since 1970 of an instant, and back. */
  readonly micros: (instant: Sql) => Sql;
  readonly instant: (micros: Sql) => Sql;
  readonly remainder: (dividend: Sql, divisor: Sql) => Sql;
  readonly days: (from: Sql, to: Sql) => Sql;
  /** What follows a query that joins, so that what is missing is null. */
  readonly afterJoin: Sql;
  readonly source: (lake: ViewedLake, source: Source) => readonly Sql[];
  readonly receipts: (lake: ViewedLake) => readonly Sql[];
  readonly createView: Sql;
  /** Where relations have to name one. */
  readonly defaultSchema?: string;
  /** Statements that say what a column means; undefined: the comment beside it has to do. */
  readonly commentOn?: (view: Sql, column: string, text: string) => Sql;
}

const USUAL = {
  long: (value: number) => sql`${value}`,
  from: (text: Sql, place: Sql) => sql`substr(${text}, ${place})`,
  first: (text: Sql, length: Sql) => sql`substr(${text}, 1, ${length})`,
  remainder: (dividend: Sql, divisor: Sql) => sql`${dividend} % ${divisor}`,
  afterJoin: sql``,
  createView: sql`CREATE OR REPLACE VIEW`,
};

export function dialectOf(own: Omit<Dialect, keyof typeof USUAL> & Partial<typeof USUAL>): Dialect {
  return { ...USUAL, ...own };
}

/** Names of types; those of texts are the same for a text that repeats. */
export function typesOf(timestamp: Sql, long: Sql, double: Sql, text: Sql, date: Sql): Dialect['types'] {
  return { timestamp, long, double, text, series: text, date };
}

/** The note of engines that the tests do not run. */
export const AS_DOCUMENTED = sql`As documented: vessel-export's tests check the grammar of these statements, and do not run them.`;

export function commentOnColumn({ quote, literal }: Spelling): NonNullable<Dialect['commentOn']> {
  return (view, column, text) => sql`COMMENT ON COLUMN ${view}.${quote(column)} IS ${literal(text)}`;
}

export function createView(
  d: Dialect,
  lake: ViewedLake,
  name: string,
  items: readonly SelectItem[],
  from: Sql,
): Sql {
  return sql`${d.createView} ${relation(d, lake, name)} AS\nSELECT\n${selectList(d, items)}\nFROM ${from}`;
}

type ReceiptPath = readonly [string] | readonly [string, string];

/** Columns of the view `receipts`, and where a receipt has them. */
export const RECEIPT_COLUMNS: readonly {
  readonly name: string;
  readonly path: ReceiptPath;
  readonly type: 'text' | 'long' | 'timestamp' | 'date';
}[] = [
  { name: 'job', path: ['job'], type: 'text' },
  { name: 'vessel', path: ['vessel'], type: 'text' },
  { name: 'date', path: ['date'], type: 'date' },
  { name: 'dataset', path: ['dataset'], type: 'text' },
  { name: 'rows', path: ['rows'], type: 'long' },
  { name: 'series', path: ['series'], type: 'long' },
  { name: 'selected_series', path: ['selectedSeries'], type: 'long' },
  { name: 'proof', path: ['proof'], type: 'text' },
  { name: 'source_rows', path: ['source', 'rows'], type: 'long' },
  { name: 'first_timestamp', path: ['firstTimestamp'], type: 'timestamp' },
  { name: 'last_timestamp', path: ['lastTimestamp'], type: 'timestamp' },
  { name: 'size_bytes', path: ['object', 'sizeBytes'], type: 'long' },
  { name: 'warning', path: ['remark', 'kind'], type: 'text' },
  { name: 'finished_at', path: ['finishedAt'], type: 'timestamp' },
];

/** The columns of `receipts`, of a relation with a column for each member of a receipt. */
export function receiptMembers({ quote }: Spelling): SelectItem[] {
  return RECEIPT_COLUMNS.map(({ name, path }) => [joinSql(path.map(quote), sql`.`), name]);
}

/** That relation's columns with their types; `struct` is the type of one that holds another. */
export function receiptMemberTypes(
  { quote, types }: Pick<Dialect, 'quote' | 'types'>,
  struct: (inner: Sql, type: Sql) => Sql,
): Sql[] {
  return RECEIPT_COLUMNS.map(({ path: [member, inner], type }) => {
    const own = types[type];
    return sql`  ${quote(member)} ${inner === undefined ? own : struct(quote(inner), own)}`;
  });
}

/** Columns with their types, as the statements that make tables have them. */
export function typedColumns(
  { quote, types }: Pick<Dialect, 'quote' | 'types'>,
  columns: readonly Column[],
): Sql[] {
  return columns.map(({ name, type }) => sql`  ${quote(name)} ${types[type]}`);
}

export function relation(d: Dialect, { schema }: Pick<ViewedLake, 'schema'>, name: string): Sql {
  if (d.relation !== undefined) return d.relation(name);
  return schema === undefined ? d.quote(name) : sql`${d.quote(schema)}.${d.quote(name)}`;
}

/** Text before a literal, or all of it where there is none. */
export function before(d: Dialect, text: Sql, marker: string): Sql {
  const place = d.position(text, d.literal(marker));
  return sql`CASE WHEN ${place} > 0 THEN ${d.first(text, sql`${place} - 1`)} ELSE ${text} END`;
}

export function after(d: Dialect, text: Sql, marker: string): Sql {
  const place = d.position(text, d.literal(marker));
  return sql`CASE WHEN ${place} > 0 THEN ${d.from(text, sql`${place} + ${marker.length}`)} END`;
}

/** A name without the vessel that it begins with. */
export function withoutVessel(d: Dialect, name: Sql): Sql {
  const stripped = d.from(name, sql`${d.position(name, d.literal('/'))} + 1`);
  return sql`CASE WHEN ${name} LIKE ${d.literal('IMO%/%')} THEN ${stripped} ELSE ${name} END`;
}

export type SelectItem = readonly [expression: Sql, name: string];

/** `x AS "x"`, one a line. */
export function selectList(d: Dialect, items: readonly SelectItem[]): Sql {
  return lines(
    items.map(([expression, name]) => {
      const quoted = d.quote(name);
      return expression === quoted ? sql`  ${quoted}` : sql`  ${expression} AS ${quoted}`;
    }),
  );
}

export function lines(entries: readonly Sql[]): Sql {
  return joinSql(entries, sql`,\n`);
}

export function orNull(expression: Sql): Sql {
  return sql`nullif(${expression}, '')`;
}

/** The path of a member in the usual notation: `$."vis-3-8a".id`. */
export function jsonPath(path: readonly string[]): string {
  return `$${path.map((name) => (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `."${name}"`)).join('')}`;
}
