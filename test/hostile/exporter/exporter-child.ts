/**
 * The command line in a process that lives on: it runs one command after the other through the real `main`, each with
 * an environment, an output and an exit code of its own, so that hundreds of inputs need no start of Node each. Only
 * the pauses between tries are shorter, and patience on the wire, or most of the time would go there.
 */

import { main } from '../../../src/cli/cli.ts';
import { CONCURRENCY_LIMIT_RULES } from '../../../src/core/model/limit-rules.ts';
import { CLIENT_LIMITS } from '../../../src/source/fetch/client.ts';
import { RETRY_LIMITS } from '../../../src/source/fetch/retry.ts';

export interface Command {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface CommandEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** So much of an output is kept: whoever writes more is found out by its length. */
const MAX_OUTPUT_CHARS = 4_000_000;

Object.assign(RETRY_LIMITS, { baseDelayMs: 2, maxDelayMs: 20, maxRetryAfterMs: 50, maxLimitedMs: 2_000 });
Object.assign(CONCURRENCY_LIMIT_RULES, { maxHoldMs: 50 });
Object.assign(CLIENT_LIMITS, { headersTimeoutMs: 5_000, idleTimeoutMs: 5_000, slowBodyGraceMs: 10_000 });

const OWN_VARIABLES = ['PATH', 'NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE', 'NODE_COMPILE_CACHE'];
const written = { stdout: '', stderr: '' };

function capture(name: 'stdout' | 'stderr'): void {
  process[name].write = ((chunk: string | Uint8Array, ...rest: unknown[]) => {
    if (written[name].length < MAX_OUTPUT_CHARS)
      written[name] += Buffer.from(chunk as string).toString('utf8');
    const done = rest.find((argument) => typeof argument === 'function') as (() => void) | undefined;
    if (done !== undefined) process.nextTick(done);
    return true;
  }) as typeof process.stdout.write;
}

async function perform({ args, env }: Command): Promise<CommandEnd> {
  for (const name of Object.keys(process.env)) if (!OWN_VARIABLES.includes(name)) delete process.env[name];
  Object.assign(process.env, env);
  written.stdout = '';
  written.stderr = '';
  const exited = Promise.withResolvers<number>();
  process.exit = ((code?: number) => exited.resolve(code ?? 0)) as typeof process.exit;
  await main([process.execPath, 'vessel-export', ...args]);
  const code = await exited.promise;
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
  return { code, ...written };
}

const exit = process.exit.bind(process);
capture('stdout');
capture('stderr');
process.on('message', (command: Command) => {
  void perform(command).then((end) => process.send!(end));
});
process.on('disconnect', () => exit(0));
