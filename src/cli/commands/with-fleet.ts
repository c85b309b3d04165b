/** What commands that ask or change the queue run on; apart from open.ts, for it loads what the queue needs. */
import type { AppOverrides } from '../../app.ts';
import type { Fleet } from '../../fleet/fleet.ts';
import { openFleet } from '../../fleet/fleet.ts';
import type { Config } from '../../runtime/config/config.ts';
import type { CommandContext } from './context.ts';
import { commandLog } from './context.ts';

/** Open app and queue, use them, and close both. Throws what `openFleet` and `use` throw. */
export async function withFleet(
  context: CommandContext,
  config: Config,
  overrides: AppOverrides,
  use: (fleet: Fleet) => Promise<number>,
): Promise<number> {
  const log = commandLog(context, config.settings.LOG_LEVEL);
  const fleet = await openFleet(config, context.env, log, overrides);
  try {
    return await use(fleet);
  } finally {
    await fleet.close();
  }
}
