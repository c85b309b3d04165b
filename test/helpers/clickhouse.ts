/** The embedded ClickHouse of npm's chdb, where it is installed: an engine that shares nothing with DuckDB. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

const VERSION = '3.4.0';

/** A session with tables and views of its own. */
export interface ClickHouse extends Disposable {
  run(sql: string): void;
  rows(sql: string): unknown[][];
}

/**
 * How to open one, or undefined where chdb is not installed (`bash .ci/install-chdb`): said loudly, and where `CI` is set
 * an error. Call it at the top of a test file and pass the answer to `describe.skipIf`.
 */
export function clickhouseForTests(): (() => ClickHouse) | undefined {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const folder = process.env.CHDB_DIR ?? join(cache, `vessel-export/chdb-${VERSION}`);
  if (!existsSync(join(folder, 'installed'))) {
    const message = `no chdb in ${folder}: bash .ci/install-chdb`;
    if (process.env.CI) throw new Error(message);
    process.stderr.write(`\nSKIPPED: tests on ClickHouse, ${message}\n`);
    return undefined;
  }
  const { Session } = createRequire(join(folder, 'package.json'))('chdb');
  return () => {
    const session = new Session();
    return {
      run: (sql) => void session.query(sql),
      rows: (sql) => JSON.parse(session.query(sql, 'JSONCompact')).data,
      [Symbol.dispose]: () => session.cleanup(),
    };
  };
}
