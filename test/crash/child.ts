/**
 * An export in a process of its own, which stops itself at a step: `kill` dies as by `kill -9`, `stop` halts as
 * by SIGSTOP until somebody continues it. Settings come by the environment as for users; sizes and steps by
 * CRASH_PLAN, a JSON text.
 */
import { runCommand } from '../../src/cli/commands/run.ts';
import { FORMAT_SIZES } from '../../src/core/model/index.ts';

export interface CrashPlan {
  /** The step of the crash table, and the how many-th time it is taken. */
  readonly step?: string;
  readonly nth?: number;
  readonly how?: 'kill' | 'stop';
  readonly rowGroupRows?: number;
  readonly partBytes?: number;
  readonly sliceTargetRows?: number;
  readonly jobs: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly vessel: string;
  readonly takeover?: boolean;
  readonly force?: boolean;
}

const plan = JSON.parse(process.env.CRASH_PLAN ?? '') as CrashPlan;
const stop = new AbortController();
let taken = 0;

function onStep(step: string): void {
  if (step !== plan.step || ++taken !== (plan.nth ?? 1)) return;
  process.kill(process.pid, plan.how === 'stop' ? 'SIGSTOP' : 'SIGKILL');
}

process.on('SIGTERM', () => stop.abort());
process.exitCode = await runCommand(
  { env: process.env, stdout: process.stdout, stderr: process.stderr, signal: stop.signal },
  plan.jobs,
  {
    from: plan.from,
    to: plan.to,
    vessel: [plan.vessel],
    takeover: plan.takeover ?? false,
    force: plan.force ?? false,
  },
  {
    sizes: {
      rowGroupRows: plan.rowGroupRows ?? FORMAT_SIZES.rowGroupRows,
      partBytes: plan.partBytes ?? FORMAT_SIZES.partBytes,
    },
    ...(plan.sliceTargetRows === undefined ? {} : { sliceTargetRows: plan.sliceTargetRows }),
    onStep,
  },
);
