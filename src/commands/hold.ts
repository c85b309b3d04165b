/** `hold`: whether the queue is on hold, and why; `hold lift` lets the workers try. */
import type { AppOverrides } from '../app.ts';
import { liftHold, NOT_ON_HOLD, readHold } from '../fleet/hold-acts.ts';
import type { Hold } from '../queue/hold.ts';
import { describeHold } from '../queue/hold.ts';
import { writeText } from '../terminal/screen.ts';
import type { CommandContext } from './context.ts';
import { EXIT_OK } from './context.ts';
import { readConfig } from './open.ts';
import { withFleet } from './with-fleet.ts';

/** Say it; the exit code. `overrides` are for tests. */
export async function holdCommand(context: CommandContext, overrides: AppOverrides = {}): Promise<number> {
  return withFleet(context, readConfig(context), overrides, async (fleet) => {
    const hold = await readHold(fleet);
    writeText(context.stdout, `${hold === undefined ? NOT_ON_HOLD : textOf(hold)}\n`);
    return EXIT_OK;
  });
}

function textOf(hold: Hold): string {
  const since = hold.sinceMs === null ? '' : ` since ${new Date(hold.sinceMs).toISOString()}`;
  return `the queue is on hold${since}: ${describeHold(hold)}`;
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
