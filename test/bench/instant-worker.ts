/**
 * A worker of the queue whose vessel-days take no time: each is only noted as published. `instant-worker.ts` with JSON of
 * an InstantWork; prints a line once it works, and ends when its stdin does.
 */
import { silentLog, systemClock } from '../../src/core/model/index.ts';
import { startVesselDayWorker } from '../../src/fleet/queue/vessel-day-worker.ts';
import { openRedis } from '../../src/redis/connection.ts';
import type { InstantRange } from './instant-lake.ts';
import { PublishedDays } from './instant-lake.ts';

export interface InstantWork {
  readonly redisUrl: string;
  readonly prefix: string;
  /** Of `PublishedDays`. */
  readonly dir: string;
  readonly range: InstantRange;
}

const { redisUrl, prefix, dir, range } = JSON.parse(process.argv[2]!) as InstantWork;
const published = new PublishedDays(dir, range);
const connection = await openRedis(redisUrl);
const worker = startVesselDayWorker({
  redis: connection.openForQueue(),
  prefix,
  concurrency: 50,
  clock: systemClock,
  random: Math.random,
  log: silentLog,
  perform: async (day) => published.publish(day),
  onFault: async () => true,
  onTrouble: () => {},
});
process.stdout.write('{}\n');
for await (const _ of process.stdin);
await worker.stop();
await connection.close();
