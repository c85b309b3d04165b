/** Coverage of a ledger with vessel-days in every state, against what was put there. */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { readJobStatus } from '../../../src/audit/status/job-status.ts';
import { createStatusMemory } from '../../../src/audit/status/status-memory.ts';
import { type Clock, silentLog } from '../../../src/core/model/index.ts';
import { thisProcess } from '../../../src/core/process/process-id.ts';
import { receiptKey } from '../../../src/lake/keys.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import { folderStateOf } from '../../../src/store/local/walk.ts';
import { makeReceipt, writeReceipt } from '../../helpers/ledger.ts';
import { type MadeUpIndex, writeMadeUpFolder } from '../../helpers/made-up-ledger.ts';
import { newMemoryFolder } from '../../helpers/temp.ts';

test.for(['pieces', 'none'] satisfies MadeUpIndex[])(
  'each vessel-day is what was made of it, with an index as it is left: %s',
  async (index) => {
    await using folder = await newMemoryFolder();
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
    const { cells, warnings, fetched, fromIndex } = await readJobStatus(ports, made.job, range);
    const warned = new Set(warnings.map(({ day }) => `${day.vessel} ${day.date}`));
    const totals = { ...made.totals };
    for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] = 0;
    for (const { day, state } of cells) {
      const isWarned = state === 'published' && warned.has(`${day.vessel} ${day.date}`);
      const found = isWarned ? 'warned' : state;
      expect(found, `${day.vessel} ${day.date}`).toBe(made.stateOf(day.vessel, day.date));
      totals[found]++;
    }
    expect(totals).toEqual(made.totals);
    for (const [name, count] of Object.entries(totals))
      if (name !== 'queued' && name !== 'not-asked-for') expect(count, name).toBeGreaterThan(0);
    expect(index === 'none' ? fromIndex : fetched).toBe(0);
  },
);

test('what is as it was is not listed again, and what is not is seen', async () => {
  await using folder = await newMemoryFolder();
  const made = await writeMadeUpFolder(folder.path, { vessels: 70, days: 30 });
  const local = createLocalStore(folder.path);
  const listed: string[] = [];
  let [laterMs, afterList] = [0, async (_prefix: string) => {}];
  const memory = createStatusMemory();
  const ports = {
    store: {
      ...local,
      // They count as settled at once.
      folderState: (prefix: string) => folderStateOf(join(folder.path, prefix), Date.now() + 3_600_000),
      async *listPages(prefix: string) {
        listed.push(prefix);
        yield* local.listPages(prefix);
        await afterList(prefix);
      },
    },
    clock: { nowMs: () => made.nowMs + laterMs } as Clock,
    ...{ self: thisProcess(), log: silentLog, apiVersion: '2026-09-10' as const },
  };
  const range = { from: made.from, to: made.to, vessels: undefined };
  const look = async () => {
    listed.length = 0;
    const { cells, warnings } = await readJobStatus(ports, made.job, range, memory);
    return { cells: [...cells].map((cell) => ({ ...cell })), warnings, lists: listed.length };
  };
  const first = await look();
  // Today has no folder.
  expect(first.lists).toBe(30);
  expect(first.cells.filter(({ code }) => code === 'damaged-receipt').length).toBeGreaterThan(0);
  const unchanged = { ...first, lists: 1 };
  expect(await look()).toEqual(unchanged);
  const gone = first.cells.find(({ state }) => state === 'published')!.day;
  await local.remove(receiptKey(gone));
  const { cells, lists } = await look();
  expect(lists).toBe(2);
  expect(cells.filter((cell, at) => !isDeepStrictEqual(cell, first.cells[at]))).toEqual([
    { day: gone, rows: null, finishedAt: null, state: 'missing' },
  ]);
  laterMs = 25 * 3_600_000;
  expect((await look()).lists).toBe(30);
  // One that is replaced behind its list is seen by the next look, of a clock that was set back too.
  const [late] = [...first.cells].reverse().filter(({ state }) => state === 'published');
  laterMs = 0;
  afterList = async (prefix) => {
    if (!receiptKey(late!.day).startsWith(prefix)) return;
    afterList = async () => {};
    await writeReceipt(local, makeReceipt(late!.day, { rows: 7_654_321 }));
  };
  expect((await look()).lists).toBe(30);
  expect((await look()).cells.find(({ day }) => isDeepStrictEqual(day, late!.day))!.rows).toBe(7_654_321);
});
