/** `views`: SQL that makes views of this lake in a warehouse. */
import { usageError } from '../../core/errors.ts';
import { lakeFolder } from '../../query/sql/lake-sources.ts';
import type { ViewedLake } from '../../query/views/dialect.ts';
import { DIALECTS, type DialectName } from '../../query/views/dialects/index.ts';
import { dbtFiles, viewScript } from '../../query/views/views.ts';
import { writeLines } from '../terminal/screen.ts';
import { type Command, EXIT_OK } from './command.ts';
import { type LakeSqlOptions, openLakeSql } from './lake-sql.ts';

interface ViewsOptions extends LakeSqlOptions {
  readonly for?: string;
  readonly location?: string;
  readonly schema?: string;
}

const ENGINES: readonly string[] = [...Object.keys(DIALECTS), 'databricks', 'dbt'];

/** Whose SQL is another's; dbt's models are written for DuckDB. */
const SPOKEN: Readonly<Record<string, DialectName>> = { databricks: 'spark', dbt: 'duckdb' };

const EMPTY_LAKE =
  'these are views of the future exports; engines that read the files when a view is created accept them after the first run';

export const viewsCommand: Command<[ViewsOptions]> = async (context, options) => {
  const { for: engine, schema, location } = options;
  if (engine === undefined || !ENGINES.includes(engine)) {
    const given = engine === undefined ? 'not given' : `got '${engine}'`;
    throw usageError(`--for: ${given}, expected one of ${ENGINES.join(', ')}`);
  }
  if (schema !== undefined && !/^[A-Za-z_]\w{0,62}$/.test(schema))
    throw usageError(`--schema: got '${schema}', expected a name of letters, digits and _`);
  const dialect = DIALECTS[SPOKEN[engine] ?? (engine as DialectName)];
  await using opened = await openLakeSql(context, options, 'no view of it', EMPTY_LAKE);
  const { session } = opened;
  const url = location?.replace(/\/+$/, '') ?? lakeFolder(session.lake.url) ?? session.lake.url;
  const fault = dialect.urlFault(url);
  if (fault !== undefined) {
    const found = `${location === undefined ? 'the lake at' : '--location'} ${url}`;
    const advice = 'give the address of the lake, or of a copy, with --location';
    throw usageError(`${dialect.title} does not read ${found}: expected ${fault}; ${advice}`);
  }
  const lake: ViewedLake = { ...opened.lake, url, schema: schema ?? dialect.defaultSchema };
  // Without objects nobody knows the series.
  const has = (dataset: string) => session.lake.sources.some((source) => source.dataset === dataset);
  const hasSeries = has('measurements') && has('metadata');
  const wide = hasSeries ? opened.wide(await session.series(context.signal)) : undefined;
  writeLines(context.stdout, engine === 'dbt' ? dbtFiles(lake, wide) : viewScript(dialect, lake, wide));
  return EXIT_OK;
};
