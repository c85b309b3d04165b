/** The scheduler tells what is in the failed set: what failed, and what was refused. */
import { expect, test } from 'vitest';
import type { Job } from '../../src/core/model/index.ts';
import type { DeadLetter } from '../../src/fleet/queue/vessel-day-queue.ts';
import { createFailedWatch } from '../../src/fleet/watches.ts';
import { noteKey } from '../../src/lake/keys.ts';
import { writeNote } from '../../src/lake/ledger/ledger.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { newLake } from '../helpers/run.ts';

const letter = (job: string, date: string, code: string): DeadLetter => {
  const day = { job, vessel: 'IMO9321483', date };
  return { day, queued: { ...day, kind: 'nightly' }, code, message: '', mayPass: false };
};

test('what failed is counted in the failed set and what was refused in the lake, by job, once a minute', async () => {
  await using lake = await newLake();
  const store = createLocalStore(lake.dir);
  const clock = createManualClock();
  let letters = [
    letter('measurements', '2026-01-05', 'bad-field'),
    letter('measurements', '2026-01-06', 'would-shrink'),
    letter('gone', '2026-01-05', 'bad-field'),
  ];
  const refuse = (date: string) =>
    writeNote(store, {
      ...{ noteVersion: 1, job: 'measurements', vessel: 'IMO9321483', date, state: 'refused' },
      ...{ code: 'would-shrink', message: 'fewer', at: '2026-01-08T07:00:00.000Z' },
    });
  const told: (readonly [string, number, number])[] = [];
  const look = createFailedWatch({
    jobs: [{ name: 'measurements' }, { name: 'statistics' }] as Job[],
    queue: { deadLetters: async () => letters },
    store,
    clock,
    onEvent: (event) => {
      if (event.kind === 'failed') told.push([event.job, event.failed, event.refused]);
    },
  });
  // The second is refused by a look-back, which puts nothing into the failed set.
  for (const date of ['2026-01-06', '2026-01-07']) await refuse(date);
  await look();
  await look();
  expect(told.splice(0)).toEqual([
    ['measurements', 1, 2],
    ['statistics', 0, 0],
  ]);
  letters = [];
  for (const date of ['2026-01-06', '2026-01-07'])
    await store.remove(noteKey({ job: 'measurements', vessel: 'IMO9321483', date }));
  await clock.advance(60_000);
  await look();
  expect(told[0]).toEqual(['measurements', 0, 0]);
});
