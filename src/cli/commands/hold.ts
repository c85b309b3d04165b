/** `hold`: whether the queue is on hold, and why; `hold lift` lets the workers try, whatever their probes say. */
import type { Fleet } from '../../fleet/fleet.ts';
import { liftHold, sayHold } from '../../fleet/queue/hold.ts';
import { writeText } from '../terminal/screen.ts';
import { type Command, EXIT_OK, openQueue, readConfig } from './command.ts';

const said =
  (say: (queue: Fleet['queue']) => Promise<string>): Command<[]> =>
  async (context, overrides = {}) => {
    await using fleet = await openQueue(context, readConfig(context), overrides);
    writeText(context.stdout, `${await say(fleet.queue)}\n`);
    return EXIT_OK;
  };

export const holdCommand = said(sayHold);
export const liftHoldCommand = said(liftHold);
