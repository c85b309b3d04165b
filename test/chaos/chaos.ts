/**
 * Chaos over a backfill: workers die by `kill -9`, Redis is restarted, the service answers 503 for a while, and
 * the store too where the lake is in a bucket. What strikes is tied to the progress, not to the time, so that a quick and a slow machine see the same: after so
 * many vessel-days a worker, chosen by the seed, dies and another one begins.
 */
import type { FleetBench, FleetProcess } from '../integration/fleet-bench.ts';
import { publishedBy } from '../integration/fleet-bench.ts';

export interface ChaosOptions {
  readonly from: string;
  readonly to: string;
  readonly workers: number;
  readonly seed: number;
  /** Vessel-days between two kills. */
  readonly killEvery?: number;
  /** Requests that fail in a row while the service is in trouble. */
  readonly refusals?: number;
  /** Requests to the store that fail in a row. */
  readonly storeRefusals?: number;
  readonly say?: (line: string) => void;
}

export interface ChaosReport {
  readonly kills: number;
  readonly redisRestarts: number;
  readonly refusedRequests: number;
  readonly storeRefusals: number;
  /** What the backfill said in the end. */
  readonly progress: string;
}

export async function runChaos(bench: FleetBench, options: ChaosOptions): Promise<ChaosReport> {
  const { workers, killEvery = 3, refusals = 60, storeRefusals = 30, say = () => {} } = options;
  const random = createRandom(options.seed);
  const alive: FleetProcess[] = [];
  const all: FleetProcess[] = [];
  const report = { kills: 0, redisRestarts: 0, refusedRequests: 0, storeRefusals: 0 };

  function begin(): void {
    const started = bench.start({ command: 'worker', maxAttempts: 1_000 });
    alive.push(started);
    all.push(started);
  }

  function refuse(): void {
    const until = report.refusedRequests + refusals;
    say('the service answers 503');
    bench.service.faults = () => {
      report.refusedRequests++;
      if (report.refusedRequests >= until) bench.service.faults = undefined;
      return { kind: 'status', status: 503 };
    };
  }

  function breakStore(): void {
    if (bench.line === undefined) return;
    say('the store answers 503');
    const fault = { kind: 'answer', status: 503, body: '' } as const;
    bench.line.script(() => true, ...Array.from({ length: storeRefusals }, () => fault));
    report.storeRefusals += storeRefusals;
  }

  async function restartRedis(): Promise<void> {
    say('Redis is killed and started again');
    await bench.redis.kill();
    await bench.redis.start();
    report.redisRestarts++;
  }

  function killOne(): void {
    const [victim] = alive.splice(Math.floor(random() * alive.length), 1);
    victim?.child.kill('SIGKILL');
    report.kills++;
    say(`kill -9 of worker ${victim?.child.pid}`);
    begin();
  }

  for (let n = 0; n < workers; n++) begin();
  const ended = bench.backfill({ from: options.from, to: options.to });
  const done = ended.then(() => true);
  let struck = 0;
  while (!(await Promise.race([done, nextOutput(all)]))) {
    const published = all.reduce((sum, worker) => sum + publishedBy(worker).length, 0);
    for (; struck < Math.floor(published / killEvery); struck++) {
      if (struck === 2) await restartRedis();
      if (struck === 3) breakStore();
      if (struck === 1) refuse();
      killOne();
    }
  }
  const { said } = await ended;
  return { ...report, progress: said };
}

/** False as soon as any of the processes says something. */
function nextOutput(processes: readonly FleetProcess[]): Promise<false> {
  const { promise, resolve } = Promise.withResolvers<false>();
  const onData = () => resolve(false);
  for (const { child } of processes) child.stderr?.on('data', onData);
  void promise.then(() => {
    for (const { child } of processes) child.stderr?.off('data', onData);
  });
  return promise;
}

/** Uniform in [0, 1), the same for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
