/**
 * stderr of a process that runs until it is told to stop: lines of JSON and nothing else, whoever writes to it, Node and libraries too. Only what the
 * engine writes when its memory is used up cannot be had.
 */
import { messageOf } from '../errors.ts';
import type { Log } from '../model/index.ts';

/** Longest line of somebody else's that is kept, in characters. */
const MAX_FOREIGN_CHARS = 8_000;

/** From now on what is written to `stderr`, and what Node says, are lines of `log`. `onCrash`: an uncaught error was logged; the process has to end. */
export function ownStderr(stderr: NodeJS.WriteStream, log: Log, onCrash: () => void) {
  const write = stderr.write.bind(stderr);
  let unfinished = '';
  const say = (line: string) => {
    const text = line.trimEnd();
    if (text !== '') log.warn({ from: 'stderr' }, text.slice(0, MAX_FOREIGN_CHARS));
  };
  stderr.write = (chunk: string | Uint8Array, ...more: unknown[]): boolean => {
    const lines = (unfinished + Buffer.from(chunk as Uint8Array).toString('utf8')).split('\n');
    unfinished = lines.pop()!;
    if (unfinished.length > MAX_FOREIGN_CHARS) lines.push(unfinished.slice(0, MAX_FOREIGN_CHARS));
    if (unfinished.length > MAX_FOREIGN_CHARS) unfinished = '';
    for (const line of lines) say(line);
    const done = more.find((each): each is () => void => typeof each === 'function');
    // Whoever waits for his text to be out waits for ours.
    return write('', done);
  };
  // Node's own listener prints past the stream.
  process.removeAllListeners('warning');
  process.on('warning', (warning: Error & { code?: string }) => {
    const { name, code } = warning;
    log.warn({ from: 'node', name, ...(code !== undefined && { code }) }, messageOf(warning));
  });
  process.on('uncaughtException', (error: unknown, origin) => {
    const stack = error instanceof Error ? error.stack : undefined;
    const message = `internal error, please report it: ${messageOf(error)}`;
    log.error({ code: 'internal-error', origin, stack }, message);
    onCrash();
  });
  return {
    /** What was written without an end of line becomes a line now. */
    flush(): void {
      say(unfinished);
      unfinished = '';
    },
  };
}
