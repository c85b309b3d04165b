/** Defects to plant that only a fleet meets. */
import type { Mutant } from './mutants.ts';

export const FLEET_MUTANTS: readonly Mutant[] = [
  {
    name: 'a notice is marked as told before it is sent',
    file: 'fleet/notify/notices.ts',
    find: 'if (message.id !== arrivedId) await webhook.send(message, signal);',
    put: 'await write({ noticesVersion: 1, told }, found); await webhook.send(message, signal);',
    only: 'fleet',
  },
  {
    name: 'what was told of a cause is forgotten with its next news',
    file: 'fleet/notify/cause-changes.ts',
    find: 'members: [...before, ...fresh].slice(0, MAX_MEMBERS),',
    put: 'members: fresh.length > 0 ? fresh : before,',
    only: 'fleet',
  },
  {
    name: 'a vessel-day leaves the queue before its receipt is there',
    file: 'fleet/queue/vessel-day-worker.ts',
    find: 'await perform(job.data, signal, died < MAX_HANDED_ON ? undefined : workersDied(job.data, died), leave);',
    put: 'void perform(job.data, signal, undefined, leave).catch(() => {});',
    only: 'fleet',
  },
  {
    name: 'a look-back goes by a clock that does not tell the day',
    file: 'fleet/look-backs.ts',
    find: 'const to = microsToDate(firing.lookedMs * 1_000);',
    put: 'const to = microsToDate(clock.monotonicMs() * 1_000);',
    only: 'fleet',
  },
  {
    name: 'a try that somebody asks for is swallowed by the one that has failed',
    file: 'fleet/try-again.ts',
    find: "  if (!(await queue.remove(day))) return 'under-way';\n",
    put: '',
    only: 'fleet',
  },
  {
    name: 'a backfill ends while its vessel-days wait',
    file: 'fleet/backfills.ts',
    find: 'const finished = left === 0 && waiting === 0 && !isBehind;',
    put: 'const finished = left === 0;',
    only: 'fleet',
  },
  {
    name: 'a note is dated by a clock that is behind that of the receipt',
    file: 'lake/notes.ts',
    find: 'return now < finishedAt ? finishedAt : now;',
    put: 'return now;',
    only: 'fleet',
  },
  {
    name: 'who has paused an export for a fault of all never goes on',
    file: 'fleet/hold-watch.ts',
    find: 'if (ownFault !== undefined) await options.resume();\n    ownFault = undefined;\n    if (!(await hold.lift())) return;',
    put: 'ownFault = undefined;\n    if (!(await hold.lift())) return;',
    only: 'fleet',
  },
  {
    name: 'vessel-days that a clock ahead has delayed stay so',
    file: 'fleet/scheduler.ts',
    find: 'const vesselDays = await options.queue.bringBack();',
    put: 'const vesselDays = 0;',
    only: 'fleet',
  },
];
