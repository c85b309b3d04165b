/** What people are told of a hold, and do about it, by a command or the page. */
import type { Fleet } from './fleet.ts';
import { createQueueHold, describeHold, type Hold } from './queue/hold.ts';

type HoldPorts = Pick<Fleet, 'connection' | 'queue'>;

const NOT_ON_HOLD = 'the queue is not on hold';

/** The hold, if there is one. Rejects at once while Redis is out of reach. */
export function readHold({ connection, queue }: HoldPorts): Promise<Hold | undefined> {
  return createQueueHold(connection.client, queue.bull).read();
}

/** Whether the queue is on hold, since when and why, as a sentence. Rejects at once while Redis is out of reach. */
export async function sayHold(fleet: HoldPorts): Promise<string> {
  const hold = await readHold(fleet);
  if (hold === undefined) return NOT_ON_HOLD;
  const since = hold.sinceMs === null ? '' : ` since ${new Date(hold.sinceMs).toISOString()}`;
  return `the queue is on hold${since}: ${describeHold(hold)}`;
}

/**
 * Let every worker try, whatever its probe says, and say what was done; done twice it is done. Rejects at once while Redis is out of reach.
 */
export async function liftHold({ connection, queue }: HoldPorts): Promise<string> {
  const hold = createQueueHold(connection.client, queue.bull);
  const before = await hold.read();
  if (!(await hold.lift({ byHand: true }))) return NOT_ON_HOLD;
  return `the queue goes on; it was on hold for '${before?.code ?? 'unknown'}'. Workers try within seconds: if the fault lasts, the queue is on hold again with its reason`;
}
