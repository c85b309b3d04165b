/**
 * What planners and workers rely on of the queue of vessel-days: the same cases against BullMQ on a real Redis, and against the
 * queue in memory that simulated fleets have.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  DataError,
  FatalError,
  NotYetError,
  RateLimitedError,
  RetriableError,
} from '../../../src/core/errors.ts';
import { silentLog, systemClock } from '../../../src/core/model/index.ts';
import type { QueuedDay, VesselDayQueue } from '../../../src/fleet/queue/vessel-day-queue.ts';
import type {
  VesselDayWorker,
  WorkerOptions,
  WorkerTimings,
} from '../../../src/fleet/queue/vessel-day-worker.ts';
import type { ScheduleState } from '../../../src/redis/schedule-state.ts';

/** A queue of its own, and what else happens to one. */
export interface QueuePlace {
  readonly queue: VesselDayQueue;
  readonly state: (self: string) => ScheduleState;
  /** Somebody else has the lock from now on; or nobody. */
  lock(id: string, token: string | null): Promise<void>;
  /** A worker that takes the next vessel-day with a lock of a minute, and is killed. */
  takeAndDie(): Promise<void>;
  pause(): Promise<void>;
  /** All that stood in it is lost. */
  flush(): Promise<void>;
}

const DAY: QueuedDay = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05', kind: 'nightly' };
const ID = 'measurements/IMO9321483/2026-01-05';
const dayOf = (date: string, more: Partial<QueuedDay> = {}): QueuedDay => ({ ...DAY, date, ...more });
const FAULT = { code: 'disk-full', message: 'full', host: 'a', sinceMs: 1 };
/** Only locks of the dead run out: a worker may have to wait for a processor. */
const QUICK = { lockMs: 60_000, stalledCheckMs: 50 };

