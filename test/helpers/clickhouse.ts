/**
 * An embedded ClickHouse (`bash .ci/install-chdb`): it reads Delta tables in two ways that have nothing in common with each
 * other or with us, through delta-kernel and by a reader of its own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { asLine } from './lines.ts';
import type { S3Address } from './radosgw.ts';

/** The ways in which it reads a table. */
export const DELTA_READERS = { 'delta-kernel': 1, "ClickHouse's own reader": 0 } as const;
export type DeltaReader = keyof typeof DELTA_READERS;

/** The version that `.ci/install-chdb` installs, and where. */
function installedFolder(): string {
  const script = readFileSync(join(import.meta.dirname, '../../.ci/install-chdb'), 'utf8');
  const version = /^version=(\S+)$/m.exec(script)?.[1];
  const { CHDB_DIR, XDG_CACHE_HOME } = process.env;
  return CHDB_DIR ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'vessel-export', `chdb-${version}`);
}

/**
 * How to open one, or undefined where it is not installed: said loudly, and where `CI` is set an error. Call it at the top
 * of a test file and pass the answer to `describe.skipIf`.
 */
export function clickHouseForTests(): (() => ClickHouse) | undefined {
  const folder = installedFolder();
  if (!existsSync(join(folder, 'installed'))) {
    const reason = `no embedded ClickHouse in ${folder} (bash .ci/install-chdb)`;
    if (process.env.CI)
      throw new Error(`the tests of independent readers must run here (CI is set): ${reason}`);
    process.stderr.write(`\n*** THE TESTS OF INDEPENDENT READERS WERE NOT RUN: ${reason} ***\n\n`);
    return undefined;
  }
  return () => openClickHouse(join(folder, 'package.json'));
}

export type ClickHouse = ReturnType<typeof openClickHouse>;

/** A process with tables and views of its own. */
function openClickHouse(packageFile: string) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'clickhouse-child.ts'), packageFile], {
    cwd: '/',
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  async function ask(sql: string): Promise<string> {
    child.stdin.write(`${asLine(sql)}\n`);
    const { value } = await lines.next();
    if (value === undefined) throw new Error(`ClickHouse has ended over: ${sql}`);
    const { text, fault } = JSON.parse(value);
    if (fault !== undefined) throw new Error(`${fault}\n${sql}`);
    return text;
  }
  async function rows(sql: string): Promise<unknown[][]> {
    const text = await ask(sql);
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }
  return {
    rows,
    /** A statement without an answer. */
    run: async (sql: string) => void (await ask(sql)),
    /**
     * Rows of a query of a Delta table; `TABLE` in it stands for `table` (localTable, s3Table). `version` is an older one,
     * which delta-kernel alone can read. Integers come as texts where they may be large.
     */
    async tableRows(
      table: string,
      sql: string,
      { reader, version }: { readonly reader: DeltaReader; readonly version?: number },
    ) {
      const settings = [
        `allow_experimental_delta_kernel_rs = ${DELTA_READERS[reader]}`,
        ...['max_threads = 2', 'output_format_json_quote_64bit_integers = 1', "session_timezone = 'UTC'"],
        ...(version === undefined ? [] : [`delta_lake_snapshot_version = ${version}`]),
      ];
      return await rows(`${sql.replaceAll('TABLE', table)} SETTINGS ${settings.join(', ')}`);
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}

/**
 * A table in a folder. ClickHouse's own reader takes the entries of a log without a checkpoint in the order in which the
 * folder lists them, which is any: in a bucket they are in order.
 */
export function localTable(folder: string): string {
  return `deltaLakeLocal(${quoted(folder)})`;
}

/** A table below a bucket's `prefix`. */
export function s3Table({ endpoint, accessKeyId, secretAccessKey }: S3Address, prefix: string): string {
  return `deltaLake(${[`${endpoint}/${prefix}/`, accessKeyId, secretAccessKey].map(quoted).join(', ')})`;
}

function quoted(text: string): string {
  if (/['\\]/.test(text)) throw new Error(`cannot quote ${text}`);
  return `'${text}'`;
}
