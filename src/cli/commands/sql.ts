/** `sql`: DuckDB on the lake's views; one query, those of stdin, or a prompt. */
import { copyFile, rename, rm, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { CancelledError, FatalError, messageOf, usageError, VesselExportError } from '../../core/errors.ts';
import type { LakeSession } from '../../query/sql/lake-session.ts';
import { drawChart } from '../terminal/chart-svg.ts';
import { writeCsvRows, writeJsonRows, writeRowTable } from '../terminal/query-view.ts';
import { paint, writeText } from '../terminal/screen.ts';
import { type CommandContext, EXIT_OK, expectOne } from './command.ts';
import { type LakeSqlOptions, openLakeSql } from './lake-sql.ts';

export interface SqlOptions extends LakeSqlOptions {
  readonly csv?: boolean;
  readonly json?: boolean;
  readonly parquet?: string;
  readonly svg?: string;
  readonly title?: string;
}

/** Run the queries, and print their results. `input` is stdin. */
export async function sqlCommand(
  context: CommandContext,
  argument: string | undefined,
  given: SqlOptions,
  input: NodeJS.ReadStream = process.stdin,
): Promise<number> {
  const { sql, options } =
    argument === undefined ? queryAmongNames(given) : { sql: argument, options: given };
  const format = expectOne(options, ['csv', 'json', 'parquet', 'svg']);
  if (options.title !== undefined && options.svg === undefined)
    throw usageError('--title: given without --svg, whose chart it is of');
  const isPrompt = sql === undefined && input.isTTY === true;
  if (isPrompt && format !== undefined)
    throw usageError(`--${format}: without a query, expected one as argument or on stdin`);
  const statements = isPrompt ? [] : splitStatements(sql ?? (await text(input)));
  if (!isPrompt && statements.length === 0)
    throw usageError(
      `no query, expected one as argument (before --columns, which takes every word that follows) or on stdin, such as 'SELECT * FROM coverage'`,
    );
  if (statements.length > 1 && format !== undefined)
    throw usageError(`--${format}: got ${statements.length} queries, expected one`);
  await using opened = await openLakeSql(context, options, 'its views have no rows');
  if (isPrompt) await askQueries(context, opened.session, input);
  for (const statement of statements) await answer(context, opened.session, statement, options);
  return EXIT_OK;
}

/** An option that takes several names takes a query that follows them too: no job and no vessel has a space in its name. */
function queryAmongNames(options: SqlOptions): { readonly sql?: string; readonly options: SqlOptions } {
  for (const name of ['job', 'vessel'] as const) {
    const names = options[name] ?? [];
    const last = names.at(-1) ?? '';
    if (names.length > 1 && /\s/.test(last))
      return { sql: last, options: { ...options, [name]: names.slice(0, -1) } };
  }
  return { options };
}

async function answer(
  context: CommandContext,
  session: LakeSession,
  sql: string,
  { csv, json, parquet, svg, title }: SqlOptions,
): Promise<void> {
  const { signal, stdout } = context;
  if (parquet !== undefined) {
    const from = await session.writeParquet(sql, signal);
    return await writeWhole('--parquet', parquet, (beside) => copyFile(from, beside));
  }
  const rows = await session.query(sql, signal);
  if (svg !== undefined) {
    const chart = await drawChart(rows, title);
    await writeWhole('--svg', svg, (beside) => writeFile(beside, chart));
  } else if (csv === true) await writeCsvRows(stdout, rows);
  else if (json === true) await writeJsonRows(stdout, rows);
  else await writeRowTable(stdout, rows);
}

/** Writes the whole file or none. */
async function writeWhole(option: string, to: string, write: (beside: string) => Promise<void>) {
  const beside = `${to}.${process.pid}.part`;
  try {
    await write(beside);
    await rename(beside, to);
  } catch (error) {
    await rm(beside, { force: true });
    throw new FatalError('cannot-write', `${option}: cannot write '${to}': ${messageOf(error)}`);
  }
}

const LEAVE = /^\s*(exit|quit|\\q|[.]quit|[.]exit)\s*;?\s*$/i;

/** Statements between semicolons, but for those within quotes, dollar quotes and comments. */
export function splitStatements(text: string): string[] {
  const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|;/g;
  const statements: string[] = [];
  let from = 0;
  for (const match of text.matchAll(token)) {
    if (match[0] !== ';') continue;
    statements.push(text.slice(from, match.index));
    from = match.index + 1;
  }
  statements.push(text.slice(from));
  const isBlank = (one: string) => one.replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, '').trim() === '';
  return statements.filter((one) => !isBlank(one)).map((one) => one.trim());
}

async function askQueries(context: CommandContext, session: LakeSession, input: NodeJS.ReadStream) {
  const { stdout, stderr, signal } = context;
  const how = "Queries end with ';'. SHOW TABLES; lists the views, Ctrl-C stops a query, Ctrl-D leaves.";
  writeText(stdout, `${how}\n`);
  const lines = createInterface({ input, output: process.stdout, terminal: true, historySize: 500 });
  let running: AbortController | undefined;
  let typed = '';
  const ask = () => {
    lines.setPrompt(typed === '' ? 'lake> ' : '   -> ');
    lines.prompt();
  };
  lines.on('SIGINT', () => {
    if (running !== undefined) return running.abort(new CancelledError('interrupted'));
    typed = '';
    lines.write(null, { ctrl: true, name: 'u' });
    writeText(stdout, '\n');
    ask();
  });
  const leave = () => lines.close();
  signal.addEventListener('abort', leave, { once: true });
  try {
    ask();
    for await (const line of lines) {
      if (typed === '' && LEAVE.test(line)) break;
      typed += `${line}\n`;
      if (!/;\s*$/.test(typed)) {
        if (typed.trim() === '') typed = '';
        ask();
        continue;
      }
      const statements = splitStatements(typed);
      typed = '';
      running = new AbortController();
      const until = AbortSignal.any([signal, running.signal]);
      try {
        for (const statement of statements)
          await writeRowTable(stdout, await session.query(statement, until));
      } catch (error) {
        if (!(error instanceof VesselExportError)) throw error;
        writeText(stderr, `${paint(stderr, 'red', 'error:')} ${messageOf(error)}\n`);
      }
      running = undefined;
      ask();
    }
  } finally {
    signal.removeEventListener('abort', leave);
    lines.close();
  }
}
