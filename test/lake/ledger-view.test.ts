import { expect, test } from 'vitest';
import { receiptKey } from '../../src/lake/keys.ts';
import { createLedgerView } from '../../src/lake/ledger-view.ts';
import { createLocalStore } from '../../src/store/local.ts';
import { makeReceipt, vesselIds, writeReceipts } from '../helpers/ledger.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { newTempFolder } from '../helpers/temp.ts';

const JOB = 'measurements';
const VESSELS = vesselIds(3);
const WEEK_MS = 7 * 86_400_000;

async function openLedger() {
  const folder = await newTempFolder();
  const store = createLocalStore(folder.path);
  const calls = { lists: 0, gets: 0 };
  const counted: typeof store = {
    ...store,
    list(prefix) {
      calls.lists++;
      return store.list(prefix);
    },
    get(key) {
      calls.gets++;
      return store.get(key);
    },
  };
  const clock = createManualClock();
  const publish = (date: string, vessels: readonly string[]) =>
    writeReceipts(
      store,
      vessels.map((vessel) => makeReceipt({ job: JOB, vessel, date })),
    );
  const view = createLedgerView(counted, clock);
  return { store, clock, calls, publish, view, [Symbol.asyncDispose]: folder.remove };
}

test('what is missing on a date is told without reading a receipt', async () => {
  await using ledger = await openLedger();
  const { view, calls, publish } = ledger;
  expect(await view.missing(JOB, '2026-01-05', VESSELS)).toEqual(VESSELS);
  await publish('2026-01-05', VESSELS.slice(0, 2));
  expect(await view.missing(JOB, '2026-01-05', VESSELS)).toEqual([VESSELS[2]]);
  expect(calls).toEqual({ lists: 2, gets: 0 });
});

test('a date that has all is listed again after a week, or for a vessel more', async () => {
  await using ledger = await openLedger();
  const { view, calls, clock, publish, store } = ledger;
  await publish('2026-01-05', VESSELS);
  for (const _ of [1, 2]) expect(await view.missing(JOB, '2026-01-05', [...VESSELS])).toEqual([]);
  expect(calls.lists).toBe(1);
  const more = [...VESSELS, 'IMO9999999'];
  expect(await view.missing(JOB, '2026-01-05', more)).toEqual(['IMO9999999']);
  await publish('2026-01-05', ['IMO9999999']);
  expect(await view.missing(JOB, '2026-01-05', more)).toEqual([]);
  await store.remove(receiptKey({ job: JOB, vessel: VESSELS[0]!, date: '2026-01-05' }));
  expect(await view.missing(JOB, '2026-01-05', more)).toEqual([]);
  await clock.advance(WEEK_MS);
  expect(await view.missing(JOB, '2026-01-05', more)).toEqual([VESSELS[0]]);
  expect(calls.lists).toBe(4);
});

test('the first date is that of the oldest receipt', async () => {
  await using ledger = await openLedger();
  const { view, publish } = ledger;
  expect(await view.firstDate(JOB)).toBeUndefined();
  await publish('2026-01-05', VESSELS);
  await publish('2024-12-31', VESSELS.slice(1));
  expect(await view.firstDate(JOB)).toBe('2024-12-31');
  expect(await view.firstDate('statistics')).toBeUndefined();
});

test('receipts are read once, and only those of the vessels that matter', async () => {
  await using ledger = await openLedger();
  const { view, calls, publish } = ledger;
  const date = '2026-01-05';
  const some = { vessels: new Set(VESSELS.slice(0, 1)) };
  await publish(date, VESSELS);
  expect((await view.ofDate(JOB, date, some)).size).toBe(1);
  expect(calls.gets).toBe(1);
  expect((await view.ofDate(JOB, date)).size).toBe(3);
  expect(calls.gets).toBe(3);
  // What is remembered is answered, whoever is asked for.
  expect((await view.ofDate(JOB, date, some)).size).toBe(3);
  expect(calls.gets).toBe(3);
  await publish(date, VESSELS.slice(1, 2));
  expect((await view.ofDate(JOB, date, some)).size).toBe(2);
  expect(calls.gets).toBe(3);
});

test('a look for once leaves what others remember, and nothing of its own', async () => {
  await using ledger = await openLedger();
  const { view, calls, publish } = ledger;
  const [known, unknown] = ['2026-01-05', '2026-01-06'] as const;
  for (const date of [known, unknown]) await publish(date, VESSELS);
  await view.ofDate(JOB, known);
  for (const _ of [1, 2]) {
    expect((await view.ofDate(JOB, known, { isOnce: true })).size).toBe(3);
    expect((await view.ofDate(JOB, unknown, { isOnce: true })).size).toBe(3);
  }
  expect(calls.gets).toBe(3 + 2 * 3);
});
