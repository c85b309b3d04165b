/**
 * Readers of SQL and of templates that have nothing in common with us (`bash .ci/install-sql-parsers`): sqlglot, which knows the
 * dialects of the engines that cannot be run here, and Jinja, which dbt takes every model for. One process for many questions.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface ParsedSql {
  readonly statements: number;
  /** Classes of sqlglot's, one a statement. */
  readonly kinds: readonly string[];
  /** Tokens outside of quotes and comments that have the marker in them. */
  readonly marked: readonly string[];
  /** What the literals say. */
  readonly texts: readonly string[];
}

export interface Rendered {
  readonly text: string;
  /** Calls of the template: name and arguments. */
  readonly called: readonly (readonly string[])[];
}

export interface SqlParsers extends AsyncDisposable {
  /** `dialect`: one of sqlglot's. Rejects with what it cannot read. */
  parse(dialect: string, sql: string, marker?: string): Promise<ParsedSql>;
  /** `relations`: what `ref` and `source` give, by their arguments with `/` between them. */
  render(template: string, relations?: Readonly<Record<string, string>>): Promise<Rendered>;
}

/** The version that the script installs, and where. */
function installedFolder(): string {
  const script = readFileSync(join(import.meta.dirname, '../../.ci/install-sql-parsers'), 'utf8');
  const version = /^version=(\S+)$/m.exec(script)?.[1];
  const { SQL_PARSERS_DIR, XDG_CACHE_HOME } = process.env;
  const cache = join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'vessel-export');
  return SQL_PARSERS_DIR ?? join(cache, `sql-parsers-${version}`);
}

/**
 * How to open them, or undefined where they are not installed: said loudly, and where `CI` is set an error. Call it at the
 * top of a test file and pass the answer to `describe.skipIf`.
 */
export function sqlParsersForTests(): (() => SqlParsers) | undefined {
  const folder = installedFolder();
  if (!existsSync(join(folder, 'installed'))) {
    const reason = `no sqlglot and Jinja in ${folder} (bash .ci/install-sql-parsers)`;
    if (process.env.CI) throw new Error(`the tests of printed SQL must run here (CI is set): ${reason}`);
    process.stderr.write(`\n*** THE TESTS OF PRINTED SQL WERE NOT RUN: ${reason} ***\n\n`);
    return undefined;
  }
  return () => openParsers(join(folder, 'bin/python'));
}

function openParsers(python: string): SqlParsers {
  const child = spawn(python, [join(import.meta.dirname, 'sql-parsers.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONUTF8: '1' },
  });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  async function ask<T>(question: Readonly<Record<string, unknown>>): Promise<T> {
    child.stdin.write(`${JSON.stringify(question)}\n`);
    const { value } = await lines.next();
    if (value === undefined) throw new Error('the parsers have ended');
    const answer = JSON.parse(value);
    if (answer.fault !== undefined) throw new Error(answer.fault);
    return answer;
  }
  return {
    parse: (dialect, sql, marker = '\0') => ask({ what: 'parse', dialect, sql, marker }),
    render: (template, relations = {}) => ask({ what: 'render', template, relations }),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}
