/** The scheduler looks back by itself: exactly what changed is queued, once, and workers export it. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { VesselDay } from '../../src/core/model/index.ts';
import {
  addDays,
  dateToMicros,
  formatVesselDay,
  MICROS_PER_HOUR,
  systemClock,
} from '../../src/core/model/index.ts';
import type { Fault } from '../helpers/faulty-service/faults.ts';
import { expectExactDay, noteOf, receiptOf, serviceNames } from '../helpers/lake.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { JobFile, TestLake, TestService } from '../helpers/run.ts';
import { mustExport, newLake, OTHER_VESSEL, startTestService, VESSEL } from '../helpers/run.ts';
import type { InProcessFleet } from './fleet-in-process.ts';
import { openInProcessFleet } from './fleet-in-process.ts';

const redis = await redisForTests();
const FLEET = { vessels: 2, readingsPerDay: 1_000 };
const FROM = '2026-01-05';
const DAYS = 4;
const TO = addDays(FROM, DAYS);
/** Both schedules have fired: what is published is looked at again. */
const NOW_MS = Date.parse(`${TO}T08:00:00Z`);
const DAY_MS = 86_400_000;
const JOB: JobFile = {
  dataset: 'measurements',
  vessels: [VESSEL, OTHER_VESSEL],
  select: ['flat/{vessel}/S*'],
  schedule: { cron: '15 6 * * *', settle: '6h' },
  reconcile: { cron: '45 7 * * *', lookback: `${DAYS}d` },
};
const dayOf = (offset: number, vessel = VESSEL): VesselDay => ({
  job: 'measurements',
  vessel,
  date: addDays(FROM, offset),
});
const LATE = dayOf(2, OTHER_VESSEL);
const hourOf = ({ date }: VesselDay, hour: number) => {
  const fromMicros = dateToMicros(date) + hour * MICROS_PER_HOUR;
  return { fromMicros, toMicros: fromMicros + MICROS_PER_HOUR };
};

