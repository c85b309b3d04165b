/**
 * What schedulers share: which of them plans, and which firing of each job is planned. Losing it costs one more
 * look at the ledger, nothing else.
 */
import type { Redis } from 'ioredis';

export interface ScheduleState {
  /** True while this process is the one that plans; to be asked again before `ttlMs` is over. */
  lead(ttlMs: number): Promise<boolean>;
  /** Let another process lead at once. */
  resign(): Promise<void>;
  /** The last firing of a job's schedule whose vessel-days are all in the queue, in milliseconds since the epoch. */
  plannedFiringMs(kind: ScheduleKind, job: string): Promise<number | undefined>;
  setPlannedFiringMs(kind: ScheduleKind, job: string, firingMs: number): Promise<void>;
}

/** The schedules of a job: `schedule` and `reconcile` in its file. */
type ScheduleKind = 'nightly' | 'reconcile';

const LEAD = `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0`;

const RESIGN = `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end`;

/** `self` tells the schedulers apart. */
export function createScheduleState(redis: Redis, prefix: string, self: string): ScheduleState {
  const leader = `${prefix}:schedule:leader`;
  const planned = { nightly: `${prefix}:schedule:planned`, reconcile: `${prefix}:schedule:reconciled` };
  return {
    lead: async (ttlMs) => (await redis.eval(LEAD, 1, leader, self, ttlMs)) === 1,
    resign: async () => {
      await redis.eval(RESIGN, 1, leader, self);
    },
    async plannedFiringMs(kind, job) {
      const text = await redis.hget(planned[kind], job);
      return text === null ? undefined : Number(text);
    },
    async setPlannedFiringMs(kind, job, firingMs) {
      await redis.hset(planned[kind], job, firingMs);
    },
  };
}