export function describeQueue(name: string, isThere: boolean, newPlace: () => QueuePlace): void {
  describe.skipIf(!isThere)(`the queue of vessel-days, ${name}`, () => {
    let place: QueuePlace;
    let queue: VesselDayQueue;
    let troubles: string[];
    const workers: VesselDayWorker[] = [];
    const allLeft = () => expect.poll(() => queue.depth()).toEqual(depthOf({}));
    const inFailedSet = () => expect.poll(() => queue.deadLetters());

    beforeEach(() => {
      place = newPlace();
      queue = place.queue;
      troubles = [];
    });
    afterEach(async () => {
      for (const worker of workers.splice(0)) await worker.stop();
    });

    function startWorker(
      perform: WorkerOptions['perform'],
      timings: Partial<WorkerTimings> = {},
      more: Partial<WorkerOptions> = {},
    ): VesselDayWorker {
      const worker = queue.startWorker({
        ...{ concurrency: 2, clock: systemClock, random: () => 0, log: silentLog, perform },
        onFault: async () => true,
        onTrouble: (_day, _error, consequence) => troubles.push(consequence),
        ...more,
        timings: { countAgainDelaysMs: [5, 10, 15], backoffMs: () => 5, maxWaitMs: 20, ...timings },
      });
      workers.push(worker);
      return worker;
    }

    /** Fails with these, one after the other, and then succeeds; resolves then. */
    function failing(errors: unknown[]) {
      const { promise: succeeded, resolve } = Promise.withResolvers<QueuedDay>();
      const perform = async (day: QueuedDay) => {
        const error = errors.shift();
        if (error !== undefined) throw error;
        resolve(day);
      };
      return { perform, succeeded };
    }

    /** Begins, and ends when it is told to. */
    function endless() {
      const { promise: begun, resolve } = Promise.withResolvers<void>();
      const { promise: aborted, resolve: abort } = Promise.withResolvers<unknown>();
      const perform = (_day: QueuedDay, signal: AbortSignal) => {
        resolve();
        return new Promise<never>((_, reject) =>
          signal.addEventListener('abort', () => {
            abort(signal.reason);
            reject(signal.reason);
          }),
        );
      };
      return { begun, aborted, perform };
    }

    test('holds a vessel-day once, and gives it back', async () => {
      await queue.add([dayOf('2026-01-05'), dayOf('2026-01-06')]);
      await queue.add([dayOf('2026-01-05', { kind: 'backfill', force: true })]);
      expect(await queue.depth()).toEqual(depthOf({ waiting: 2 }));
      const known = await queue.known(['2026-01-04', '2026-01-05', '2026-01-06'].map((date) => dayOf(date)));
      expect([...known].sort()).toEqual([ID, 'measurements/IMO9321483/2026-01-06']);
      expect(await queue.find(DAY)).toEqual({ queued: DAY, state: 'waiting' });
      expect(await queue.facts(DAY)).toEqual({ state: 'waiting', day: DAY, attempts: 0, failedReason: '' });
      expect([await queue.find(dayOf('2026-01-04')), await queue.facts(dayOf('2026-01-04'))]).toEqual([
        undefined,
        undefined,
      ]);
    });

    test('a vessel-day is taken out, put in again, and what is not there is as good as taken out', async () => {
      await queue.add([DAY]);
      expect(await queue.remove(DAY)).toBe(true);
      expect(await queue.remove(DAY)).toBe(true);
      await queue.add([dayOf('2026-01-05', { kind: 'reconcile' })]);
      expect(await queue.find(DAY)).toMatchObject({ queued: { kind: 'reconcile' }, state: 'waiting' });
      expect(await queue.depth()).toEqual(depthOf({ prioritized: 1 }));
    });

    test('those of a backfill can be withdrawn, the others stay, and kinds are counted', async () => {
      await queue.add([
        DAY,
        dayOf('2026-01-06', { kind: 'backfill' }),
        dayOf('2026-01-07', { kind: 'reconcile' }),
      ]);
      const none = { waiting: 0, delayed: 0, failed: 0 };
      expect(await queue.countKinds()).toEqual(
        ['nightly', 'reconcile', 'backfill'].map((kind) => ({ kind, ...none, waiting: 1 })),
      );
      expect(await queue.withdraw(({ kind }) => kind === 'backfill')).toBe(1);
      expect(await queue.depth()).toEqual(depthOf({ waiting: 1, prioritized: 1 }));
      expect(await queue.names(10)).toEqual({
        queued: new Set([ID, 'measurements/IMO9321483/2026-01-07']),
        failed: new Set(),
      });
    });

    test('a hold is placed once, by whoever comes first, and lifted once', async () => {
      expect(await queue.hold.place(FAULT)).toBe(true);
      expect(await queue.hold.place({ ...FAULT, host: 'b' })).toBe(false);
      expect(await queue.hold.read()).toEqual(FAULT);
      expect([await queue.hold.lift(), await queue.hold.lift()]).toEqual([true, false]);
      expect([await queue.hold.read(), await queue.hold.handLifts()]).toEqual([undefined, 0]);
    });

    test('a pause without a reason is lifted by hand alone', async () => {
      await place.pause();
      expect(await queue.hold.place(FAULT)).toBe(false);
      expect(await queue.hold.read()).toMatchObject({ code: 'paused', host: null, sinceMs: null });
      expect([await queue.hold.lift(), await queue.hold.lift({ byHand: true })]).toEqual([false, true]);
      expect(await queue.hold.handLifts()).toBe(1);
    });

    test('nothing is taken during a hold, and what waited goes on after it', async () => {
      const { perform, succeeded } = failing([]);
      await queue.hold.place(FAULT);
      startWorker(perform);
      await queue.add([DAY]);
      expect(await queue.depth()).toEqual(depthOf({ waiting: 1 }));
      await queue.hold.lift();
      await succeeded;
      await allLeft();
    });

    test('one scheduler leads until it resigns or falls silent', async () => {
      const [one, other] = [place.state('a'), place.state('b')];
      expect([await one.lead(60_000), await other.lead(60_000), await one.lead(60_000)]).toEqual([
        true,
        false,
        true,
      ]);
      await other.resign();
      expect(await other.lead(60_000)).toBe(false);
      await one.resign();
      expect(await other.lead(1)).toBe(true);
      await expect.poll(() => one.lead(60_000)).toBe(true);
      expect(await one.plannedFiringMs('nightly', 'm')).toBeUndefined();
      await one.setPlannedFiringMs('nightly', 'm', 17);
      expect([
        await other.plannedFiringMs('nightly', 'm'),
        await other.plannedFiringMs('reconcile', 'm'),
      ]).toEqual([17, undefined]);
    });

    test('nightly vessel-days come before look-backs and those before backfills, each in their order', async () => {
      const taken: string[] = [];
      await queue.add([
        dayOf('2025-01-02', { kind: 'backfill' }),
        dayOf('2025-06-01', { kind: 'reconcile' }),
        dayOf('2025-01-01', { kind: 'backfill' }),
        ...[DAY, dayOf('2026-01-04')],
      ]);
      startWorker(async ({ date }) => void taken.push(date), {}, { concurrency: 1 });
      await allLeft();
      expect(taken).toEqual(['2026-01-05', '2026-01-04', '2025-06-01', '2025-01-02', '2025-01-01']);
      expect((await queue.known([DAY])).size).toBe(0);
    });

    test('no more vessel-days than asked for are under way at once', async () => {
      let [now, most] = [0, 0];
      await queue.add(Array.from({ length: 9 }, (_, at) => dayOf(`2026-01-0${at + 1}`)));
      startWorker(async () => {
        most = Math.max(most, ++now);
        await systemClock.sleep(5);
        now--;
      });
      await allLeft();
      expect(most).toBe(2);
    });

    const comparedWith = { date: '2026-01-04', finishedAt: '2026-01-05T06:00:00Z', series: 10 };
    const missing = { firstSeenAt: '', publishedFrom: '', selectedSeries: 2, comparedWith };
    test.for<[what: string, error: Error]>([
      ['is rate-limited', new RateLimitedError('rate-limited', 'slow down', 2)],
      ['lacks series', new NotYetError('fewer-series', '8 of 10', 2, missing)],
    ])('a vessel-day that %s waits without costing an attempt, however often', async ([, error]) => {
      const { perform, succeeded } = failing(Array(12).fill(error));
      await queue.add([DAY]);
      startWorker(perform);
      await succeeded;
      expect(troubles).toEqual(Array(12).fill('wait'));
    });

    test.for<[what: string, error: DataError | RetriableError, consequence: string, times: number]>([
      ['counts that disagree', new DataError('counts-disagree', '3 of 4'), 'count-again', 4],
      ['what may pass', new RetriableError('server-error', '503'), 'retry', 5],
    ])(
      'of %s a vessel-day is tried some times, then fails, and stays so',
      async ([, error, consequence, times]) => {
        const { perform } = failing(Array(9).fill(error));
        await queue.add([DAY]);
        startWorker(perform);
        const { code, message } = error;
        await inFailedSet().toMatchObject([{ day: { date: DAY.date }, code, message, mayPass: true }]);
        expect(troubles).toEqual(Array(times).fill(consequence));
        expect([...(await queue.failed([DAY]))]).toEqual([ID]);
        await queue.add([{ ...DAY, force: true }]);
        expect(await queue.depth()).toEqual(depthOf({ failed: 1 }));
        expect(await queue.facts(DAY)).toMatchObject({ state: 'failed', attempts: times === 5 ? 5 : 1 });
        expect((await queue.find(DAY))?.state).toBe('failed');
      },
    );

    test('what no retry fixes fails at once, and the others go on', async () => {
      const { perform, succeeded } = failing([new DataError('bad-record', 'no timestamp')]);
      await queue.add([DAY, dayOf('2026-01-06')]);
      startWorker(perform, {}, { concurrency: 1 });
      expect((await succeeded).date).toBe('2026-01-06');
      await inFailedSet().toMatchObject([{ code: 'bad-record', message: 'no timestamp', mayPass: false }]);
    });

    test('a fault that concerns all goes to the hold, and the vessel-day back', async () => {
      const held: string[] = [];
      const { perform, succeeded } = failing([new FatalError('credentials-refused', 'refused')]);
      await queue.add([DAY]);
      startWorker(perform, {}, { onFault: async ({ code }) => held.push(code) > 0 });
      await succeeded;
      expect(held).toEqual(['credentials-refused']);
      expect(await queue.deadLetters()).toEqual([]);
    });

    test("a fault that is the vessel-day's own counts as its attempt, and others go on meanwhile", async () => {
      const poisoned = dayOf('2026-01-06');
      const done: string[] = [];
      await queue.add([poisoned, DAY]);
      const perform = async ({ date }: QueuedDay) => {
        if (date === poisoned.date) throw new FatalError('no-permission', 'EACCES');
        done.push(date);
      };
      startWorker(perform, {}, { concurrency: 1, onFault: async () => false });
      await inFailedSet().toMatchObject([
        { day: { date: poisoned.date }, code: 'no-permission', mayPass: true },
      ]);
      expect(done).toEqual([DAY.date]);
      expect(troubles).toEqual(Array(5).fill('retry'));
    });

    test('stopping hands vessel-days back to the head of their kind, at no cost', async () => {
      const { begun, perform } = endless();
      await queue.add([DAY, dayOf('2026-01-06')]);
      const worker = startWorker(perform, {}, { concurrency: 1 });
      await begun;
      expect([worker.active, worker.oldestMs > 0]).toEqual([1, true]);
      await expect.poll(() => queue.workers()).toBe(1);
      expect(await queue.remove(DAY)).toBe(false);
      expect(await queue.find(DAY)).toMatchObject({ state: 'active' });
      await worker.stop();
      expect(worker.oldestMs).toBe(0);
      await expect.poll(() => queue.workers()).toBe(0);
      expect(await queue.depth()).toEqual(depthOf({ waiting: 2 }));
      expect(await queue.facts(DAY)).toMatchObject({ attempts: 0 });
      const taken: string[] = [];
      startWorker(async ({ date }) => void taken.push(date), {}, { concurrency: 1 });
      await allLeft();
      expect(taken).toEqual([DAY.date, '2026-01-06']);
    });

    test('a vessel-day that ignores the stop does not hold it up', async () => {
      const begun = Promise.withResolvers<void>();
      const end = Promise.withResolvers<void>();
      await queue.add([DAY]);
      const ignoring = () => {
        begun.resolve();
        return end.promise;
      };
      const worker = startWorker(ignoring, { stopMs: 50 });
      await begun.promise;
      await worker.stop();
      end.resolve();
      expect(await queue.depth()).toEqual(depthOf({ active: 1 }));
    });

    test('a vessel-day whose worker died is handed on twice, and then fails with a code of its own', async () => {
      await queue.add([DAY]);
      await dieWith(3);
      const tried: (string | undefined)[] = [];
      startWorker(async (_day, _signal, giveUp) => {
        tried.push(giveUp?.code);
        if (giveUp !== undefined) throw giveUp;
      }, QUICK);
      const message =
        /2026-01-05: found that 3 workers died.*expected at most 2;.*backfill measurements --failed/;
      await inFailedSet().toMatchObject([
        { code: 'workers-died', message: expect.stringMatching(message), mayPass: true },
      ]);
      expect([tried, troubles]).toEqual([['workers-died'], ['fail']]);
      // As the next firing does: the count begins anew.
      await queue.remove(DAY);
      await queue.add([DAY]);
      await expect.poll(() => tried).toEqual(['workers-died', undefined]);
    });

    async function dieWith(workersThatDie: number): Promise<void> {
      for (let worker = 1; worker <= workersThatDie; worker++) {
        await place.takeAndDie();
        await place.lock(ID, null);
      }
    }

    test('a vessel-day that was done when its third worker died leaves the queue', async () => {
      await queue.add([DAY]);
      await dieWith(3);
      startWorker(async () => {}, QUICK);
      await allLeft();
      expect(troubles).toEqual([]);
    });

    test('the last try of a vessel-day that two workers died with is made alone', async () => {
      const ends = Promise.withResolvers<void>();
      const suspectBegun = Promise.withResolvers<void>();
      const suspectEnds = Promise.withResolvers<void>();
      const beforeBegun = Promise.withResolvers<void>();
      const events: string[] = [];
      const [before, after] = [dayOf('2026-01-04'), dayOf('2026-01-06')];
      await queue.add([DAY]);
      await dieWith(1);
      await place.takeAndDie();
      await queue.add([before]);
      const perform = async ({ date }: QueuedDay) => {
        events.push(`begin ${date}`);
        if (date === before.date) {
          beforeBegun.resolve();
          await ends.promise;
        }
        if (date === DAY.date) {
          suspectBegun.resolve();
          await suspectEnds.promise;
        }
        events.push(`end ${date}`);
      };
      const worker = startWorker(perform, QUICK, { concurrency: 3 });
      await beforeBegun.promise;
      await place.lock(ID, null);
      // Both are taken; the suspect waits for the other to end.
      await expect.poll(() => worker.active).toBe(2);
      await expect.poll(() => events).toEqual(['begin 2026-01-04']);
      await queue.add([after]);
      ends.resolve();
      await suspectBegun.promise;
      expect(worker.active).toBe(1);
      suspectEnds.resolve();
      await allLeft();
      expect(events).toEqual(
        ['2026-01-04', '2026-01-05', '2026-01-06'].flatMap((date) => [`begin ${date}`, `end ${date}`]),
      );
    });

    test('a worker that stops hands back who waits for a lone turn', async () => {
      await queue.add([DAY]);
      await dieWith(1);
      await place.takeAndDie();
      await queue.add([dayOf('2026-01-04')]);
      const begun: string[] = [];
      const other = endless();
      const worker = startWorker((day, signal) => {
        begun.push(day.date);
        return other.perform(day, signal);
      }, QUICK);
      await other.begun;
      await place.lock(ID, null);
      await expect.poll(() => worker.active).toBe(2);
      await worker.stop();
      expect(begun).toEqual(['2026-01-04']);
      expect(await queue.depth()).toEqual(depthOf({ waiting: 2 }));
    });

    test('who has lost the lock without knowing it writes no failure', async () => {
      const before = { ...DAY, force: true };
      const failed = Promise.withResolvers<void>();
      await queue.add([before]);
      const losing = async () => {
        await place.lock(ID, 'someone else');
        throw new DataError('bad-record', 'no timestamp');
      };
      const worker = startWorker(losing, {}, { onTrouble: () => failed.resolve() });
      await failed.promise;
      await worker.stop();
      expect(await queue.facts(DAY)).toEqual({ state: 'active', day: before, attempts: 0, failedReason: '' });
    });

    test('a lost lock aborts the loser, which changes nothing of the job', async () => {
      const { begun, aborted, perform } = endless();
      await queue.add([DAY]);
      startWorker(perform, { lockMs: 200, stalledCheckMs: 60_000 });
      await begun;
      await place.lock(ID, 'someone else');
      expect(String(await aborted)).toContain('lock');
      expect(troubles).toEqual([]);
      expect(await queue.remove(DAY)).toBe(false);
      expect(await queue.depth()).toEqual(depthOf({ active: 1 }));
    });

    test('a lock is renewed for as long as its worker lives', async () => {
      const ends = Promise.withResolvers<void>();
      let begun = 0;
      await queue.add([DAY]);
      const perform = async () => {
        begun++;
        await ends.promise;
      };
      for (let worker = 1; worker <= 2; worker++)
        startWorker(perform, { lockMs: 1_000, stalledCheckMs: 100 });
      await expect.poll(() => begun).toBe(1);
      await systemClock.sleep(1_500);
      expect([begun, await queue.remove(DAY)]).toEqual([1, false]);
      ends.resolve();
      await allLeft();
    });

    test('what a worker whose clock is days ahead has delayed is brought back', async () => {
      const ahead = { ...systemClock, nowMs: () => systemClock.nowMs() + 3 * 86_400_000 };
      const waits = Array(2).fill(new RateLimitedError('rate-limited', 'slow down', 2));
      await queue.add([DAY, dayOf('2026-01-06', { kind: 'backfill' })]);
      const wrong = startWorker(failing(waits).perform, { maxWaitMs: 60_000 }, { clock: ahead });
      await expect.poll(() => queue.depth()).toEqual(depthOf({ delayed: 2 }));
      await wrong.stop();
      expect([await queue.bringBack(), await queue.bringBack()]).toEqual([2, 0]);
      expect(await queue.depth()).toEqual(depthOf({ waiting: 1, prioritized: 1 }));
      startWorker(async () => {});
      await allLeft();
    });

    test('what is lost while it is under way can be queued again, and its end changes nothing', async () => {
      const ends = Promise.withResolvers<void>();
      const { promise: begun, resolve } = Promise.withResolvers<void>();
      await queue.add([DAY, dayOf('2026-01-06')]);
      const perform = () => {
        resolve();
        return ends.promise;
      };
      const worker = startWorker(perform, {}, { concurrency: 1 });
      await begun;
      await place.flush();
      expect(await queue.depth()).toEqual(depthOf({}));
      await worker.pause();
      await queue.add([dayOf('2026-01-05', { force: true })]);
      ends.resolve();
      await worker.stop();
      expect(await queue.find(DAY)).toMatchObject({ state: 'waiting', queued: { force: true } });
    });
  });
}

type Depth = Awaited<ReturnType<VesselDayQueue['depth']>>;
function depthOf(some: Partial<Depth>): Depth {
  return { waiting: 0, prioritized: 0, active: 0, delayed: 0, failed: 0, ...some };
}
