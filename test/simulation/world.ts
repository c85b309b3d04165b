/** A world in one process: lives a history, from its seed alone, and keeps what was to be seen of it. */
import { createHash } from 'node:crypto';
import { messageOf } from '../../src/core/errors.ts';
import { drawIdsFrom } from '../../src/core/unique-id.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';
import { CellWatch, type Visit } from './cells.ts';
import { type Crossing, type Damage, damagedStore } from './damage.ts';
import type { Act, History } from './history.ts';
import { type Asked, perform, type Said } from './process.ts';
import { randomOf } from './random.ts';
import { BEGIN_MS, createLife, createScheduler, type Life, type Scheduler } from './scheduler.ts';
import { NO_SERVICE_FAULTS, transportOf } from './service.ts';
import { createSource, type Source } from './source.ts';
import { createStop } from './steps.ts';
import { NO_STORE_FAULTS, storeOf } from './store.ts';
import { shortRequest, spanOf } from './told.ts';

/** What became readable at a key, or is gone; without a key: an upload was aborted. */
export interface Change {
  readonly atMs: number;
  readonly key: string;
  readonly bytes: Uint8Array | undefined;
  /** Of the upload that made it. */
  readonly nonce: string | undefined;
  /** Whose call it was, however late. */
  readonly by: string;
}

export interface Ended {
  readonly act: Asked & { readonly name: string };
  readonly said?: Said;
  readonly error?: unknown;
}

export interface World {
  readonly history: History;
  readonly scheduler: Scheduler;
  readonly source: Source;
  readonly changes: readonly Change[];
  readonly ended: readonly Ended[];
  /** Wall clocks of processes, as they have read them → when that was. */
  readonly readClocks: ReadonlyMap<number, number>;
  /** Is it that of a process whose clock is never far off? */
  readonly isClockRight: (name: string) => boolean;
  /** Since when somebody allows that readings go. */
  readonly shrinkAllowedMs: () => number;
  readonly digest: () => string;
  readonly lines: readonly string[];
  /** A process of its own with a right clock, when faults are off; waits for its end. */
  calmly(asked: Partial<Asked> & Pick<Asked, 'kind'>, aheadMs?: number, trouble?: Trouble): Promise<Said>;
  wait(ms: number): Promise<void>;
  /** Keys of uploads that are open. */
  uploads(): Promise<readonly string[]>;
  /** Processes of the history that were killed. */
  killed(): number;
  /** Has a conversion begun that is not over? */
  isConverting(): boolean;
  /** What is in the lake beside what it is to have: uploads too. */
  leftovers(wanted: ReadonlySet<string>): Promise<readonly string[]>;
}

/** What one process meets, and no other. */
export interface Trouble {
  readonly damage?: Pick<Damage, 'key' | 'bytes'>;
  /** The service refuses whatever is asked of it. */
  readonly vessel?: string;
}

const SELDOM = { force: false, allowShrink: false, takeover: false, select: 0, concurrency: 2 } as const;

export interface Watching {
  /** Lines for people are kept. */
  readonly isTold?: boolean;
  /** Cells of the table that were visited, how often. */
  readonly visits?: Map<Visit, number>;
  /** Damages that verify was asked about, beside what, how often. */
  readonly crossings?: Map<Crossing, number>;
}

