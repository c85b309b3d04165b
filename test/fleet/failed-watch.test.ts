/** The scheduler tells what is in the failed set: what failed, and what was refused. */
import { expect, test } from 'vitest';
import { createFailedWatch } from '../../src/fleet/failed-watch.ts';
import type { Job } from '../../src/model/index.ts';
import type { DeadLetter } from '../../src/queue/vessel-day-queue.ts';
import { createManualClock } from '../helpers/manual-clock.ts';

const letter = (job: string, date: string, code: string): DeadLetter => {
  const day = { job, vessel: 'IMO9321483', date };
  return { day, queued: { ...day, kind: 'nightly' }, code, message: '', mayPass: false };
};

test('failed and refused vessel-days are told apart, by job, once a minute', async () => {
  const clock = createManualClock();
  let letters = [
    letter('measurements', '2026-01-05', 'bad-field'),
    letter('measurements', '2026-01-06', 'would-shrink'),
    letter('gone', '2026-01-05', 'bad-field'),
  ];
  const told: (readonly [string, number, number])[] = [];
  const look = createFailedWatch({
    jobs: [{ name: 'measurements' }, { name: 'statistics' }] as Job[],
    queue: { deadLetters: async () => letters },
    clock,
    onFailed: (job, { failed, refused }) => void told.push([job, failed.length, refused.length]),
  });
  await look();
  await look();
  expect(told.splice(0)).toEqual([
    ['measurements', 1, 1],
    ['statistics', 0, 0],
  ]);
  letters = [];
  await clock.advance(60_000);
  await look();
  expect(told[0]).toEqual(['measurements', 0, 0]);
});
