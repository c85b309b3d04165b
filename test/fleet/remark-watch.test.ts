/** The scheduler tells of remarks that stand open, until they are accepted. */
import { expect, test } from 'vitest';
import type { Job, SeriesRemark } from '../../src/core/model/index.ts';
import { silentLog } from '../../src/core/model/index.ts';
import { createRemarkWatch } from '../../src/fleet/watches.ts';
import { createLedgerView } from '../../src/lake/ledger/ledger-view.ts';
import { writeAcceptance } from '../../src/lake/remarks.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { makeReceipt, writeReceipt } from '../helpers/ledger.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { newLake } from '../helpers/run.ts';

const [VESSEL, OTHER] = ['IMO9321483', 'IMO9322853'];
const JOB = { name: 'measurements' } as Job;
const REMARK: SeriesRemark = {
  kind: 'fewer-series',
  missing: 8,
  names: ['Draught', 'Speed', 'Wind'],
  since: '2026-01-05',
  comparedWith: { date: '2026-01-04', finishedAt: '2026-01-05T06:00:00.000Z', series: 10 },
};

test('a remark is counted and logged once a day until it is accepted', async () => {
  await using lake = await newLake();
  const store = createLocalStore(lake.dir);
  const clock = createManualClock();
  const ledger = createLedgerView(store);
  const logged: string[] = [];
  const counted: number[] = [];
  const look = createRemarkWatch({
    jobs: [JOB],
    ledger,
    clock,
    log: { ...silentLog, warn: (fields) => void logged.push((fields as { vesselDay: string }).vesselDay) },
    onEvent: (event) => {
      if (event.kind === 'remarked') counted.push(event.open.length);
    },
  });
  const publish = async (vessel: string, date: string, remark?: SeriesRemark) => {
    const day = { job: JOB.name, vessel, date };
    await writeReceipt(store, makeReceipt(day, { selectedSeries: 2, ...(remark && { remark }) }));
    await ledger.ofDate(JOB.name, date);
  };
  const later = async () => {
    await clock.advance(300_000);
    await look();
  };

  await publish(VESSEL!, '2026-01-05', REMARK);
  await publish(OTHER!, '2026-01-05');
  await look();
  await look();
  await later();
  expect({ counted, logged }).toEqual({ counted: [1, 1], logged: [`measurements/${VESSEL}/2026-01-05`] });

  await publish(VESSEL!, '2026-01-06', REMARK);
  await later();
  expect(logged.at(-1)).toBe(`measurements/${VESSEL}/2026-01-06`);

  const at = '2026-01-06T12:00:00.000Z';
  await writeAcceptance(store, { acceptedVersion: 1, job: JOB.name, vessel: VESSEL!, series: 2, at });
  await later();
  expect(counted.at(-1)).toBe(0);
});
