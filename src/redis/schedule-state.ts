/** State that schedulers share. Losing it costs only one more read of the ledger. */
import type { Redis } from 'ioredis';

export type ScheduleState = ReturnType<typeof createScheduleState>;

/** The schedules of a job: `schedule` and `reconcile` in its file. */
type ScheduleKind = 'nightly' | 'reconcile';

const LEAD = `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0`;

const RESIGN = `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end`;

export function createScheduleState(redis: Redis, prefix: string, self: string) {
  const leader = `${prefix}:schedule:leader`;
  const planned = { nightly: `${prefix}:schedule:planned`, reconcile: `${prefix}:schedule:reconciled` };
  return {
    /** True while this process is the one that plans; it must call this again before `ttlMs` is over. */
    lead: async (ttlMs: number) => (await redis.eval(LEAD, 1, leader, self, ttlMs)) === 1,
    resign: async (): Promise<void> => {
      await redis.eval(RESIGN, 1, leader, self);
    },
    /** The last firing of a job's schedule whose vessel-days are all in the queue, in milliseconds since the epoch. */
    async plannedFiringMs(kind: ScheduleKind, job: string): Promise<number | undefined> {
      const text = await redis.hget(planned[kind], job);
      return text === null ? undefined : Number(text);
    },
    async setPlannedFiringMs(kind: ScheduleKind, job: string, firingMs: number): Promise<void> {
      await redis.hset(planned[kind], job, firingMs);
    },
  };
}
