import { expect, test } from 'vitest';
import { estimateCost, type SampledDay, spread } from '../../../src/export/estimate/cost.ts';

const day = (readings: number): SampledDay => ({
  vessel: 'IMO9321483',
  date: '2026-01-05',
  readings,
  rows: readings,
  series: 180,
});

const INPUT: Parameters<typeof estimateCost>[0] = {
  dataset: 'measurements',
  toDo: 1_000,
  sampled: [day(100_000), day(300_000)],
  expressions: 2,
  counted: true,
  slicesOf: ({ readings }) => Math.ceil(readings / 100_000),
  experience: undefined,
  timed: { rows: 10_000, durationMs: 250 },
  latencyMs: 50,
  concurrencyLimit: 4,
  workers: 8,
  perMinute: 0,
};

test('the sample stands for the rest', () => {
  expect(estimateCost(INPUT)).toEqual({
    dataset: 'measurements',
    vesselDays: 1_000,
    readings: 200_000_000,
    rows: 200_000_000,
    leastRows: 100_000,
    mostRows: 300_000,
    // Two for metadata, one for counts, one or three time slices.
    requests: 5_000,
    sizeBytes: 1_400_000_000,
    bytesFrom: 'assumption',
    // 5,000 × 50 ms, and 200 million rows at 50,000 a second: four at once.
    durationMs: 62_500 + 4_000_000 / 4,
    boundBy: 'timed-request',
  });
});

test('no faster than one process encodes', () => {
  const { durationMs } = estimateCost({ ...INPUT, latencyMs: 0, timed: { rows: 1_000_000, durationMs: 1 } });
  expect(durationMs).toBeCloseTo((200_000_000 / 300_000) * 1_000);
});

test('published days tell bytes and time', () => {
  const experience = { vesselDays: 10, rows: 1_000_000, sizeBytes: 5_000_000, durationMs: 20_000 };
  const byRows = estimateCost({ ...INPUT, experience });
  expect(byRows).toMatchObject({ sizeBytes: 1_000_000_000, bytesFrom: 'experience', boundBy: 'experience' });
  expect(byRows.durationMs).toBeCloseTo(((200_000_000 / 1_000_000) * 20_000) / 8);
  const small = estimateCost({ ...INPUT, sampled: [day(10)], experience });
  // Two seconds a day, however few its rows.
  expect(small.durationMs).toBeCloseTo((1_000 * 2_000) / 8);
});

test('published days that are empty tell no bytes', () => {
  const experience = { vesselDays: 10, rows: 0, sizeBytes: 0, durationMs: 20_000 };
  expect(estimateCost({ ...INPUT, experience })).toMatchObject({
    bytesFrom: 'assumption',
    boundBy: 'experience',
  });
});

test('a rate limit that is slower than the work decides', () => {
  expect(estimateCost({ ...INPUT, perMinute: 60 })).toMatchObject({
    durationMs: 5_000_000,
    boundBy: 'rate-limit',
  });
  expect(estimateCost({ ...INPUT, perMinute: 60_000 })).toMatchObject({ boundBy: 'timed-request' });
});

test('nothing to do takes nothing', () => {
  expect(estimateCost({ ...INPUT, toDo: 0, sampled: [], timed: undefined })).toMatchObject({
    readings: 0,
    requests: 0,
    sizeBytes: 0,
    durationMs: 0,
    leastRows: 0,
    mostRows: 0,
  });
});

test('a spread is even, in order and without repeats', () => {
  const items = Array.from({ length: 100 }, (_, i) => i);
  expect(spread(items, 5)).toEqual([10, 30, 50, 70, 90]);
  expect(spread([1, 2, 3], 5)).toEqual([1, 2, 3]);
  expect(spread([], 5)).toEqual([]);
});
