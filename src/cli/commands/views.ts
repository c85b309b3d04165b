/** `views`: SQL that makes views of this lake in a warehouse, or a dbt project of it. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Sql } from '../../core/duckdb/sql-text.ts';
import { ConfigError, usageError } from '../../core/errors.ts';
import { lakeFolder } from '../../query/sql/lake-sources.ts';
import { ADAPTERS, type AdapterName, dbtProject } from '../../query/views/dbt.ts';
import type { ViewedLake } from '../../query/views/dialect.ts';
import { DIALECTS, type DialectName } from '../../query/views/dialects/index.ts';
import { viewScript } from '../../query/views/views.ts';
import { writeLines } from '../terminal/screen.ts';
import { type Command, EXIT_OK } from './command.ts';
import { type LakeSqlOptions, openLakeSql } from './lake-sql.ts';

interface ViewsOptions extends LakeSqlOptions {
  readonly for?: string;
  readonly location?: string;
  readonly schema?: string;
  readonly out?: string;
  readonly overwrite?: boolean;
}

const isAdapter = (engine: string): engine is AdapterName => Object.hasOwn(ADAPTERS, engine);
const ENGINES: readonly string[] = [...Object.keys(DIALECTS), 'databricks', ...Object.keys(ADAPTERS)];
/** Whose SQL is another's. */
const SPOKEN: Readonly<Record<string, DialectName>> = { databricks: 'spark' };

const EMPTY_LAKE =
  'these are views of the future exports; engines that read the files when a view is created accept them after the first run';

export const viewsCommand: Command<[ViewsOptions]> = async (context, options) => {
  const { schema, location, out, overwrite } = options;
  const engine = engineOf(options);
  const dialect = isAdapter(engine)
    ? ADAPTERS[engine].dialect
    : DIALECTS[SPOKEN[engine] ?? (engine as DialectName)];
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
  if (!isAdapter(engine)) writeLines(context.stdout, viewScript(dialect, lake, wide));
  else {
    const files = dbtProject(engine, lake, wide);
    const text = out === undefined ? printed(files) : await writeFiles(out, files, overwrite);
    writeLines(context.stdout, text);
  }
  return EXIT_OK;
};

/** Throws ConfigError `usage`. */
function engineOf({ for: engine, schema, out }: ViewsOptions): string {
  if (engine === undefined || !ENGINES.includes(engine)) {
    const given = engine === undefined ? 'not given' : `got '${engine}'`;
    throw usageError(`--for: ${given}, expected one of ${ENGINES.join(', ')}`);
  }
  if (schema !== undefined && !/^[A-Za-z_]\w{0,62}$/.test(schema))
    throw usageError(`--schema: got '${schema}', expected a name of letters, digits and _`);
  if (out !== undefined && !isAdapter(engine))
    throw usageError(
      `--out: given with --for ${engine}, expected ${Object.keys(ADAPTERS).join(' or ')} there`,
    );
  return engine;
}

/** The same, as one text: each file after a comment with its name. */
function printed(files: ReadonlyMap<string, Sql>): string {
  const titled = [...files].map(
    ([path, text]) => `${path.endsWith('.yml') ? '#' : '--'} --- ${path}\n${text}`,
  );
  return titled.join('');
}

/** Writes what is not there as it is to be; a profile that is there is its owner's. Throws ConfigError `file-exists` before it writes anything. */
async function writeFiles(
  folder: string,
  files: ReadonlyMap<string, Sql>,
  overwrite = false,
): Promise<string> {
  const found: string[] = [];
  const toWrite: [path: string, text: string, word: string][] = [];
  for (const [name, text] of files) {
    const path = join(folder, name);
    const isThere = existsSync(path);
    if (isThere && (name === 'profiles.yml' || (await readFile(path, 'utf8')) === text)) continue;
    if (isThere) found.push(name);
    toWrite.push([path, text, isThere ? 'replaced' : 'wrote']);
  }
  if (found.length > 0 && !overwrite)
    throw new ConfigError(
      'file-exists',
      `${folder} has other files of these names: ${found.join(', ')}; --overwrite replaces them`,
    );
  for (const [path, text] of toWrite) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return (
    toWrite.map(([path, , word]) => `${word} ${path}\n`).join('') ||
    `nothing to write: ${folder} is as it is to be\n`
  );
}
