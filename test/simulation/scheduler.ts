/**
 * Time, and what happens in it: events in the order of their times, one after the other, and nothing else makes anything
 * go on. After each the promises that it woke run until all of them wait again. Processes can be stopped: what was to reach
 * a dead one never comes, and what was to reach a paused one comes when it goes on.
 */
import type { Clock } from '../../src/core/model/index.ts';
import { type Draw, randomOf } from './random.ts';
import type { Stop } from './steps.ts';

/** The world's own time at its begin. */
export const BEGIN_MS = Date.UTC(2026, 0, 8, 12);
const MAX_EVENTS = 60_000;
const MAX_TURNS = 500;

interface Event {
  readonly dueMs: number;
  /** Of those that are due together. */
  readonly order: number;
  readonly life: Life | undefined;
  readonly go: () => void;
  isOver?: boolean;
}

/** Whether a process runs. */
export interface Life {
  readonly name: string;
  isDead: boolean;
  pausedUntilMs: number;
  /** How often it has asked the world for something. */
  asked: number;
  /** Its wall clock: ahead of the world's by so much. */
  aheadMs: number;
  /** Asks before it is killed, and before it is paused, for how long. */
  readonly killAfter?: number | undefined;
  readonly pauseAfter?: { readonly asked: number; readonly forMs: number } | undefined;
  /** The step at which it is stopped, and whether a call is that step. */
  readonly stop?: Stop | undefined;
  readonly isStop?: ((call: string) => boolean) | undefined;
  readonly onStopped?: ((how: 'dies' | 'pauses') => void) | undefined;
}

export type Scheduler = ReturnType<typeof createScheduler>;

export function createScheduler(seed: number, { maxEvents = MAX_EVENTS } = {}) {
  const draw = randomOf(seed, 'order');
  const heap: Event[] = [];
  let nowMs = 0;
  let events = 0;

  function at(dueMs: number, go: () => void, life?: Life): Event {
    const event = { dueMs: Math.max(dueMs, nowMs), order: draw(1 << 30), life, go };
    heap.push(event);
    rise(heap, heap.length - 1);
    return event;
  }

  /** Before a process asks for anything: its end may have come. True: what it was to ask it asks when it goes on. */
  function onAsk(life: Life, call = ''): boolean {
    const { killAfter, pauseAfter, stop } = life;
    life.asked += 1;
    if (life.asked === killAfter) end(life);
    if (life.asked === pauseAfter?.asked) pause(life, pauseAfter.forMs);
    if (stop === undefined || !life.isStop?.(call)) return false;
    if (stop.forMs === undefined) end(life);
    else pause(life, stop.forMs);
    return !stop.isSent;
  }

  function end(life: Life): void {
    life.isDead = true;
    life.onStopped?.('dies');
  }

  function pause(life: Life, forMs: number): void {
    life.pausedUntilMs = nowMs + forMs;
    life.onStopped?.('pauses');
  }

  function clockOf(life: Life): Clock {
    return {
      nowMs: () => Math.floor(BEGIN_MS + nowMs + life.aheadMs),
      monotonicMs: () => nowMs,
      sleep: (delayMs, signal) =>
        new Promise((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason);
          const event = at(nowMs + delayMs, done, life);
          function done() {
            signal?.removeEventListener('abort', onAbort);
            resolve();
          }
          function onAbort() {
            event.isOver = true;
            reject(signal!.reason);
          }
          signal?.addEventListener('abort', onAbort, { once: true });
        }),
    };
  }

  /** What comes next, `untilMs`. Whoever takes turns with others of its thread is not heard of for some turns. */
  async function next(untilMs: number): Promise<Event | undefined> {
    for (let turns = 0; turns < MAX_TURNS; turns++) {
      while (heap.length > 0 && (heap[0]!.isOver || heap[0]!.life?.isDead)) takeFirst(heap);
      if (heap.length > 0) return heap[0]!.dueMs <= untilMs ? takeFirst(heap) : undefined;
      await allWait();
    }
    return undefined;
  }

  /** Until nothing is to come before `untilMs`, or `isEnough`. Throws where it does not end. */
  async function run(isEnough: () => boolean, untilMs = Number.POSITIVE_INFINITY): Promise<void> {
    await allWait();
    for (let event = await next(untilMs); event !== undefined; event = await next(untilMs)) {
      const { life } = event;
      nowMs = Math.max(nowMs, event.dueMs);
      if (life !== undefined && life.pausedUntilMs > nowMs) {
        at(life.pausedUntilMs, event.go, life);
        continue;
      }
      if (++events > maxEvents) throw new Error('it does not end');
      event.isOver = true;
      event.go();
      await allWait();
      if (isEnough()) return;
    }
    if (untilMs !== Number.POSITIVE_INFINITY) nowMs = Math.max(nowMs, untilMs);
  }

  return {
    ...{ at, onAsk, clockOf, run },
    get nowMs() {
      return nowMs;
    },
    get events() {
      return events;
    },
  };
}

export function createLife(name: string, more: Partial<Life> = {}): Life {
  return { name, isDead: false, pausedUntilMs: 0, asked: 0, aheadMs: 0, ...more };
}

/** Milliseconds, most of them few. */
export function shortDelay(draw: Draw): number {
  return draw(8) === 0 ? 1 + draw(2_000) : 1 + draw(60);
}

/** Everything that can go on has gone on: promises run before the next turn of the event loop. */
function allWait(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const isBefore = (a: Event, b: Event) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);

function rise(heap: Event[], from: number): void {
  for (let at = from; at > 0; ) {
    const above = (at - 1) >> 1;
    if (!isBefore(heap[at]!, heap[above]!)) return;
    [heap[at], heap[above]] = [heap[above]!, heap[at]!];
    at = above;
  }
}

function takeFirst(heap: Event[]): Event {
  const first = heap[0]!;
  const last = heap.pop()!;
  if (heap.length === 0) return first;
  heap[0] = last;
  for (let at = 0; ; ) {
    const [left, right] = [2 * at + 1, 2 * at + 2];
    let least = at;
    if (left < heap.length && isBefore(heap[left]!, heap[least]!)) least = left;
    if (right < heap.length && isBefore(heap[right]!, heap[least]!)) least = right;
    if (least === at) return first;
    [heap[at], heap[least]] = [heap[least]!, heap[at]!];
    at = least;
  }
}
