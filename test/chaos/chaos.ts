/**
 * Chaos over a backfill: workers die by `kill -9` while Redis, the service and the store fail around them. What
 * strikes is tied to the progress, not to the time, so that a quick and a slow machine see the same: after so many
 * vessel-days a worker, chosen by the seed, dies and another one begins, and with it the next ingredient strikes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, FaultPort } from '../helpers/faulty-service/faults.ts';
import type { FleetBench, FleetProcess } from '../integration/fleet-bench.ts';
import { JOB } from '../integration/fleet-bench.ts';
import { delayWrites, poisonDay } from './store-trouble.ts';
import { tailOf, watched } from './watched.ts';

/** In the order in which they strike, one with each kill; from the first again after the last. */
export const INGREDIENTS = [
  /** The service answers 503 for a while. */
  'busy-service',
  /** Redis is killed and started again; once. */
  'redis-restart',
  /** The store answers 503 for a while; in a bucket only. */
  'busy-store',
  /** Writes reach the store seconds after their sender was cut off; in a folder a worker is stopped and goes on. */
  'late-writes',
  /**
   * The service answers 404, empty lists, HTML, and 504 for long ranges. After the late writes: with them a claim comes
   * back that a failed attempt has withdrawn, and is waited for until it is stale.
   */
  'ill-service',
  /** The clock of Redis is set back, and forth. */
  'clock-steps',
] as const;
/** `poison`: from the beginning, a vessel-day for each worker that the store refuses until all others are done. */
export type Ingredient = (typeof INGREDIENTS)[number] | 'poison';

export interface ChaosOptions {
  readonly vessels: readonly string[];
  readonly dates: readonly string[];
  readonly workers: number;
  readonly seed: number;
  readonly ingredients: ReadonlySet<Ingredient>;
  /** Vessel-days between two kills. */
  readonly killEvery?: number;
  /** Answers in a row that fail while the service is in trouble. */
  readonly refusals?: number;
  readonly illAnswers?: number;
  /** Requests to the store that fail, or come late, in a row. */
  readonly storeRefusals?: number;
  readonly lateWrites?: number;
  /** How late writes come, and how long a worker stands still. A claim is taken over after a minute. */
  readonly lateMs?: number;
  readonly stopMs?: number;
  readonly say?: (line: string) => void;
}

export interface ChaosReport {
  readonly kills: number;
  /** How often each ingredient struck. */
  readonly strikes: ReadonlyMap<Ingredient, number>;
  readonly refusedRequests: number;
  readonly illAnswers: number;
  /** Vessel-days that failed while the service was ill, and were tried again in the end. */
  readonly failedOnce: number;
  /** What the backfill said in the end. */
  readonly progress: string;
}

/** What it waits for, for those who watch. */
interface Stage {
  now: string;
  lastWords: () => string;
}

const CLOCK_KEY = 'chaos:clock';
/** Milliseconds that the clock of Redis is off by, one step after the other. */
const CLOCK_STEPS_MS = [-20_000, 30_000, -5_000, 0];

/** Throws Error where it goes no further. */
export async function runChaos(bench: FleetBench, options: ChaosOptions): Promise<ChaosReport> {
  const stage: Stage = { now: '', lastWords: () => '' };
  const all = options.dates.length * options.vessels.length;
  const howFar = async () =>
    `${stage.now}; ${await bench.receiptCount()} of ${all} vessel-days are published`;
  const { say = () => {} } = options;
  const lastWords = () => stage.lastWords();
  return await watched(perform(bench, options, stage), { howFar, lastWords, say });
}

