/** What an attempt leaves behind once the day is published, by it or by another: nothing that calls it failed. */
import { expect, test } from 'vitest';
import { FatalError, RetriableError } from '../../src/core/errors.ts';
import type { Job, Layout } from '../../src/core/model/index.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import { exportVesselDay } from '../../src/export/export-vessel-day.ts';
import { removeFinishedClaims } from '../../src/lake/claims/claims.ts';
import { readNote, readReceipt } from '../../src/lake/ledger/ledger.ts';
import { API, startProcess } from '../helpers/export-process.ts';
import { createMadeUpSource } from '../helpers/made-up-source.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';

const VESSEL = 'IMO9321483';
const DAY = { job: 'm', vessel: VESSEL, date: '2026-01-05' };
const JOB: Job = {
  ...{ name: DAY.job, dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/*'] },
  ...{ transport: 'ndjson', verify: 'exact' },
};
const TASK = {
  ...{ job: JOB, day: DAY, settingsHash: settingsHash(JOB, API) },
  ...{ force: false, allowShrink: false, takeover: true },
};
const AWAY = new RetriableError('s3-unavailable', 'the store is away');
const FORBIDDEN = new FatalError('no-permission', 'may not remove');

/** A lake in memory with a day to export. */
function newLake(layout: Layout) {
  const source = createMadeUpSource([DAY.date]);
  const timeSeriesId = '00000000-0000-4000-8000-000000000001';
  source.series = [{ timeSeriesId, imo: '9321483', names: { flat: `${VESSEL}/A` }, readings: 3 }];
  const lake = { store: createMemoryStore(), clock: createManualClock(Date.UTC(2026, 5, 1)), source, layout };
  const { store, clock } = lake;
  return {
    ...lake,
    run: async (ports = startProcess(lake)) => {
      await clock.advance(1_000);
      return (await exportVesselDay(ports, TASK, new AbortController().signal)).status;
    },
    /** A process whose first removal of claims fails. */
    failingOnce: (error: Error) => {
      let left = 1;
      const removeAll: typeof store.removeAll = async (keys, mayReturn = []) => {
        if ([...keys, ...mayReturn].some((key) => key.startsWith('_checkpoints/')) && left-- > 0) throw error;
        return await store.removeAll(keys, mayReturn);
      };
      return startProcess({ ...lake, store: { ...store, removeAll } });
    },
    /** The code of the note, if there is one, and how many claims there are. */
    left: async () => {
      let claims = 0;
      for await (const _ of store.list('_checkpoints/')) claims++;
      return [(await readNote(store, DAY))?.code, claims];
    },
  };
}

test.for(['plain', 'delta'] as const)(
  'a store in trouble after the receipt makes no failure of a published day: %s',
  async (layout) => {
    const lake = newLake(layout);
    expect(await lake.run(lake.failingOnce(AWAY))).toBe('published');
    expect(await lake.left()).toEqual([undefined, 1]);
    expect(await removeFinishedClaims(lake.store, JOB.name)).toBe(1);
    expect(await lake.left()).toEqual([undefined, 0]);
  },
);

test('what will not pass by itself is said, and no longer once it has passed', async () => {
  const lake = newLake('plain');
  await expect(lake.run(lake.failingOnce(FORBIDDEN))).rejects.toThrow(FORBIDDEN);
  expect(await readReceipt(lake.store, DAY)).toBeDefined();
  expect(await lake.left()).toEqual(['no-permission', 1]);
  expect(await lake.run()).toBe('done');
  expect(await lake.left()).toEqual([undefined, 0]);
});

test('an attempt that fails once another has published the day does not call it failed', async () => {
  const lake = newLake('plain');
  const { client } = lake.source;
  const exchange: typeof client.exchange = async () => {
    expect(await lake.run()).toBe('published');
    throw new FatalError('forbidden', 'nothing for you');
  };
  const overtaken = startProcess({ ...lake, source: { client: { ...client, exchange } } });
  await expect(lake.run(overtaken)).rejects.toThrow();
  expect(await lake.left()).toEqual([undefined, 0]);
});

test('an attempt that fails by itself says so, also where the answer to its last removal was lost', async () => {
  const lake = newLake('plain');
  const { store } = lake;
  lake.source.series = [];
  const removeIf: typeof store.removeIf = async (...asked) => (await store.removeIf(...asked)) && false;
  for (const over of [{}, { removeIf }]) {
    await expect(lake.run(startProcess({ ...lake, store: { ...store, ...over } }))).rejects.toThrow();
    expect(await lake.left()).toEqual(['no-series', 0]);
    await store.removeAll(['_notes/m/date=2026-01-05/vessel=IMO9321483.json']);
  }
});
