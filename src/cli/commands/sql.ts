/** `sql`: DuckDB on the lake's views; one query, those of stdin, or a prompt. */
import { copyFile, rename, rm, writeFile } from 'node:fs/promises';
import { ConfigError, FatalError, messageOf } from '../../core/errors.ts';
import type { LakeSession } from '../../query/sql/lake-session.ts';
import { drawChart } from '../terminal/chart-svg.ts';
import { writeCsvRows, writeJsonRows, writeRowTable } from '../terminal/query-view.ts';
import type { CommandContext } from './context.ts';
import { EXIT_OK } from './context.ts';
import type { LakeSqlOptions } from './lake-sql.ts';
import { openLakeSql } from './lake-sql.ts';
import { askQueries, splitStatements } from './sql-prompt.ts';

export interface SqlOptions extends LakeSqlOptions {
  readonly csv?: boolean;
  readonly json?: boolean;
  readonly parquet?: string;
  readonly svg?: string;
  /** Of the chart. */
  readonly title?: string;
}

/** Ask, and print; the exit code. `input` is stdin. */
export async function sqlCommand(
  context: CommandContext,
  sql: string | undefined,
  options: SqlOptions,
  input: NodeJS.ReadStream = process.stdin,
): Promise<number> {
  const formats = (['csv', 'json', 'parquet', 'svg'] as const).filter((name) => options[name] !== undefined);
  if (formats.length > 1)
    throw new ConfigError(
      'usage',
      `--${formats[1]}: given together with --${formats[0]}, expected one of them`,
    );
  if (options.title !== undefined && options.svg === undefined)
    throw new ConfigError('usage', '--title: given without --svg, whose chart it is of');
  const isPrompt = sql === undefined && input.isTTY === true;
  if (isPrompt && formats.length > 0)
    throw new ConfigError('usage', `--${formats[0]}: without a query, expected one as argument or on stdin`);
  const statements = isPrompt ? [] : splitStatements(sql ?? (await textOf(input)));
  if (!isPrompt && statements.length === 0)
    throw new ConfigError(
      'usage',
      `no query, expected one as argument or on stdin, such as 'SELECT * FROM coverage'`,
    );
  if (statements.length > 1 && formats.length > 0)
    throw new ConfigError('usage', `--${formats[0]}: got ${statements.length} queries, expected one`);
  const { session, close } = await openLakeSql(context, options, {
    ofJob: 'its views have no rows',
    ofLake: undefined,
  });
  try {
    if (isPrompt) await askQueries(context, session, input);
    for (const statement of statements) await answer(context, session, statement, options);
    return EXIT_OK;
  } finally {
    await close();
  }
}

async function textOf(input: NodeJS.ReadStream): Promise<string> {
  let text = '';
  for await (const chunk of input.setEncoding('utf8')) text += chunk;
  return text;
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
    await writeWhole('--parquet', parquet, (beside) => copyFile(from, beside));
    return;
  }
  const rows = await session.query(sql, signal);
  if (svg !== undefined) {
    const chart = await drawChart(rows, title);
    await writeWhole('--svg', svg, (beside) => writeFile(beside, chart));
  } else if (csv === true) await writeCsvRows(stdout, rows);
  else if (json === true) await writeJsonRows(stdout, rows);
  else await writeRowTable(stdout, rows);
}

/** Whole or not at all. */
async function writeWhole(
  option: string,
  to: string,
  write: (beside: string) => Promise<void>,
): Promise<void> {
  const beside = `${to}.${process.pid}.part`;
  try {
    await write(beside);
    await rename(beside, to);
  } catch (error) {
    await rm(beside, { force: true });
    throw new FatalError('cannot-write', `${option}: cannot write '${to}': ${messageOf(error)}`);
  }
}