export function createWorld(history: History, { isTold = false, visits }: Watching = {}): World {
  const cells = visits && new CellWatch(visits);
  const { seed } = history;
  const scheduler = createScheduler(seed);
  const source = createSource(seed, history.vessels, history.dates, randomOf(seed, 'source'));
  const trace = createHash('sha256');
  const [changes, ended, lines]: [Change[], Ended[], string[]] = [[], [], []];
  const readClocks = new Map<number, number>();
  let [isCalm, by, shrinkAllowedMs] = [false, '', Number.POSITIVE_INFINITY];
  let started = 0;

  const tell = (who: string, what: string) => {
    trace.update(`${scheduler.nowMs} ${who} ${what}\n`);
    if (isTold) lines.push(`${momentOf(scheduler.nowMs)}  ${who.padEnd(12)} ${what}`);
  };
  const disk = createMemoryStore(
    () => BEGIN_MS + scheduler.nowMs,
    (key, bytes, nonce) => {
      if (bytes !== undefined) trace.update(bytes);
      changes.push({ atMs: scheduler.nowMs, key, bytes, nonce, by });
      cells?.onChange(key, bytes, nonce);
    },
  );

  function start(life: Life, asked: Asked, { damage, vessel }: Trouble = {}): Promise<Said> {
    const draw = randomOf(seed, life.name);
    const clock = scheduler.clockOf(life);
    const nowMs = () => {
      const readMs = clock.nowMs();
      if (!readClocks.has(readMs)) readClocks.set(readMs, scheduler.nowMs);
      return readMs;
    };
    const store = storeOf(life, {
      ...{ scheduler, disk: damage ? damagedStore(disk, damage) : disk },
      draw: randomOf(seed, `${life.name} store`),
      ...{ faults: () => (isCalm ? NO_STORE_FAULTS : history.store), abilities: history.abilities },
      onEffect(who, call, how, askedMs) {
        by = who.name;
        const abort = /^abort .* (\S+)$/.exec(call);
        if (abort) changes.push({ atMs: scheduler.nowMs, key: '', bytes: undefined, nonce: abort[1], by });
        cells?.onEffect(who.name, call, how);
        tell(
          who.name,
          how === 'once' ? call : `${call} (${how}, sent ${spanOf(scheduler.nowMs - askedMs)} before)`,
        );
      },
    });
    const transport = transportOf(life, {
      ...{ scheduler, source, draw: randomOf(seed, `${life.name} service`) },
      faults: () => (isCalm ? NO_SERVICE_FAULTS : history.service),
      refused: vessel,
      onRequest: (who, what, status) => tell(who.name, `asks ${shortRequest(what)}: ${status}`),
    });
    if (asked.allowShrink) shrinkAllowedMs = Math.min(shrinkAllowedMs, scheduler.nowMs);
    const { sizes, vessels, dates, layout, log } = history;
    const world = { name: life.name, store, clock: { ...clock, nowMs }, transport, draw };
    const wanted = layout === 'delta' ? layout : undefined;
    return perform({ ...world, sizes, vessels, dates, wanted, log }, asked);
  }

  function begin(act: Act): void {
    const onStopped = (how: 'dies' | 'pauses') => {
      tell(act.name, how);
      cells?.onStopped(act.name, how);
    };
    const isStop = act.stop && createStop(act.stop);
    const life = createLife(act.name, { ...act, isStop, onStopped });
    tell(act.name, 'begins');
    lives.push(life);
    start(life, act).then(
      (said) => end({ act, said }, described(said)),
      (error: unknown) => end({ act, error }, messageOf(error)),
    );
    const { step } = act;
    if (step)
      scheduler.at(scheduler.nowMs + step.atMs, () => {
        life.aheadMs = step.aheadMs;
      });
  }
  const lives: Life[] = [];
  const wrongClocks = new Set<string>();
  const isWrong = ({ aheadMs, step }: Pick<Act, 'aheadMs' | 'step'>) =>
    Math.max(Math.abs(aheadMs), Math.abs(step?.aheadMs ?? 0)) > 60_000;
  for (const act of history.acts) if (isWrong(act)) wrongClocks.add(act.name);
  function end(one: Ended, how: string): void {
    tell(one.act.name, `ends: ${how}`);
    ended.push(one);
  }

  for (const act of history.acts) scheduler.at(act.atMs, () => begin(act));
  for (const change of history.changes)
    scheduler.at(change.atMs, () => {
      const changed = source.change({ ...change, atMs: scheduler.nowMs });
      for (const day of changed) cells?.onSource(day);
      if (changed.length > 0) tell('source', `${change.kind} ${change.series}: ${changed.join(', ')}`);
    });

  return {
    ...{ history, scheduler, source, changes, ended, readClocks, lines },
    shrinkAllowedMs: () => shrinkAllowedMs,
    isClockRight: (name) => !wrongClocks.has(name),
    digest: () => trace.copy().digest('hex').slice(0, 16),
    async calmly(asked, aheadMs = 0, trouble = {}) {
      isCalm = true;
      const life = createLife(`calm-${asked.kind}-${++started}`, { aheadMs });
      if (aheadMs !== 0) wrongClocks.add(life.name);
      tell(life.name, 'begins');
      let isOver = false;
      const running = start(life, { ...SELDOM, ...asked }, trouble);
      const settled = running
        .catch(() => {})
        .then(() => {
          isOver = true;
        });
      await scheduler.run(() => isOver);
      if (!isOver) throw new Error(`${life.name} hangs`);
      await settled;
      const said = await running;
      tell(life.name, `ends: ${described(said)}`);
      return said;
    },
    killed: () => lives.filter(({ isDead }) => isDead).length,
    isConverting() {
      const file = changes.findLast(({ key }) => key === '_lake.json')?.bytes;
      return file !== undefined && 'converting' in JSON.parse(Buffer.from(file).toString());
    },
    async leftovers(wanted) {
      const keys = (await Array.fromAsync(disk.list(''))).map(({ key }) => key);
      const uploads = (await uploadsOf(disk)).map((key) => `the upload of ${key}`);
      return [...keys.filter((key) => !wanted.has(key)), ...uploads];
    },
    uploads: () => uploadsOf(disk),
    wait: (ms) => scheduler.run(() => false, scheduler.nowMs + ms),
  };
}

async function uploadsOf(disk: ObjectStore): Promise<string[]> {
  return (await Array.fromAsync(disk.listUploads(''))).map(({ key }) => key);
}

function described({ results, findings }: Said): string {
  const days = results.map(
    ({ day, status, message = '' }) => `${day.vessel} ${day.date} ${status} ${message}`,
  );
  return [...days, ...findings].join('; ');
}

/** As the world has it: `3 01:02:03.004` is in its fourth day. */
function momentOf(ms: number): string {
  const text = new Date(ms).toISOString();
  return `${Math.floor(ms / 86_400_000)} ${text.slice(11, 23)}`;
}

/** Whatever chance and real time would bring into a history comes from its seed. One at a time. */
export async function fromSeed<T>(seed: number, live: () => Promise<T>): Promise<T> {
  const draw = randomOf(seed, 'ids');
  const hex = (digits: number) =>
    Array.from({ length: digits / 4 }, () => draw(0x1_00_00).toString(16).padStart(4, '0')).join('');
  drawIdsFrom(() => `${hex(8)}-${hex(4)}-4${hex(4).slice(1)}-8${hex(4).slice(1)}-${hex(12)}`);
  // No pause because of real time: how long a step takes is nobody's business here.
  const { now } = performance;
  performance.now = () => 0;
  try {
    return await live();
  } finally {
    performance.now = now;
    drawIdsFrom();
  }
}
