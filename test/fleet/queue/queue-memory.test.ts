/** The queue of simulated fleets does what BullMQ does. */
import { systemClock } from '../../../src/core/model/index.ts';
import { memoryScheduleState, openMemoryQueue } from '../../simulation/fleet-queue.ts';
import { FleetRedis } from '../../simulation/fleet-redis.ts';
import { describeQueue } from './queue-suite.ts';

describeQueue('in memory', true, () => {
  const redis = new FleetRedis(() => Date.now());
  const command = async <T>(_what: string, act: () => T) => act();
  const world = { redis, command, clock: systemClock };
  return {
    queue: openMemoryQueue({ ...world, name: 'p' }),
    state: (self) => memoryScheduleState({ ...world, name: self }),
    lock: async (id, token) => redis.forceLock(id, token),
    async takeAndDie() {
      let taken = redis.take('dead', 60_000, Date.now());
      while (typeof taken !== 'object') {
        redis.checkStalled(0);
        taken = redis.take('dead', 60_000, Date.now());
      }
    },
    pause: async () => void redis.placeHold(null),
    flush: async () => redis.flush(),
  };
});
