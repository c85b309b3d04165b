/**
 * The one way into SQL. Text is SQL where it was written in this source, between the parts of the tag `sql`, or where it was
 * spelled here: what people, a source or a lake have named gets into a statement as a literal, an identifier or a comment
 * that it cannot end. The type holds everybody to it: a plain string fits into no part of the tag, and what runs or
 * prints SQL takes `Sql` alone.
 *
 * An engine is not all that reads a script. Command lines, notebooks and dbt look for statements' ends, variables and
 * templates in it, within quotes and comments too; so nothing spelled here has what means something to one of them.
 */
import { DataError, shortName } from '../errors.ts';
import { UNSEEN_CHAR } from '../model/index.ts';

declare const isSql: unique symbol;
export type Sql = string & { readonly [isSql]: true };

/** SQL of this source, around parts that are SQL, or whole numbers. */
export function sql(written: TemplateStringsArray, ...parts: readonly (Sql | number)[]): Sql {
  const odd = parts.find((part) => typeof part === 'number' && !Number.isSafeInteger(part));
  if (odd !== undefined) throw new RangeError(`SQL: got ${odd}, expected a whole number`);
  return String.raw({ raw: written }, ...parts) as Sql;
}

export function joinSql(parts: readonly Sql[], separator: Sql = sql`, `): Sql {
  return parts.join(separator) as Sql;
}

/** What follows a beginning of a statement. */
export function sqlAfter(beginning: Sql, statement: Sql): Sql {
  return statement.slice(beginning.length) as Sql;
}

/** A statement that somebody typed, for whoever had DuckDB's parser look at it and found that it reads. */
export function checkedByParser(statement: string): Sql {
  return statement as Sql;
}

export interface Spelling {
  /** A name of ours, or one made by `columnName`. Throws DataError `bad-name` for any other. */
  readonly quote: (name: string) => Sql;
  /** A text as an expression that is this text, whatever is in it: a literal, unless `isPlain` says no. */
  readonly literal: (text: string) => Sql;
}

/** Unseen characters, statements' ends, and templates: `{{ x }}` of dbt, `${x}` of Spark, `$(x)` of sqlcmd, `&x` and `<% x %>` of Snowflake. */
const NOT_PLAIN = String.raw`[;{}&\\]|\$(?=[\w({])|<(?=%)|${UNSEEN_CHAR}`;
const FIRST_NOT_PLAIN = new RegExp(NOT_PLAIN, 'u');
const NOT_PLAIN_OR_QUOTE = new RegExp(`${NOT_PLAIN}|'`, 'gu');

export function isPlain(text: string): boolean {
  return !FIRST_NOT_PLAIN.test(text);
}

/** For an engine whose literals know no escape but the doubled quote; what is not plain is given by its bytes. */
export function doubledQuotes(sign: '"' | '[]', ofBytes: (hex: Sql) => Sql): Spelling {
  return {
    quote: quotedBy(sign),
    literal(text) {
      if (isPlain(text)) return `'${text.replaceAll("'", "''")}'` as Sql;
      return ofBytes(Buffer.from(text).toString('hex') as Sql);
    },
  };
}

/** For one whose literals know escapes with backslashes: of code points, or of bytes alone. */
export function backslashes(sign: '`', of: 'code points' | 'bytes'): Spelling {
  const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0');
  const byCode = (char: string) => {
    const code = char.codePointAt(0)!;
    return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
  };
  const byBytes = (char: string) => Array.from(Buffer.from(char), (byte) => `\\x${hex(byte, 2)}`).join('');
  const escaped = (char: string) =>
    char === "'" || char === '\\' ? `\\${char}` : of === 'bytes' ? byBytes(char) : byCode(char);
  return {
    quote: quotedBy(sign),
    literal: (text) => `'${text.replace(NOT_PLAIN_OR_QUOTE, escaped)}'` as Sql,
  };
}

function quotedBy(sign: string): Spelling['quote'] {
  return (name) => {
    if (/^[A-Za-z_]\w{0,126}$/.test(name)) return `${sign[0]}${name}${sign.at(-1)}` as Sql;
    const found = `found '${shortName(name)}' as a name in SQL`;
    throw new DataError('bad-name', `${found}, expected letters, digits and _`);
  };
}

const MAX_COMMENT_CHARS = 240;
const NOT_IN_COMMENT = new RegExp(String.raw`(?:${UNSEEN_CHAR}|[^\p{L}\p{M}\p{N}.,:/()[\]_+=%°²³-])+`, 'gu');

/** What a comment has of a text: its letters and digits, and signs that mean nothing to anybody. */
export function commentText(text: string): string {
  const said = text.slice(0, 8 * MAX_COMMENT_CHARS).replace(NOT_IN_COMMENT, ' ');
  return [...said.trim()].slice(0, MAX_COMMENT_CHARS).join('');
}

export function comment(text: string): Sql {
  return `-- ${commentText(text)}\n` as Sql;
}

/** A text as one of YAML's, for the files of dbt. */
export function yamlText(text: string): Sql {
  return JSON.stringify(text) as Sql;
}

export const duckdbText: Spelling = doubledQuotes('"', (hex) => sql`decode(unhex('${hex}'))`);
