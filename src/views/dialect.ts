/**
 * What differs between the engines that read a lake, as data and small functions; what is alike stands in the files of
 * the views. Nothing here reads a lake: a view is a text.
 */
import type { Column } from '../encode/columns.ts';
import type { Dataset, Layout } from '../model/index.ts';

/** The relation that holds the rows of a job: `vessel`, `date` and the columns of its dataset. */
export interface Source {
  readonly job: string;
  readonly dataset: Dataset;
  /** What the relation is called. */
  readonly relation: string;
  /** Without `vessel` and `date`. */
  readonly columns: readonly Column[];
}

/** A lake as an engine sees it. */
export interface ViewedLake {
  /** Without a slash at its end. */
  readonly url: string;
  readonly layout: Layout;
  /** Jobs with objects, one per dataset at most. */
  readonly sources: readonly Source[];
  /** Jobs with receipts. */
  readonly receiptJobs: readonly string[];
  /** Naming domains that series of the lake have names in. */
  readonly domains: readonly string[];
  /** Schema (dataset, database) that the relations belong to; undefined: the session's own. */
  readonly schema: string | undefined;
}

export interface View {
  readonly name: string;
  readonly body: string;
  /** What its columns mean, by name. */
  readonly comments: ReadonlyMap<string, string>;
}

type ColumnKind = Column['type'] | 'date';

export interface Dialect {
  /** What people call it. */
  readonly title: string;
  /** Said first: what has to be there before the statements run, and whether they were ever run. */
  readonly notes: (lake: ViewedLake) => readonly string[];
  /** What an address has to be, where the engine does not reach this one; a folder is a path. */
  readonly urlFault: (url: string) => string | undefined;
  readonly quote: (name: string) => string;
  /** A text as a literal. */
  readonly literal: (text: string) => string;
  readonly types: Readonly<Record<ColumnKind, string>>;
  /** A whole number that is wider than 32 bits. */
  readonly long: (value: number) => string;
  /** Place of a literal in a text, from 1; 0: it is not there. */
  readonly position: (text: string, literal: string) => string;
  /** The text from a place on; its first characters. */
  readonly from: (text: string, place: string) => string;
  readonly first: (text: string, length: string) => string;
  /** A member of a JSON text as text; null or '' where there is none. */
  readonly json: (text: string, path: readonly string[]) => string;
  /** Microseconds since 1970 of an instant, and back. */
  readonly micros: (instant: string) => string;
  readonly instant: (micros: string) => string;
  readonly remainder: (dividend: string, divisor: string) => string;
  /** Days from one date to another. */
  readonly days: (from: string, to: string) => string;
  /** What follows a query that joins, so that what is missing is null. */
  readonly afterJoin: string;
  /** Statements that make a job's relation. */
  readonly source: (lake: ViewedLake, source: Source) => readonly string[];
  /** Statements that make the view `receipts`. */
  readonly receipts: (lake: ViewedLake) => readonly string[];
  readonly createView: string;
  /** Where relations have to name one. */
  readonly defaultSchema?: string;
  /** Statements that say what a column means; undefined: the comment beside it has to do. */
  readonly commentOn?: (view: string, column: string, text: string) => string;
}

/** A relation's name in the lake's schema. */
export function relation({ quote }: Dialect, { schema }: Pick<ViewedLake, 'schema'>, name: string): string {
  return schema === undefined ? quote(name) : `${quote(schema)}.${quote(name)}`;
}

/** Text before a literal, or all of it where there is none. */
export function before(d: Dialect, text: string, marker: string): string {
  const place = d.position(text, d.literal(marker));
  return `CASE WHEN ${place} > 0 THEN ${d.first(text, `${place} - 1`)} ELSE ${text} END`;
}

/** Text after a literal, or null where there is none. */
export function after(d: Dialect, text: string, marker: string): string {
  const place = d.position(text, d.literal(marker));
  return `CASE WHEN ${place} > 0 THEN ${d.from(text, `${place} + ${marker.length}`)} END`;
}

/** A name without the vessel that it begins with. */
export function withoutVessel(d: Dialect, name: string): string {
  const stripped = d.from(name, `${d.position(name, d.literal('/'))} + 1`);
  return `CASE WHEN ${name} LIKE ${d.literal('IMO%/%')} THEN ${stripped} ELSE ${name} END`;
}

/** `x AS "x"`, one a line. */
export function selectList(
  d: Dialect,
  items: readonly (readonly [expression: string, name: string])[],
): string {
  return items
    .map(([expression, name]) => {
      const quoted = d.quote(name);
      return `  ${expression === quoted ? quoted : `${expression} AS ${quoted}`}`;
    })
    .join(',\n');
}

/** Null where a text is empty. */
export function orNull(expression: string): string {
  return `nullif(${expression}, '')`;
}

/** Literals with doubled quotes, and those whose backslashes mean something too. */
export function standardLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
export function backslashLiteral(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

/** `"x"` with doubled quotes; the same with another sign. */
export function quoteWith(sign: string): (name: string) => string {
  return (name) => sign + name.replaceAll(sign, sign + sign) + sign;
}

/** The path of a member in the usual notation: `$."vis-3-8a".id`. */
export function jsonPath(path: readonly string[]): string {
  return `$${path.map((name) => (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `."${name}"`)).join('')}`;
}