async function perform(bench: FleetBench, options: ChaosOptions, stage: Stage): Promise<ChaosReport> {
  const { dates, workers, killEvery = 2, refusals = 60, illAnswers = 24, storeRefusals = 30 } = options;
  const { lateWrites = 20, lateMs = 3_000, stopMs = 4_000, say = () => {} } = options;
  const random = createRandom(options.seed);
  const alive: FleetProcess[] = [];
  const all: FleetProcess[] = [];
  const strikes = new Map<Ingredient, number>();
  const counts = { kills: 0, refusedRequests: 0, illAnswers: 0 };
  const turns = INGREDIENTS.filter((ingredient) => options.ingredients.has(ingredient));
  /** What the service is in trouble with, one after the other: none is over before it has struck. */
  const troubles: FaultPort[] = [];
  bench.service.faults = (request) => troubles[0]?.(request);
  /** Of workers that stand still. */
  const goOn: Promise<void>[] = [];

  function begin(): void {
    const started = bench.start({ command: 'worker', maxAttempts: 1_000, clockKey: CLOCK_KEY });
    alive.push(started);
    all.push(started);
  }

  function makeBusy(): void {
    let left = refusals;
    troubles.push(() => {
      counts.refusedRequests++;
      if (--left === 0) troubles.shift();
      return { kind: 'status', status: 503 };
    });
  }

  function makeIll(): void {
    let left = illAnswers;
    troubles.push(({ family }) => {
      if (family === 'token') return undefined;
      counts.illAnswers++;
      if (--left === 0) troubles.shift();
      return ILLS[Math.floor(random() * ILLS.length)];
    });
  }

  function breakStore(): void {
    const fault = { kind: 'answer', status: 503, body: '' } as const;
    bench.line?.script(() => true, ...Array.from({ length: storeRefusals }, () => fault));
  }

  function writeLate(): void {
    const one = alive[Math.floor(random() * alive.length)]!;
    if (bench.line !== undefined) {
      delayWrites(bench.line, lateWrites, lateMs);
      return;
    }
    one.child.kill('SIGSTOP');
    goOn.push(sleep(stopMs).then(() => void one.child.kill('SIGCONT')));
  }

  async function restartRedis(): Promise<void> {
    if (strikes.get('redis-restart') !== 1) return;
    await bench.redis.kill();
    await bench.redis.start();
  }

  async function stepClock(): Promise<void> {
    const stepMs = CLOCK_STEPS_MS[(strikes.get('clock-steps')! - 1) % CLOCK_STEPS_MS.length]!;
    await bench.redis.command('SET', CLOCK_KEY, String(stepMs));
  }

  const effects: Readonly<Record<(typeof INGREDIENTS)[number], () => void | Promise<void>>> = {
    'busy-service': makeBusy,
    'redis-restart': restartRedis,
    'busy-store': breakStore,
    'ill-service': makeIll,
    'late-writes': writeLate,
    'clock-steps': stepClock,
  };

  async function strike(turn: number): Promise<void> {
    const ingredient = turns[turn % turns.length];
    if (ingredient === undefined) return;
    strikes.set(ingredient, (strikes.get(ingredient) ?? 0) + 1);
    say(ingredient);
    await effects[ingredient]();
  }

  function killOne(): void {
    const [victim] = alive.splice(Math.floor(random() * alive.length), 1);
    victim?.child.kill('SIGKILL');
    counts.kills++;
    say(`kill -9 of worker ${victim?.child.pid}`);
    begin();
  }

  const days = dates.flatMap((date) => options.vessels.map((vessel) => ({ vessel, date })));
  const heal = options.ingredients.has('poison') ? await poisonSome() : async () => {};

  /** Days of the first half, so that the queue meets them early; healed once everything else is done. */
  async function poisonSome(): Promise<() => Promise<void>> {
    const half = days.slice(0, days.length / 2).sort(() => random() - 0.5);
    const poisoned = half.slice(0, workers);
    const heals = await Promise.all(poisoned.map((day) => poisonDay(bench, day)));
    const others = days.filter((day) => !poisoned.includes(day)).map((day) => ({ job: JOB, ...day }));
    strikes.set('poison', heals.length);
    return async () => {
      // Done, or failed while the service was ill. What these days call for has struck by then: a service that fell ill
      // when all others were fetched is met by the poisoned, which ask it for nothing before they are healed.
      stage.now = 'all but the poisoned days';
      await waitFor(async () => {
        const failed = await bench.queue.failed(others);
        const published = await bench.receiptCount();
        return published + failed.size >= others.length && struck >= Math.floor(published / killEvery);
      });
      stage.now = 'the poisoned days, which are healed';
      say('all but the poisoned days are done');
      for (const healOne of heals) await healOne();
    };
  }

  for (let n = 0; n < workers; n++) begin();
  const range = { from: dates[0]!, to: nextDate(dates.at(-1)!) };
  let struck = 0;

  /** Strikes and kills as the vessel-days go on, until the backfill has ended. */
  async function accompany(ended: ReturnType<FleetBench['backfill']>): Promise<string> {
    const done = ended.then(() => true);
    // The lake is asked and not the workers: who is killed may not come to say what it has published.
    while (!(await Promise.race([done, sleep(WAIT_MS, false)]))) {
      const published = await bench.receiptCount();
      for (; struck < Math.floor(published / killEvery); struck++) {
        if (struck > 0) await strike(struck - 1);
        killOne();
      }
    }
    return (await ended).said;
  }

  stage.now = 'the backfill';
  stage.lastWords = () => alive.map(({ child, output }) => `${child.pid}: ${tailOf(output)}`).join('\n');
  const stop = new AbortController();
  const ended = bench.backfill(range, stop.signal);
  const healed = heal();
  let said = await accompany(ended);
  await healed;
  // What failed while the service was ill is tried again, under what has not struck yet.
  let failedOnce = 0;
  for (let failed = failedOf(said); failed > 0; failed = failedOf(said)) {
    failedOnce += failed;
    stage.now = `${failed} that failed`;
    troubles.length = 0;
    said = await accompany(bench.backfill({ ...range, failed: true }));
  }
  bench.service.faults = undefined;
  stage.now = 'workers to be idle';
  await Promise.all(goOn);
  // A day that its worker finished, but died before it said so, is for another to take.
  await bench.untilIdle();
  stage.now = 'workers to end, and late writes to arrive';
  // Who stood still may have begun to write; nobody does when what is left is looked at.
  for (const { child } of alive) child.kill('SIGTERM');
  await Promise.all(alive.map(({ ended }) => ended));
  await bench.line?.delivered();
  stage.now = 'a backfill of what is there';
  // Nothing is to do any more; claims that came back late go with the end of a backfill, or with gc after a day.
  ({ said } = await bench.backfill(range));
  if (options.ingredients.has('late-writes')) await bench.collectGarbage();
  return { ...counts, strikes, failedOnce, progress: said };
}

/** Vessel-days that failed, by the last line of a backfill. */
function failedOf(said: string): number {
  const last = [...said.matchAll(/ done, ([\d,]+) failed/g)].at(-1);
  return Number(last?.[1]?.replaceAll(',', '') ?? 0);
}

const ILLS: readonly Fault[] = [
  { kind: 'status', status: 404 },
  { kind: 'garbage', body: '[]', contentType: 'application/json' },
  { kind: 'garbage', body: '<html><body>Service unavailable</body></html>', contentType: 'text/html' },
  { kind: 'refuse-long-ranges', overSeconds: 6 * 3_600, status: 504 },
];

const WAIT_MS = 200;

async function waitFor(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(WAIT_MS);
}

function nextDate(date: string): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
}

/** Uniform in [0, 1), the same for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
