/** The scheduler tells what failed and what was refused, and warnings that stand open until they are accepted. */
import { expect, test } from 'vitest';
import { type FewerSeriesWarning, type Job, silentLog } from '../../src/core/model/index.ts';
import type { DeadLetter } from '../../src/fleet/queue/vessel-day-queue.ts';
import { createFailedWatch, createWarningWatch } from '../../src/fleet/watches.ts';
import { noteKey } from '../../src/lake/keys.ts';
import { writeNote } from '../../src/lake/ledger/ledger.ts';
import { createLedgerView } from '../../src/lake/ledger/ledger-view.ts';
import { writeAcceptance } from '../../src/lake/warnings.ts';
import { makeReceipt, writeReceipt } from '../helpers/ledger.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';

const letter = (job: string, date: string, code: string): DeadLetter => {
  const day = { job, vessel: 'IMO9321483', date };
  return { day, queued: { ...day, kind: 'nightly' }, code, message: '', mayPass: false };
};

test('what failed is counted in the failed set and what was refused in the lake, by job, once a minute', async () => {
  const store = createMemoryStore();
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

const [VESSEL, OTHER] = ['IMO9321483', 'IMO9322853'];
const JOB = { name: 'measurements' } as Job;
const WARNING: FewerSeriesWarning = {
  kind: 'fewer-series',
  missing: 8,
  names: ['Draught', 'Speed', 'Wind'],
  since: '2026-01-05',
  comparedWith: { date: '2026-01-04', finishedAt: '2026-01-05T06:00:00.000Z', series: 10 },
};

test('a warning is counted and logged once a day until it is accepted', async () => {
  const store = createMemoryStore();
  const clock = createManualClock();
  const ledger = createLedgerView(store);
  const logged: string[] = [];
  const counted: number[] = [];
  const look = createWarningWatch({
    jobs: [JOB],
    ledger,
    clock,
    log: { ...silentLog, warn: (fields) => void logged.push((fields as { vesselDay: string }).vesselDay) },
    onEvent: (event) => {
      if (event.kind === 'warned') counted.push(event.open.length);
    },
  });
  const publish = async (vessel: string, date: string, remark?: FewerSeriesWarning) => {
    const day = { job: JOB.name, vessel, date };
    await writeReceipt(store, makeReceipt(day, { selectedSeries: 2, ...(remark && { remark }) }));
    await ledger.ofDate(JOB.name, date);
  };
  const later = async () => {
    await clock.advance(300_000);
    await look();
  };

  await publish(VESSEL!, '2026-01-05', WARNING);
  await publish(OTHER!, '2026-01-05');
  await look();
  await look();
  await later();
  expect({ counted, logged }).toEqual({ counted: [1, 1], logged: [`measurements/${VESSEL}/2026-01-05`] });

  await publish(VESSEL!, '2026-01-06', WARNING);
  await later();
  expect(logged.at(-1)).toBe(`measurements/${VESSEL}/2026-01-06`);

  const at = '2026-01-06T12:00:00.000Z';
  await writeAcceptance(store, { acceptedVersion: 1, job: JOB.name, vessel: VESSEL!, series: 2, at });
  await later();
  expect(counted.at(-1)).toBe(0);
});
