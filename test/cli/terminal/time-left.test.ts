import { expect, test } from 'vitest';
import { TimeLeft } from '../../../src/cli/terminal/time-left.ts';
import type { VesselDay } from '../../../src/core/model/index.ts';

const ROWS = 100_000;
const COUNTING = 2;
const TAIL = 2;

/** Vessel-days that are counted, fetched for as long as their job takes, uploaded and verified; four at once. */
function simulate(fetching: Readonly<Record<string, number>>, daysOfEach: number) {
  const days = Object.keys(fetching).flatMap((job) =>
    Array.from({ length: daysOfEach }, (_, i): VesselDay => ({ job, vessel: `IMO${i}`, date: '2026-01-05' })),
  );
  const free = [0, 0, 0, 0];
  const plan = days.map((day) => {
    const lane = free.indexOf(Math.min(...free));
    const begin = free[lane]!;
    const seconds = fetching[day.job]!;
    free[lane] = begin + COUNTING + seconds + TAIL;
    return { day, begin, seconds, end: free[lane]! };
  });
  const timeLeft = new TimeLeft();
  timeLeft.plan(days);
  const end = Math.max(...free);
  const looks = [];
  const finished = new Set<VesselDay>();
  for (let now = 0; now < end; now += 0.1) {
    for (const { day, begin, seconds, end: last } of plan) {
      const share = Math.min(1, (now - begin - COUNTING) / seconds);
      if (share >= 0 && now < last) timeLeft.progress(day, { rows: share * ROWS, rowsKnown: ROWS });
      if (now >= last && !finished.has(day)) {
        finished.add(day);
        timeLeft.finish(day);
      }
    }
    looks.push({ trueLeft: end - now, ...timeLeft.look(now * 1_000) });
  }
  return looks;
}

test('three seconds before the end no minute is promised, and never so much as twice the truth', () => {
  const looks = simulate({ measurements: 8 }, 24);
  for (const { trueLeft, secondsLeft } of looks.filter(({ trueLeft }) => trueLeft < 60))
    expect(secondsLeft).toBeLessThan(2 * trueLeft + 2);
  const halfway = looks.find(({ share }) => share >= 0.5)!;
  expect(halfway.secondsLeft! / halfway.trueLeft).toBeGreaterThan(0.7);
  expect(halfway.secondsLeft! / halfway.trueLeft).toBeLessThan(1.4);
});

test('a job that has not begun makes the time left a least one; a faster one is not taken to be as slow', () => {
  const looks = simulate({ measurements: 8, statistics: 0.5 }, 16);
  const early = looks.filter(({ rows }) => rows < 15 * ROWS);
  expect(early.every(({ isLeast }) => isLeast)).toBe(true);
  for (const { trueLeft, secondsLeft } of early
    .filter(({ secondsLeft }) => secondsLeft !== undefined)
    .slice(20))
    expect(secondsLeft).toBeLessThan(1.2 * trueLeft);
  const late = looks.filter(({ trueLeft }) => trueLeft < 3);
  expect(late.every(({ isLeast, secondsLeft }) => !isLeast && secondsLeft! < 6)).toBe(true);
});

test('rows that were not counted yet are expected to be like the others of their job', () => {
  const timeLeft = new TimeLeft();
  const dayOf = (job: string, i: number) => ({ job, vessel: `IMO${i}`, date: '2026-01-05' });
  timeLeft.plan([dayOf('a', 1), dayOf('a', 2), dayOf('b', 1)]);
  expect(timeLeft.look(0)).toMatchObject({ expectedRows: undefined, counted: false, share: 0 });
  timeLeft.progress(dayOf('a', 1), { rows: 0, rowsKnown: 1_000 });
  expect(timeLeft.look(100)).toMatchObject({ expectedRows: 3_000, counted: false });
  timeLeft.progress(dayOf('a', 2), { rows: 0, rowsKnown: 3_000 });
  timeLeft.progress(dayOf('b', 1), { rows: 0, rowsKnown: 10 });
  expect(timeLeft.look(200)).toMatchObject({ expectedRows: 4_010, counted: true });
});

test('where rows cannot be counted, finished vessel-days tell what the others are like', () => {
  const timeLeft = new TimeLeft();
  const dayOf = (i: number) => ({ job: 'a', vessel: `IMO${i}`, date: '2026-01-05' });
  timeLeft.plan([dayOf(1), dayOf(2), dayOf(3), dayOf(4)]);
  timeLeft.look(0);
  timeLeft.progress(dayOf(1), { rows: 600, rowsKnown: undefined });
  expect(timeLeft.look(5_000)).toMatchObject({
    expectedRows: undefined,
    secondsLeft: undefined,
    isLeast: true,
  });
  timeLeft.finish(dayOf(1), 1_000);
  expect(timeLeft.look(10_000)).toMatchObject({
    expectedRows: 4_000,
    share: 0.25,
    secondsLeft: 30,
    isLeast: false,
  });
  timeLeft.progress(dayOf(2), { rows: 500, rowsKnown: undefined });
  expect(timeLeft.look(15_000).share).toBeCloseTo(0.25 + 0.9 / 8);
});

test('the total stays about the same from the first count to the last', () => {
  const expected = simulate({ measurements: 8 }, 24).flatMap(({ expectedRows }) => expectedRows ?? []);
  expect(new Set(expected)).toEqual(new Set([24 * ROWS]));
});

test('what goes on for as long as nothing is fetched is in the time left too', () => {
  const looks = simulate({ measurements: 8 }, 4);
  const [fetched] = looks.filter(({ rows }) => rows === 4 * ROWS);
  expect(fetched!.share).toBeLessThan(1);
  expect(fetched!.secondsLeft).toBeGreaterThan(0);
});