describe.skipIf(redis === undefined)('look-backs of the scheduler', () => {
  let base: TestLake;
  /** Time series ids of each vessel, in a fixed order. */
  let seriesOf: ReadonlyMap<string, readonly string[]>;
  let service: TestService;
  let bench: InProcessFleet;

  beforeAll(async () => {
    base = await newLake();
    const source = await startTestService(FLEET);
    const clock = { ...systemClock, nowMs: () => NOW_MS };
    const jobs = { measurements: JOB };
    const args = { from: FROM, to: TO };
    await mustExport({ service: source, lakeUrl: base.url, jobs, args, overrides: { clock } });
    const idsOf = async (vessel: string) =>
      [vessel, [...(await serviceNames(source, [`flat/${vessel}/S*`])).keys()].sort()] as const;
    seriesOf = new Map([await idsOf(VESSEL), await idsOf(OTHER_VESSEL)]);
    await source.close();
  });
  afterAll(async () => {
    await base[Symbol.asyncDispose]();
    await redis!.stop();
  });

  const open = (job: JobFile) =>
    openInProcessFleet({ service, lakeDir: base.dir, job, redis: redis!, startMs: NOW_MS });

  beforeEach(async () => {
    service = await startTestService(FLEET);
    bench = await open(JOB);
    return async () => {
      await bench[Symbol.asyncDispose]();
      await service.close();
    };
  });

  /** A reading a minute for an hour. */
  function addHour(day: VesselDay, hour = 7): void {
    const { fromMicros } = hourOf(day, hour);
    const readings = Array.from({ length: 60 }, (_, minute) => ({
      timestampMicros: fromMicros + minute * 60_000_000 + 123_457,
      valueText: `${minute}.5`,
    }));
    service.overlay.addReadings(seriesOf.get(day.vessel)![3]!, readings);
  }

  /** The service has lost two hours of every series of the vessel. */
  function loseHours(day: VesselDay): void {
    for (const hour of [4, 5])
      for (const id of seriesOf.get(day.vessel)!) service.overlay.removeReadings(id, hourOf(day, hour));
  }

  function answer(which: string, fault: Fault): void {
    service.faults = ({ family }) => (family === which ? fault : undefined);
  }
  const expectExact = (day: VesselDay) =>
    expectExactDay(service, { lakeDir: bench.lake.dir, day, expressions: [`flat/${day.vessel}/S*`] });

  test('a firing at which nothing could be compared is not looked back at, and comes again', async () => {
    answer('statistics', { kind: 'status', status: 503 });
    addHour(LATE);
    bench.schedule();
    await expect.poll(() => bench.errors()).toHaveLength(1);
    expect(bench.errors()[0]).toMatchObject({
      code: 'nothing-compared',
      msg: expect.stringContaining('none of 8 published vessel-days could be compared with the source'),
    });
    expect([bench.said('looked back'), await bench.queued()]).toEqual([[], []]);
    service.faults = undefined;
    bench.advance(300_000);
    expect(await bench.lookedBack(1)).toMatchObject({ compared: 2 * DAYS, changed: 1, enqueued: 1 });
  });

  test('late readings in one of eight vessel-days: that one is queued once, and exported', async () => {
    addHour(LATE);
    bench.schedule();
    expect(await bench.lookedBack(1)).toMatchObject({
      job: 'measurements',
      from: FROM,
      to: TO,
      vessels: 2,
      compared: 2 * DAYS,
      changed: 1,
      enqueued: 1,
      // Metadata of two vessels, one question for all days, one by the hour.
      requests: 4,
    });
    const { epoch } = (await receiptOf(bench.lake.dir, LATE))!;
    expect(await bench.queued()).toEqual([
      {
        ...LATE,
        kind: 'reconcile',
        force: true,
        compared: { epoch, totalsSha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      },
    ]);
    bench.work();
    await bench.idle();
    expect(bench.published()).toEqual([formatVesselDay(LATE)]);
    await expectExact(LATE);
    bench.advance(DAY_MS);
    expect(await bench.lookedBack(2)).toMatchObject({ changed: 0, enqueued: 0 });
    await bench.idle();
    // The next night, and nothing twice.
    expect(bench.published().slice(1).sort()).toEqual(
      [VESSEL, OTHER_VESSEL].map((vessel) => `measurements/${vessel}/${TO}`).sort(),
    );
  });

  test('what is queued, and what was exported since it was compared, is not exported twice', async () => {
    addHour(LATE);
    const stop = bench.schedule();
    await bench.lookedBack(1);
    bench.advance(DAY_MS);
    // It and the next night.
    expect(await bench.lookedBack(2)).toMatchObject({ changed: 1, 'in-queue': 3, enqueued: 0 });
    await stop();
    // Somebody exports it while it waits.
    const { date, vessel } = LATE;
    const args = { from: date, to: addDays(date, 1), vessel: [vessel], force: true };
    await mustExport({ service, lakeUrl: bench.lake.url, jobs: { measurements: JOB }, args });
    const pages = () => service.requests.filter(({ family }) => family === 'measurements').length;
    const asked = pages();
    bench.work();
    await expect
      .poll(() => bench.said('done').map(({ vesselDay }) => vesselDay))
      .toEqual([formatVesselDay(LATE)]);
    await bench.idle();
    const nights = bench.published().filter((day) => day.endsWith(TO)).length;
    expect(bench.published()).toHaveLength(nights);
    expect(pages() - asked).toBe(nights);
  });

  test('a day that would lose readings is said once, kept, and not tried again until its counts change', async () => {
    const lost = dayOf(1);
    const before = await receiptOf(bench.lake.dir, lost);
    loseHours(lost);
    bench.schedule();
    expect(await bench.lookedBack(1)).toMatchObject({ 'would-shrink': 1, changed: 0, enqueued: 0 });
    const said = () => bench.said('would lose readings: the published day stays');
    expect(said()).toMatchObject([
      { level: 'warn', vesselDay: formatVesselDay(lost), reason: expect.stringContaining('removed') },
    ]);
    expect(await noteOf(bench.lake.dir, lost)).toMatchObject({ state: 'refused' });
    await bench.flush();
    expect(await bench.lookedBack(2)).toMatchObject({ refused: 1, changed: 0, enqueued: 0 });
    expect(said()).toHaveLength(1);
    expect(await bench.queued()).toEqual([]);
    expect(await receiptOf(bench.lake.dir, lost)).toEqual(before);
  });

  test('a day that loses readings while it waits is refused by the worker, once', async () => {
    addHour(LATE);
    const stop = bench.schedule();
    await bench.lookedBack(1);
    await stop();
    const before = await receiptOf(bench.lake.dir, LATE);
    loseHours(LATE);
    const stopWork = bench.work();
    await expect
      .poll(() => bench.said('refused'))
      .toMatchObject([{ level: 'warn', vesselDay: formatVesselDay(LATE), code: 'would-shrink' }]);
    await bench.idle();
    await stopWork();
    expect(await bench.fleet.queue.depth()).toMatchObject({ failed: 0 });
    expect(await receiptOf(bench.lake.dir, LATE)).toEqual(before);

    bench.schedule();
    await bench.flush();
    expect(await bench.lookedBack(2)).toMatchObject({ refused: 1, enqueued: 0 });
    expect(bench.said('would lose readings: the published day stays')).toEqual([]);

    // What was lost comes back, and more of it.
    for (const id of seriesOf.get(LATE.vessel)!)
      service.overlay.addReadings(
        id,
        Array.from({ length: 200 }, (_, n) => ({
          timestampMicros: hourOf(LATE, 4).fromMicros + n,
          valueText: '1',
        })),
      );
    await bench.flush();
    expect(await bench.lookedBack(3)).toMatchObject({ changed: 1, enqueued: 1 });
    bench.work();
    await bench.idle();
    await expectExact(LATE);
    expect(await noteOf(bench.lake.dir, LATE)).toBeUndefined();
  });

  test('it does not look at what is before the first date of the job', async () => {
    await bench[Symbol.asyncDispose]();
    bench = await open({ ...JOB, since: addDays(FROM, 2) });
    const end = bench.schedule();
    expect(await bench.lookedBack(1)).toMatchObject({ from: addDays(FROM, 2), to: TO, compared: 4 });
    await end();
  });

  test('down for three firings, it looks back once', async () => {
    const stop = bench.schedule();
    await bench.lookedBack(1);
    await stop();
    const late = dayOf(DAYS - 1);
    addHour(late);
    bench.advance(3 * DAY_MS);
    bench.schedule();
    // The three nights that were missed are queued already.
    expect(await bench.lookedBack(2)).toMatchObject({
      from: late.date,
      changed: 1,
      enqueued: 1,
      'in-queue': 6,
    });
    const stopWork = bench.work();
    await bench.idle();
    expect(bench.published()).toHaveLength(7);
    await expectExact(late);
    // Nobody takes the next night out of the queue while it is looked back.
    await stopWork();
    // The third look-back is that of the next firing: the missed ones made one together.
    bench.advance(DAY_MS);
    expect(await bench.lookedBack(3)).toMatchObject({ from: TO, changed: 0, enqueued: 0, 'in-queue': 2 });
  });

  test('a night that falls due while the scheduler looks is planned before it is looked back at', async () => {
    let isEvening = false;
    bench.schedule({
      onEvent({ kind }) {
        if (kind !== 'job-planned') return;
        if (isEvening) bench.advance(DAY_MS);
        isEvening = false;
      },
      // A look-back that began too early would be over before the next look.
      intervalMs: 1_000,
    });
    await bench.lookedBack(1);
    isEvening = true;
    expect(await bench.lookedBack(2)).toMatchObject({ missing: 2, 'in-queue': 2, enqueued: 0 });
    expect((await bench.queued()).map(({ kind }) => kind)).toEqual(['nightly', 'nightly']);
  });

  test('what has no room waits for it, and the firing is planned only then', async () => {
    addHour(LATE);
    addHour(dayOf(0));
    const filler = Array.from({ length: 2_999 }, (_, n) => ({
      job: 'another',
      vessel: `IMO${9_000_000 + n}`,
      date: FROM,
      kind: 'backfill' as const,
    }));
    await bench.fleet.queue.add(filler);
    const stop = bench.schedule();
    expect(await bench.lookedBack(1)).toMatchObject({ changed: 2, enqueued: 1, 'no-room': 1 });
    await stop();
    // It died before everything was queued: the next one looks again.
    bench.schedule();
    expect(await bench.lookedBack(2)).toMatchObject({ changed: 2, 'in-queue': 1, 'no-room': 1 });
    await bench.fleet.queue.withdraw(({ job }) => job === 'another');
    await expect
      .poll(() => bench.said('queued more of what changed'))
      .toMatchObject([{ enqueued: 1, left: 0 }]);
    bench.work();
    await bench.idle();
    await expectExact(LATE);
    await expectExact(dayOf(0));
    expect(bench.said('looked back')).toHaveLength(2);
  });

  test('a look-back that stands still keeps no night from being planned, and ends with the scheduler', async () => {
    let asked = 0;
    service.faults = ({ family }) => {
      if (family !== 'statistics') return undefined;
      asked++;
      return { kind: 'stall', at: 'headers' };
    };
    const stop = bench.schedule();
    await expect.poll(() => asked).toBeGreaterThan(0);
    expect(bench.said('planned')).toHaveLength(1);
    bench.advance(DAY_MS);
    await expect.poll(() => bench.said('planned')).toMatchObject([{ added: 0 }, { added: 2 }]);
    await stop();
    expect(bench.said('looked back')).toEqual([]);
    expect(bench.said('cannot look back now')).toEqual([]);
  });

  test('a service that cannot be asked is said once, and asked again later', async () => {
    await bench[Symbol.asyncDispose]();
    bench = await open({ ...JOB, vessels: { discover: 'flat/*/*' } });
    answer('metadata', { kind: 'status', status: 503 });
    addHour(LATE);
    bench.schedule();
    const errors = () => bench.errors().filter(({ msg }) => msg.startsWith('cannot look back now: '));
    await expect.poll(errors).toMatchObject([{ what: 'reconcile of measurements' }]);
    service.faults = undefined;
    bench.advance(300_000);
    expect(await bench.lookedBack(1)).toMatchObject({ changed: 1, enqueued: 1 });
    expect(errors()).toHaveLength(1);
  });

  test('what failed for good is not tried again before the day changes, what may pass is', async () => {
    addHour(LATE);
    answer('measurements', { kind: 'garbage', body: '{"id":"x"}\n', contentType: 'application/x-ndjson' });
    bench.schedule();
    bench.work();
    await bench.lookedBack(1);
    await expect.poll(async () => (await bench.fleet.queue.depth()).failed).toBe(1);
    const again = async (times: number) => {
      await bench.fleet.redis.hdel(`${bench.env.REDIS_PREFIX}:schedule:reconciled`, 'measurements');
      return await bench.lookedBack(times);
    };
    expect(await again(2)).toMatchObject({ changed: 1, enqueued: 0, 'in-failed-set': 1 });
    expect(bench.said('changed, but in the failed set')).toMatchObject([
      { vesselDay: formatVesselDay(LATE), code: expect.any(String), reason: expect.any(String) },
    ]);
    service.faults = undefined;
    addHour(LATE, 9);
    expect(await again(3)).toMatchObject({ changed: 1, enqueued: 1 });
    await bench.idle();
    await expectExact(LATE);

    // Counts that disagree may agree later.
    answer('statistics', { kind: 'statistics-counts', offset: 1 });
    expect(await again(4)).toMatchObject({ changed: 2 * DAYS, enqueued: 2 * DAYS });
    await bench.idle();
    expect(await bench.fleet.queue.depth()).toMatchObject({ failed: 2 * DAYS });
    service.faults = undefined;
    addHour(LATE, 11);
    expect(await again(5)).toMatchObject({ changed: 1, enqueued: 1 });
    await bench.idle();
    await expectExact(LATE);
  });
});
