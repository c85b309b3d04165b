/** Ports for servers that are started by a number, and for nobody. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that systems give to connections, and to who asks for any port: nobody takes one of these by chance. */
const [MIN_PORT, BELOW_PORT] = [12_000, 32_000];

/** A port that refuses connections: nothing listens there, nor will before somebody is told to. */
export async function refusingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(MIN_PORT, BELOW_PORT);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    await once(probe.listen(port, '127.0.0.1'), 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
  await once(probe.close(), 'close');
  return true;
}
