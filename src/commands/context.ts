import { createLog } from '../log.ts';
import type { Log } from '../model/index.ts';
import type { Screen } from '../terminal/progress-view.ts';

/** What a command is given of its process. */
export interface CommandContext {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Screen;
  readonly stderr: Screen;
  /** Aborted on the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}

/** Exit codes of every command. */
export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
export const EXIT_INTERRUPTED = 130;

/** A log on stderr: short lines on a terminal, JSON elsewhere. `write` can be a view that has a bar to keep. */
export function commandLog(
  context: CommandContext,
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent',
  write: (line: string) => void = (line) => context.stderr.write(line),
): Log {
  return createLog({ level, readable: context.stderr.isTTY === true, write });
}
