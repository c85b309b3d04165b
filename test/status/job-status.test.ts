/** Coverage of a ledger with vessel-days in every state, against what was put there. */
import { expect, test } from 'vitest';
import type { Clock } from '../../src/model/index.ts';
import { silentLog } from '../../src/model/index.ts';
import { thisProcess } from '../../src/process/process-id.ts';
import { readJobStatus } from '../../src/status/job-status.ts';
import { createLocalStore } from '../../src/store/local.ts';
import type { MadeUpIndex } from '../helpers/made-up-ledger.ts';
import { writeMadeUpFolder } from '../helpers/made-up-ledger.ts';
import { newTempFolder } from '../helpers/temp.ts';

test.for(['whole', 'pieces', 'none'] satisfies MadeUpIndex[])(
  'each vessel-day is what was made of it, with an index as it is left: %s',
  async (index) => {
    await using folder = await newTempFolder();
    const made = await writeMadeUpFolder(folder.path, { vessels: 60, days: 50, index });
    const store = createLocalStore(folder.path);
    const ports = {
      store,
      clock: { nowMs: () => made.nowMs } as Clock,
      self: thisProcess(),
      log: silentLog,
      apiVersion: '2026-09-10' as const,
    };
    const range = { from: made.from, to: made.to, vessels: undefined };
    const { cells, remarks, fetched, fromIndex } = await readJobStatus(ports, made.job, range);
    const remarked = new Set(remarks.map(({ day }) => `${day.vessel} ${day.date}`));
    const totals = { ...made.totals };
    for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] = 0;
    for (const { day, state } of cells) {
      const isRemarked = state === 'published' && remarked.has(`${day.vessel} ${day.date}`);
      const found = isRemarked ? 'remarked' : state;
      expect(found, `${day.vessel} ${day.date}`).toBe(made.stateOf(day.vessel, day.date));
      totals[found]++;
    }
    expect(totals).toEqual(made.totals);
    for (const [name, count] of Object.entries(totals))
      if (name !== 'queued') expect(count, name).toBeGreaterThan(0);
    expect(index === 'none' ? fromIndex : fetched).toBe(0);
  },
);
