/**
 * A worker, a scheduler or a run in a process of its own, with the times of tests. Settings come by the environment as
 * for users; the rest by FLEET_CHILD, a JSON text.
 */
import { runCommand } from '../../src/cli/commands/run.ts';
import { scheduleCommand } from '../../src/cli/commands/schedule.ts';
import { workerCommand } from '../../src/cli/commands/worker.ts';
import { FORMAT_SIZES, systemClock } from '../../src/core/model/index.ts';
import type { WorkTimes } from '../../src/fleet/work.ts';
import { REDIS_NOW } from '../../src/redis/lua/members.ts';

export interface FleetChildPlan {
  readonly command: 'worker' | 'schedule' | 'run';
  /** Of a run: UTC dates. */
  readonly range?: { readonly from: string; readonly to: string };
  /** How much its clock is ahead. */
  readonly aheadMs?: number;
  /** How long it waits for the head of an answer. */
  readonly headersTimeoutMs?: number;
  readonly rowGroupRows?: number;
  readonly partBytes?: number;
  readonly sliceTargetRows?: number;
  /** A job whose worker was killed comes back after about twice this. */
  readonly lockMs?: number;
  /** Between looks for such jobs; default: `lockMs`. */
  readonly stalledCheckMs?: number;
  /** The step of the crash table at which the process halts, as by SIGSTOP. */
  readonly haltAt?: string;
  /** Tries of a request in a row that fail. */
  readonly maxAttempts?: number;
  /** Key of the milliseconds that the clock of Redis is off by, for the limits that all processes share. */
  readonly clockKey?: string;
}

const plan = JSON.parse(process.env.FLEET_CHILD ?? '') as FleetChildPlan;
const lockMs = plan.lockMs ?? 2_000;
const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());

const context = { env: process.env, stdout: process.stdout, stderr: process.stderr, signal: stop.signal };
const overrides = {
  ...(plan.aheadMs !== undefined && {
    clock: { ...systemClock, nowMs: () => systemClock.nowMs() + plan.aheadMs! },
  }),
  clientLimits: {
    retry: { baseDelayMs: 5, maxDelayMs: 50, maxAttempts: plan.maxAttempts ?? 8 },
    ...(plan.headersTimeoutMs !== undefined && { headersTimeoutMs: plan.headersTimeoutMs }),
  },
  encoderThreads: 0 as const,
  sizes: {
    rowGroupRows: plan.rowGroupRows ?? FORMAT_SIZES.rowGroupRows,
    partBytes: plan.partBytes ?? FORMAT_SIZES.partBytes,
  },
  ...(plan.sliceTargetRows === undefined ? {} : { sliceTargetRows: plan.sliceTargetRows }),
  ...(plan.clockKey !== undefined && {
    redisNow: `${REDIS_NOW}\nnow = now + tonumber(redis.call('GET', '${plan.clockKey}') or '0')`,
  }),
  onStep: (step: string) => {
    if (step === plan.haltAt) process.kill(process.pid, 'SIGSTOP');
  },
};
const times: WorkTimes = {
  worker: {
    lockMs,
    stalledCheckMs: plan.stalledCheckMs ?? lockMs,
    countAgainDelaysMs: [200, 400, 600],
    backoffMs: (attemptsMade) => 100 * 2 ** attemptsMade,
    maxWaitMs: 500,
  },
  hold: { pollMs: 200, probeMs: [200, 1_000] },
};
const commands: Readonly<Record<FleetChildPlan['command'], () => Promise<number>>> = {
  worker: () => workerCommand(context, overrides, times),
  schedule: () => scheduleCommand(context, {}, overrides, 300),
  run: () => runCommand(context, [], plan.range!, overrides),
};
const code = await commands[plan.command]();
// As the command line does: what BullMQ still waits for does not keep the process.
process.exit(code);
