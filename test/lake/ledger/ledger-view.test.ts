import { expect, test } from 'vitest';
import { receiptKey } from '../../../src/lake/keys.ts';
import { createLedgerView } from '../../../src/lake/ledger/ledger-view.ts';
import { makeReceipt, vesselIds, writeReceipts } from '../../helpers/ledger.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';
import { watchedStore } from '../../helpers/watched-store.ts';

const JOB = 'measurements';
const VESSELS = vesselIds(3);
const WEEK_MS = 7 * 86_400_000;

function openLedger() {
  const store = createMemoryStore();
  const { asked, store: watched } = watchedStore(store);
  const count = (name: string) => asked.filter((one) => one.startsWith(name)).length;
  const [lists, gets] = [() => count('list'), () => count('get')];
  const clock = createManualClock();
  const publish = (date: string, vessels: readonly string[]) =>
    writeReceipts(
      store,
      vessels.map((vessel) => makeReceipt({ job: JOB, vessel, date })),
    );
  return { store, watched, clock, asked, lists, gets, publish, view: createLedgerView(watched, clock) };
}

test('what is missing on a date is told without reading a receipt', async () => {
  const { view, publish, lists, gets } = openLedger();
  expect(await view.missing(JOB, '2026-01-05', VESSELS)).toEqual(VESSELS);
  await publish('2026-01-05', VESSELS.slice(0, 2));
  expect(await view.missing(JOB, '2026-01-05', VESSELS)).toEqual([VESSELS[2]]);
  expect([lists(), gets()]).toEqual([2, 0]);
});

test('a date that has all is listed again after a week, or for a vessel more', async () => {
  const { view, clock, publish, store, lists } = openLedger();
  await publish('2026-01-05', VESSELS);
  for (const _ of [1, 2]) expect(await view.missing(JOB, '2026-01-05', [...VESSELS])).toEqual([]);
  expect(lists()).toBe(1);
  const more = [...VESSELS, 'IMO9999999'];
  expect(await view.missing(JOB, '2026-01-05', more)).toEqual(['IMO9999999']);
  await publish('2026-01-05', ['IMO9999999']);
  expect(await view.missing(JOB, '2026-01-05', more)).toEqual([]);
  await store.remove(receiptKey({ job: JOB, vessel: VESSELS[0]!, date: '2026-01-05' }));
  expect(await view.missing(JOB, '2026-01-05', more)).toEqual([]);
  await clock.advance(WEEK_MS);
  expect(await view.missing(JOB, '2026-01-05', more)).toEqual([VESSELS[0]]);
  expect(lists()).toBe(4);
});

test('the first date is that of the oldest receipt', async () => {
  const { view, publish } = openLedger();
  expect(await view.firstDate(JOB)).toBeUndefined();
  await publish('2026-01-05', VESSELS);
  await publish('2024-12-31', VESSELS.slice(1));
  expect(await view.firstDate(JOB)).toBe('2024-12-31');
  expect(await view.firstDate('statistics')).toBeUndefined();
});

test('receipts are read once, and only those of the vessels that matter', async () => {
  const { view, publish, gets } = openLedger();
  const date = '2026-01-05';
  const some = { vessels: new Set(VESSELS.slice(0, 1)) };
  await publish(date, VESSELS);
  expect((await view.ofDate(JOB, date, some)).size).toBe(1);
  expect(gets()).toBe(1);
  expect((await view.ofDate(JOB, date)).size).toBe(3);
  expect(gets()).toBe(3);
  // What is remembered is answered, whoever is asked for.
  expect((await view.ofDate(JOB, date, some)).size).toBe(3);
  expect(gets()).toBe(3);
  await publish(date, VESSELS.slice(1, 2));
  expect((await view.ofDate(JOB, date, some)).size).toBe(2);
  expect(gets()).toBe(3);
});

test('a look for once leaves what others remember, and nothing of its own', async () => {
  const { view, publish, gets } = openLedger();
  const [known, unknown] = ['2026-01-05', '2026-01-06'] as const;
  for (const date of [known, unknown]) await publish(date, VESSELS);
  await view.ofDate(JOB, known);
  for (const _ of [1, 2]) {
    expect((await view.ofDate(JOB, known, { isOnce: true })).size).toBe(3);
    expect((await view.ofDate(JOB, unknown, { isOnce: true })).size).toBe(3);
  }
  expect(gets()).toBe(3 + 2 * 3);
});

test('many dates are read by the index, remembered, and only what is new is read again', async () => {
  const { view, clock, publish, store, watched, gets, asked } = openLedger();
  const vessels = vesselIds(40);
  const dates = ['2026-01-30', '2026-01-31', '2026-02-01', '2026-02-02'];
  for (const date of dates) await publish(date, vessels);
  const look = { vessels: new Set(vessels) };
  const first = await view.ofDates(JOB, dates, look);
  expect([...first].map(([date, { size }]) => [date, size]).sort()).toEqual(dates.map((date) => [date, 40]));
  const known = first.get(dates[0]!)!.get(vessels[0]!);
  expect(known).toMatchObject({ settingsHash: expect.any(String), proof: 'exact' });
  // Each once; and what there was of an index.
  expect(gets()).toBe(4 * 40);
  asked.length = 0;
  expect((await view.ofDate(JOB, dates[0]!)).size).toBe(40);
  expect((await view.ofDates(JOB, dates, look)).size).toBe(4);
  expect(gets()).toBe(0);
  // Another process finds the index, and one of the receipts replaced, which it remembers as it is now.
  const day = { job: JOB, vessel: vessels[3]!, date: dates[1]! };
  await writeReceipts(store, [makeReceipt(day, { settingsHash: 'other', rows: 123_456 })]);
  const other = createLedgerView(watched, clock);
  for (const _ of [1, 2]) {
    const again = await other.ofDates(JOB, dates, look);
    expect(again.get(day.date)!.get(day.vessel)!.settingsHash).toBe('other');
    expect(again.get(dates[0]!)!.get(day.vessel)).toMatchObject({
      settingsHash: known!.settingsHash,
      proof: known!.proof,
    });
  }
  // Two months' indexes, and the one receipt.
  expect(gets()).toBe(3);
  // Of those that remember it as it was, too.
  expect((await view.ofDate(JOB, day.date)).get(day.vessel)!.settingsHash).toBe('other');
});

test('a receipt that cannot be read is none, of many dates as of one, and hides no other', async () => {
  const { view, publish, store } = openLedger();
  const date = '2026-01-05';
  await publish(date, vesselIds(70));
  const key = receiptKey({ job: JOB, vessel: VESSELS[0]!, date });
  await store.put(key, Buffer.from('{'));
  for (const known of [(await view.ofDates(JOB, [date])).get(date)!, await view.ofDate(JOB, date)])
    expect([known.size, known.has(VESSELS[0]!)]).toEqual([69, false]);
});

test('what is looked at once, many dates at a time, is not remembered', async () => {
  const { view, publish, gets } = openLedger();
  await publish('2026-01-05', VESSELS);
  for (const _ of [1, 2]) {
    const found = await view.ofDates(JOB, ['2026-01-05', '2026-01-06'], { isOnce: true });
    expect([...found.values()].map(({ size }) => size)).toEqual([3, 0]);
  }
  expect(gets()).toBe(2 * 3);
});
