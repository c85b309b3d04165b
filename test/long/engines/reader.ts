/** A reader of another make in a process of its own: a question is a line of JSON, and so is its answer. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { S3Address } from '../../helpers/radosgw.ts';

/** A comparison of a column with a value, as the values of Row are written without their letter. */
export interface Where {
  readonly column: string;
  readonly op: '=' | '<' | '>' | '>=';
  readonly kind: 'text' | 'date' | 'long' | 'double' | 'time';
  readonly value: string;
}

export interface Question {
  /** The folder of a job: a path, or `s3://bucket/…`. */
  readonly url: string;
  readonly layout: 'plain' | 'delta';
  readonly version?: number;
  readonly s3?: S3Address;
  readonly what: 'rows' | 'totals' | 'whole' | 'count';
  readonly where?: Where;
}

export interface Answer {
  readonly columns: readonly string[];
  readonly types: readonly string[];
  /** Cells as those of Row. */
  readonly rows: readonly (readonly (string | null)[])[];
}

export interface Reader extends AsyncDisposable {
  /** Rejects with what the engine says. */
  ask(question: Question): Promise<Answer>;
  version(): Promise<string>;
}

/** A script of this folder, with its arguments. */
export function openReader(
  python: string,
  [script, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = {},
): Reader {
  const child = spawn(python, [join(import.meta.dirname, script), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONUTF8: '1', PYTHONDONTWRITEBYTECODE: '1', TZ: 'America/St_Johns', ...env },
  });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  async function ask<T>(question: object): Promise<T> {
    child.stdin.write(`${JSON.stringify(question)}\n`);
    const { value } = await lines.next();
    if (value === undefined) throw new Error(`${[script, ...args].join(' ')} has ended`);
    const answer = JSON.parse(value);
    if (answer.fault !== undefined) throw new Error(answer.fault);
    return answer;
  }
  return {
    ask,
    version: async () => (await ask<{ version: string }>({ what: 'version' })).version,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}
