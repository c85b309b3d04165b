/** `hold`: whether the queue is on hold, and why; `hold lift` lets the workers try. */
import type { AppOverrides } from '../../app.ts';
import { liftHold, sayHold } from '../../fleet/queue/hold.ts';
import { writeText } from '../terminal/screen.ts';
import { type CommandContext, EXIT_OK, readConfig, withFleet } from './command.ts';

/** Say it; the exit code. `overrides` are for tests. */
export async function holdCommand(context: CommandContext, overrides: AppOverrides = {}): Promise<number> {
  return withFleet(context, readConfig(context), overrides, async (fleet) => {
    writeText(context.stdout, `${await sayHold(fleet)}\n`);
    return EXIT_OK;
  });
}

/** Lift it, whatever the probes of the workers say; the exit code. `overrides` are for tests. */
export async function liftHoldCommand(
  context: CommandContext,
  overrides: AppOverrides = {},
): Promise<number> {
  return withFleet(context, readConfig(context), overrides, async (fleet) => {
    writeText(context.stdout, `${await liftHold(fleet)}\n`);
    return EXIT_OK;
  });
}
