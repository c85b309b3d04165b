import { UnrecoverableError, Worker } from 'bullmq';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addDays, datesBetween, silentLog } from '../../src/core/model/index.ts';
import { QUEUE_NAME } from '../../src/fleet/queue/queued-day.ts';
import { createScheduler, type Scheduler } from '../../src/fleet/scheduler.ts';
import { acceptSelect } from '../../src/lake/accept.ts';
import { claimKey } from '../../src/lake/keys.ts';
import { createScheduleState, type ScheduleState } from '../../src/redis/schedule-state.ts';
import { queueRedisForTests } from '../helpers/redis.ts';
import { JOB, openPlanningBench, type PlanningBench, VESSELS, withoutLookBacks } from './planning-bench.ts';

const { server, redis } = await queueRedisForTests();
const DAY_MS = 86_400_000;
const never = new AbortController().signal;

describe.skipIf(server === undefined)('the scheduler', () => {
  let bench: PlanningBench;
  let schedulers = 0;

  beforeEach(async () => {
    // A quarter past six: what ended at midnight is due, and the schedule fires.
    bench = await openPlanningBench(redis, server!.newPrefix(), Date.parse('2026-01-10T06:15:00Z'));
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  const start = (jobs = [JOB]): Scheduler => bench.newScheduler({ jobs });

  const daysOf = (from: string, to: string) =>
    datesBetween(from, to).flatMap((date) => VESSELS.map((vessel) => `${vessel}/${date}`));

  test('a firing queues what the ledger lacks inside the lookback, the newest first', async () => {
    await bench.finish({ job: JOB.name, vessel: VESSELS[0]!, date: '2026-01-08' });
    await start().look(never);
    const waiting = await bench.waiting();
    expect(waiting.toSorted()).toEqual(
      daysOf('2026-01-05', '2026-01-10')
        .filter((day) => day !== 'IMO9000001/2026-01-08')
        .toSorted(),
    );
    expect(waiting[0]).toContain('2026-01-09');
    expect(bench.missing.get(JOB.name)).toEqual([9, '2026-01-05']);
  });

  test('a firing is planned once', async () => {
    const scheduler = start();
    await scheduler.look(never);
    await bench.workOff();
    await bench.clock.advance(DAY_MS / 2);
    await bench.store.remove('_ledger/measurements/date=2026-01-09/vessel=IMO9000001.json');
    await scheduler.look(never);
    await start().look(never);
    expect(await bench.waiting()).toEqual([]);
  });

  test('a firing that somebody with a clock ten days ahead has planned keeps nobody from planning now', async () => {
    const state = createScheduleState(redis, bench.prefix, 'its clock was ahead');
    await state.setPlannedFiringMs('nightly', JOB.name, bench.clock.nowMs() + 10 * DAY_MS);
    await start().look(never);
    expect(await bench.waiting()).toHaveLength(10);
  });

  test('down for three days, it catches up on all of them, once', async () => {
    await start().look(never);
    await bench.workOff();
    await bench.clock.advance(3 * DAY_MS + 3_600_000);
    const late = start();
    await late.look(never);
    expect((await bench.waiting()).toSorted()).toEqual(daysOf('2026-01-10', '2026-01-13').toSorted());
    await bench.workOff();
    await late.look(never);
    expect(await bench.waiting()).toEqual([]);
  });

  test('days of other settings are stale, and queued again', async () => {
    for (const date of datesBetween('2026-01-05', '2026-01-10'))
      for (const vessel of VESSELS) await bench.finish({ job: JOB.name, vessel, date });
    await bench.finish({ job: JOB.name, vessel: VESSELS[1]!, date: '2026-01-07' }, 'other settings');
    await start().look(never);
    expect(await bench.waiting()).toEqual(['IMO9000002/2026-01-07']);
  });

  /** So many vessel-days are in the failed set. */
  async function failAll(count: number): Promise<void> {
    const fail = () => Promise.reject(new UnrecoverableError('server-error: 503'));
    const failer = new Worker(QUEUE_NAME, fail, { connection: redis, prefix: bench.prefix });
    await expect.poll(async () => (await bench.queue.deadLetters()).length).toBe(count);
    await failer.close();
  }

  test('what may have passed is tried again with the next firing, poison is not', async () => {
    const [passing, poison] = VESSELS.map((vessel) => ({ job: JOB.name, vessel, date: '2026-01-09' }));
    await bench.queue.add([
      { ...passing!, kind: 'nightly', mayPass: true },
      { ...poison!, kind: 'nightly', failure: { code: 'bad-record', message: 'no timestamp' } },
    ]);
    await failAll(2);
    await start().look(never);
    expect(await bench.waiting()).toContain('IMO9000001/2026-01-09');
    expect(await bench.queue.deadLetters()).toMatchObject([{ day: poison, code: 'bad-record' }]);
  });

  test('what was refused is tried again with the next firing once it is accepted that series go', async () => {
    const [refused, poison] = VESSELS.map((vessel) => ({ job: JOB.name, vessel, date: '2026-01-09' }));
    await bench.finish(refused!, 'other settings');
    await bench.queue.add([
      { ...refused!, kind: 'nightly', failure: { code: 'would-shrink', message: 'fewer readings' } },
      { ...poison!, kind: 'nightly', failure: { code: 'bad-record', message: 'no timestamp' } },
    ]);
    await failAll(2);
    await start().look(never);
    expect(await bench.queue.deadLetters()).toHaveLength(2);
    const ports = { ...bench, log: silentLog, apiVersion: '2026-09-10' } as const;
    expect(await acceptSelect(ports, JOB)).toMatchObject({ state: 'accepted', vesselDays: 1 });
    await bench.clock.advance(DAY_MS);
    await start().look(never);
    expect(await bench.waiting()).toContain('IMO9000001/2026-01-09');
    expect(await bench.queue.deadLetters()).toMatchObject([{ day: poison, code: 'bad-record' }]);
  });

  test('the claim of a day that is done goes', async () => {
    const day = { job: JOB.name, vessel: VESSELS[0]!, date: '2025-06-01' };
    await bench.finish(day);
    await bench.store.put(claimKey(day, 1), Buffer.from('{}'));
    const live = { ...day, date: '2025-06-02' };
    await bench.store.put(claimKey(live, 1), Buffer.from('{}'));
    await start().look(never);
    const claims: string[] = [];
    for await (const { key } of bench.store.list('_checkpoints/')) claims.push(key);
    expect(claims).toEqual([claimKey(live, 1)]);
  });

  test.for([
    [24, 1],
    [48, 2],
    [15 * 24, 14],
  ])(
    'every day is queued once it is due, with a settle of %i h and a look-back of %i d',
    async ([hours, days]) => {
      const job = {
        ...JOB,
        schedule: { ...JOB.schedule!, settleMs: hours! * 3_600_000 },
        reconcile: { ...JOB.reconcile!, lookbackDays: days! },
      };
      const scheduler = start([job]);
      const queued = new Set<string>();
      for (let firing = 0; firing < 20; firing++) {
        await scheduler.look(never);
        for (const day of await bench.waiting()) queued.add(day);
        await bench.workOff();
        await bench.clock.advance(DAY_MS);
      }
      const due = Math.floor(hours! / 24);
      const last = addDays('2026-01-29', -due);
      expect([...queued].sort()).toEqual(expect.arrayContaining(daysOf(addDays(last, -18), last).sort()));
    },
  );

  const PUBLISHED = { job: JOB.name, vessel: VESSELS[0]!, date: '2025-01-10' };

  test('what is missing since the first published day is queued, the last days before the rest', async () => {
    await bench.finish(PUBLISHED);
    await bench.finish({ ...PUBLISHED, date: '2025-06-01' });
    await start().look(never);
    const waiting = await bench.waiting();
    const expected = daysOf('2025-01-10', '2026-01-10').filter(
      (day) => ![`${VESSELS[0]}/2025-01-10`, `${VESSELS[0]}/2025-06-01`].includes(day),
    );
    expect(waiting.toSorted()).toEqual(expected.toSorted());
    expect(bench.missing.get(JOB.name)).toEqual([expected.length, '2025-01-10']);
    expect(await bench.queue.depth()).toMatchObject({ waiting: 10, prioritized: expected.length - 10 });
    expect(waiting.slice(0, 3)).toEqual([...daysOf('2026-01-09', '2026-01-10'), `${VESSELS[0]}/2026-01-08`]);
  });

  test('with since nothing before it is, and what is older than the look-back is listed only', async () => {
    await bench.finish(PUBLISHED);
    await bench.finish({ ...PUBLISHED, date: '2025-12-24' }, 'other settings');
    await start([{ ...JOB, since: '2025-12-24' }]).look(never);
    const expected = daysOf('2025-12-24', '2026-01-10').filter((day) => day !== `${VESSELS[0]}/2025-12-24`);
    expect((await bench.waiting()).toSorted()).toEqual(expected.toSorted());
  });

  test('years of a fleet enter the queue a few thousand at a time, and all of them count as missing', async () => {
    const vessels = Array.from({ length: 400 }, (_, n) => `IMO${9_100_000 + n}`);
    const scheduler = start([{ ...JOB, vessels, since: '2025-12-01' }]);
    await scheduler.look(never);
    expect(await bench.queue.depth()).toMatchObject({ waiting: 2_000, prioritized: 2_000 });
    expect(bench.missing.get(JOB.name)).toEqual([40 * 400, '2025-12-01']);
    await bench.clock.advance(10_000);
    await scheduler.look(never);
    expect(await bench.queue.depth()).toMatchObject({ waiting: 2_000, prioritized: 2_000 });
  });

  test('what failed long ago for a reason that may have passed is queued again', async () => {
    const day = { job: JOB.name, vessel: VESSELS[0]!, date: '2025-12-01' };
    await bench.queue.add([{ ...day, kind: 'nightly' }]);
    await failAll(1);
    await start([{ ...JOB, since: '2025-12-01' }]).look(never);
    expect(await bench.queue.deadLetters()).toEqual([]);
    expect(await bench.waiting()).toContain(`${VESSELS[0]}/2025-12-01`);
  });

  test('what is missing is brought up to date between firings', async () => {
    const scheduler = start();
    await scheduler.look(never);
    expect(bench.missing.get(JOB.name)).toEqual([10, '2026-01-05']);
    await bench.workOn({ job: JOB.name, vessel: VESSELS[1]!, date: '2026-01-09' });
    // Exported by somebody else: its vessel-day is still in the queue.
    for (const vessel of VESSELS) await bench.finish({ job: JOB.name, vessel, date: '2026-01-05' });
    await bench.clock.advance(60_000);
    await scheduler.look(never);
    expect(bench.missing.get(JOB.name)).toEqual([7, '2026-01-06']);
    // Another one finds the firing planned, and says it too.
    bench.missing.clear();
    await start().look(never);
    expect(bench.missing.get(JOB.name)).toEqual([7, '2026-01-06']);
    await bench.workOff();
    await bench.clock.advance(60_000);
    await scheduler.look(never);
    expect(bench.missing.get(JOB.name)).toEqual([0, undefined]);
  });

  test('a snapshot that equals the last one, and leaves no receipt, is not missing', async () => {
    const { reconcile: _, ...metadata } = { ...JOB, name: 'metadata', dataset: 'metadata' as const };
    const scheduler = start([metadata]);
    await scheduler.look(never);
    expect(bench.missing.get('metadata')).toEqual([2, '2026-01-10']);
    for (const vessel of VESSELS) await bench.queue.remove({ job: 'metadata', vessel, date: '2026-01-10' });
    await bench.clock.advance(60_000);
    await scheduler.look(never);
    expect(bench.missing.get('metadata')).toEqual([0, undefined]);
  });

  test('it says who leads, what goes wrong, and that it is well again', async () => {
    const led: (boolean | undefined)[] = [];
    let failures = 0;
    let isFull = false;
    const state = createScheduleState(redis, bench.prefix, `scheduler ${schedulers++}`);
    const scheduler = createScheduler({
      ...bench.planning,
      jobs: [JOB],
      state: {
        ...withoutLookBacks(state, bench.clock),
        setPlannedFiringMs: async (...args) => {
          if (isFull) throw new Error('OOM command not allowed');
          await state.setPlannedFiringMs(...args);
        },
      },
      onEvent: (event) => {
        if (event.kind === 'lead') led.push(event.leads);
        if (event.kind === 'planning-failed') failures++;
      },
    });
    const stop = new AbortController();
    isFull = true;
    const running = scheduler.run(stop.signal);
    await expect.poll(() => scheduler.trouble).toBe('cannot plan: internal-error');
    await bench.clock.untilSleeping((ms) => ms === 10_000);
    await bench.clock.advance(10_000);
    await expect.poll(() => failures).toBe(2);
    isFull = false;
    await bench.clock.untilSleeping((ms) => ms === 10_000);
    await bench.clock.advance(10_000);
    await expect.poll(() => scheduler.trouble).toBeUndefined();
    stop.abort();
    await running;
    expect(new Set(led)).toEqual(new Set([true]));
  });

  test('a look that takes minutes keeps the lead, and one that stands still loses it', async () => {
    const { ledger } = bench.planning;
    const stop = new AbortController();
    const begun = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const slow: typeof ledger = {
      ...ledger,
      async firstDate(job) {
        begun.resolve();
        await end.promise;
        return await ledger.firstDate(job);
      },
    };
    const renewed: number[] = [];
    const state: ScheduleState = {
      ...createScheduleState(redis, bench.prefix, 'slow'),
      lead: async () => renewed.push(bench.clock.nowMs()) > 0,
    };
    const running = createScheduler({
      ...bench.planning,
      ledger: slow,
      jobs: [JOB],
      state: withoutLookBacks(state, bench.clock),
    }).run(stop.signal);
    await begun.promise;
    await bench.clock.advance(5 * 60_000);
    expect(renewed).toHaveLength(1 + 15);
    await bench.clock.advance(60 * 60_000);
    expect(renewed).toHaveLength(1 + 30);
    end.resolve();
    await expect.poll(() => bench.waiting()).toHaveLength(10);
    stop.abort();
    await running;
  });

  test('a job that cannot be planned does not stop the others', async () => {
    const broken = { ...JOB, name: 'broken', vessels: { discover: 'flat/*/*' } };
    await start([broken, JOB]).look(never);
    expect(await bench.waiting()).toHaveLength(10);
  });
});
