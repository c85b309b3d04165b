import { expect, test } from 'vitest';
import { MICROS_PER_HOUR, MICROS_PER_SECOND } from '../../../src/core/model/index.ts';
import { createSliceLength, createSliceLengths } from '../../../src/core/plan/slice-length.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';

const HOUR = MICROS_PER_HOUR;

test('slices are as long as planned until one fails, and then as long as what got through', () => {
  const length = createSliceLength();
  length.passed(24 * HOUR);
  expect(length.maxMicros).toBe(Infinity);
  length.failed(12 * HOUR);
  length.failed(6 * HOUR);
  for (let slice = 0; slice < 100; slice++) length.passed(6 * HOUR);
  expect(length.maxMicros).toBe(6 * HOUR);
});

test('twice a length of less than an hour is tried after four slices, and more seldom each time that fails', () => {
  const length = createSliceLength();
  const short = HOUR / 4;
  length.failed(short);
  const tries: number[] = [];
  let passes = 0;
  while (tries.length < 6) {
    length.passed(short);
    passes += 1;
    if (length.maxMicros === short) continue;
    tries.push(passes);
    passes = 0;
    length.failed(short);
  }
  expect(tries).toEqual([4, 8, 16, 32, 64, 64]);
});

test('the short end of a slice says nothing of its length', () => {
  const length = createSliceLength();
  length.failed(HOUR / 4);
  for (let slice = 0; slice < 100; slice++) length.passed(HOUR / 10);
  expect(length.maxMicros).toBe(HOUR / 4);
});

test('a job remembers what got through for a while, and tries longer ones in time', async () => {
  const clock = createManualClock();
  const lengths = createSliceLengths(clock);
  const first = lengths.of('measurements', 'measurements');
  first.failed(6 * HOUR);
  expect(lengths.of('measurements', 'measurements').maxMicros).toBe(Infinity);
  first.passed(6 * HOUR);
  const second = lengths.of('measurements', 'measurements');
  expect(second.maxMicros).toBe(6 * HOUR);
  expect(lengths.of('measurements', 'statistics').maxMicros).toBe(Infinity);
  expect(lengths.of('other', 'measurements').maxMicros).toBe(Infinity);
  await clock.advance(300_000);
  // Who has not seen a slice fail has learnt nothing new.
  second.passed(6 * HOUR);
  expect(lengths.of('measurements', 'measurements').maxMicros).toBe(12 * HOUR);
  await clock.advance(300_000);
  expect(lengths.of('measurements', 'measurements').maxMicros).toBe(Infinity);
});

test('a job does not remember slices shorter than an hour: they are about one vessel', () => {
  const lengths = createSliceLengths(createManualClock());
  const first = lengths.of('job', 'measurements');
  first.failed(MICROS_PER_SECOND);
  first.passed(MICROS_PER_SECOND);
  expect(first.maxMicros).toBe(MICROS_PER_SECOND);
  expect(lengths.of('job', 'measurements').maxMicros).toBe(HOUR);
});
