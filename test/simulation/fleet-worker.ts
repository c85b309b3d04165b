/** BullMQ's worker over a queue in memory: takes, renews locks, looks for stalled jobs and says what became of them, by its process's clock. */
import { EventEmitter } from 'node:events';
import { DelayedError, UnrecoverableError, WaitingError } from 'bullmq';
import { messageOf } from '../../src/core/errors.ts';
import { MAX_ATTEMPTS } from '../../src/fleet/queue/settle-job.ts';
import type { BullWorker, BullWorkerOptions, ProcessJob } from '../../src/fleet/queue/vessel-day-worker.ts';
import type { QueueWorld } from './fleet-queue.ts';
import type { KeptJob } from './fleet-redis.ts';

/** Who waits for a delayed job looks again so often: its clock may have been set. */
const LONGEST_WAIT_MS = 10_000;

export function openWorkerOf({ redis, command, clock, name, onNews = (go) => go(), isAlive }: QueueWorld) {
  let workers = 0;
  return (process: ProcessJob, options: BullWorkerOptions): BullWorker => {
    const { lockDuration, stalledInterval, settings } = options;
    const events = new EventEmitter();
    const tokenBase = `${name}-${++workers}`;
    const stop = new AbortController();
    const tracked = new Map<string, { readonly token: string; sinceMs: number }>();
    const running = new Set<Promise<void>>();
    let { concurrency } = options;
    let [isPaused, isClosed, taken] = [false, false, 0];
    let closing: Promise<void> | undefined;
    let [wake, isAwake] = [() => {}, false];
    const goOn = () => {
      isAwake = true;
      wake();
    };

    async function loop(): Promise<void> {
      while (closing === undefined) {
        isAwake = false;
        const off = redis.onWork(() => onNews(goOn));
        let waitMs: number | undefined;
        if (!isPaused && running.size < concurrency) {
          const token = `${tokenBase}-${++taken}`;
          const found = await command('take', () => redis.take(token, lockDuration, clock.nowMs())).catch(
            () => undefined,
          );
          if (typeof found === 'object') {
            const ended: Promise<void> = processJob(found, token).finally(() => {
              running.delete(ended);
              goOn();
            });
            running.add(ended);
            off();
            continue;
          }
          if (found !== undefined) waitMs = Math.min(Math.max(found - clock.nowMs(), 1), LONGEST_WAIT_MS);
        }
        if (!isAwake && closing === undefined) await untilWoken(waitMs);
        off();
      }
    }

    async function untilWoken(waitMs: number | undefined): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const over = new AbortController();
      const late = waitMs === undefined ? [] : [clock.sleep(waitMs, over.signal).catch(() => {})];
      await Promise.race([promise, ...late]);
      over.abort();
    }

    async function processJob(kept: KeptJob, token: string): Promise<void> {
      const { id } = kept;
      tracked.set(id, { token, sinceMs: clock.nowMs() });
      renewWhileTracked();
      const job = jobOf(kept);
      try {
        try {
          await process(job as never, token);
          tracked.delete(id);
          await command(`complete ${id}`, () => redis.complete(id, token));
          events.emit('completed', job);
        } catch (error) {
          tracked.delete(id);
          await failed(kept, token, error);
        }
      } catch (error) {
        events.emit('error', error);
      } finally {
        tracked.delete(id);
      }
    }

    async function failed(kept: KeptJob, token: string, error: unknown): Promise<void> {
      const { id } = kept;
      if (isClosed || error instanceof DelayedError || error instanceof WaitingError) return;
      const made = kept.attemptsMade + 1;
      if (made < MAX_ATTEMPTS && !(error instanceof UnrecoverableError)) {
        const delayMs = settings.backoffStrategy(made);
        const untilMs = clock.nowMs() + delayMs;
        await command(`retry ${id}`, () => redis.delay(id, token, untilMs, true));
      } else {
        const nowMs = clock.nowMs();
        await command(`fail ${id}`, () => redis.fail(id, token, messageOf(error), nowMs));
      }
    }

    function jobOf(kept: KeptJob) {
      const { id } = kept;
      return {
        ...kept,
        data: JSON.parse(kept.data),
        moveToWait: (token: string) => command(`hand back ${id}`, () => redis.handBack(id, token)),
        moveToDelayed(timestamp: number, token: string) {
          const untilMs = Math.max(timestamp, clock.nowMs());
          return command(`delay ${id}`, () => redis.delay(id, token, untilMs));
        },
        extendLock: (token: string, lockMs: number) =>
          command(`extend ${id}`, () => (redis.extendLock(id, token, lockMs) ? 1 : 0)),
        async updateData(data: unknown) {
          this.data = data;
          const text = JSON.stringify(data);
          await command(`update ${id}`, () => redis.update(id, text));
        },
        remove: () => command(`remove ${id}`, () => redis.remove(id)),
      };
    }

    let isRenewing = false;
    /** As BullMQ's lock manager: which are old is told by the wall clock. */
    async function renewWhileTracked(): Promise<void> {
      if (isRenewing) return;
      isRenewing = true;
      while (tracked.size > 0 && !isClosed) {
        await clock.sleep(lockDuration / 4);
        const nowMs = clock.nowMs();
        const due = [...tracked].filter(([, { sinceMs }]) => sinceMs + lockDuration / 4 < nowMs);
        if (due.length === 0 || isClosed) continue;
        for (const [, one] of due) one.sinceMs = nowMs;
        const lost = await command('renew', () =>
          due.flatMap(([id, { token }]) => (redis.extendLock(id, token, lockDuration) ? [] : id)),
        ).catch(() => []);
        if (lost.length > 0) events.emit('lockRenewalFailed', lost);
      }
      isRenewing = false;
    }

    let generation = 0;
    async function checkStalled(): Promise<void> {
      const mine = ++generation;
      const isOver = () => closing !== undefined || isPaused || mine !== generation;
      while (!isOver()) {
        const stalled = await command('stalled?', () => redis.checkStalled(stalledInterval)).catch(() => []);
        for (const id of stalled) events.emit('stalled', id);
        if (!isOver()) await clock.sleep(stalledInterval, stop.signal).catch(() => {});
      }
    }

    redis.connect(() => closing === undefined && isAlive?.() !== false);
    const looping = loop();
    checkStalled();
    return {
      get closing() {
        return closing;
      },
      get concurrency() {
        return concurrency;
      },
      set concurrency(jobs: number) {
        concurrency = jobs;
        goOn();
      },
      async pause() {
        isPaused = true;
        generation++;
      },
      async resume() {
        if (!isPaused) return;
        isPaused = false;
        goOn();
        checkStalled();
      },
      close() {
        closing ??= (async () => {
          stop.abort();
          goOn();
          await looping;
          await Promise.all(running);
          isClosed = true;
        })();
        goOn();
        return closing;
      },
      backend: {
        async close() {
          isClosed = true;
        },
      },
      on: (event: string, listener: (...args: never[]) => void) =>
        events.on(event, listener as (...args: unknown[]) => void),
    } as BullWorker;
  };
}
