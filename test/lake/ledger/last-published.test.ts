/** Which published day a selection is compared with, and what it costs to find it. */
import { expect, test } from 'vitest';
import type { Receipt } from '../../../src/core/model/index.ts';
import { objectKey, receiptKey } from '../../../src/lake/keys.ts';
import { createLastPublished } from '../../../src/lake/ledger/newest-days.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { makeReceipt, writeReceipt } from '../../helpers/ledger.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';
import { watchedStore } from '../../helpers/watched-store.ts';

const DAY = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
const all = () => true;

/** A vessel-day as somebody publishes it. */
async function publish(files: ObjectStore, date: string, more: Partial<Receipt> = {}) {
  await files.put(objectKey({ ...DAY, date }), Buffer.from('rows'));
  await writeReceipt(files, makeReceipt({ ...DAY, date }, more));
}

/** A lake with days on these dates, a look at it, and what the look asks of the store. */
async function lookAt(dates: readonly string[], more: Partial<Receipt> = {}) {
  const files = createMemoryStore();
  for (const date of dates) await publish(files, date, more);
  const { asked, store } = watchedStore(files);
  const clock = createManualClock();
  return { files, asked, clock, last: createLastPublished(store, clock) };
}

test('the day before, for one request', async () => {
  const { asked, last } = await lookAt(['2026-01-03', '2026-01-04']);
  expect((await last.of(DAY, undefined, all))?.date).toBe('2026-01-04');
  expect(asked).toEqual([`get ${receiptKey({ ...DAY, date: '2026-01-04' })}`]);
});

test("the day's own receipt, for none", async () => {
  const { asked, last } = await lookAt(['2026-01-04']);
  expect((await last.of(DAY, makeReceipt(DAY), all))?.date).toBe(DAY.date);
  expect(asked).toEqual([]);
});

test('after a gap the newest day, which is looked for once', async () => {
  const { asked, last } = await lookAt(['2025-12-01', '2025-12-31']);
  for (const date of ['2026-01-05', '2026-01-09', '2025-06-01'])
    expect((await last.of({ ...DAY, date }, undefined, all))?.date).toBe('2025-12-31');
  expect(asked.filter((request) => request.startsWith('list'))).toHaveLength(1);
  expect(asked.filter((request) => request.includes('2025-12-31'))).toHaveLength(1);
});

test('a day after the newest known compares with what another process has published since', async () => {
  const { files, asked, clock, last } = await lookAt(['2026-01-01']);
  last.onPublished(makeReceipt({ ...DAY, date: '2026-01-10' }, { selectedSeries: 8 }));
  await publish(files, '2026-01-20', { selectedSeries: 10 });
  const later = { ...DAY, date: '2026-02-01' };
  expect(await last.of(later, undefined, all)).toMatchObject({ date: '2026-01-20', selectedSeries: 10 });
  await publish(files, '2026-01-20', { selectedSeries: 12 });
  await clock.advance(11_000);
  expect(await last.of(later, undefined, all)).toMatchObject({ selectedSeries: 12 });
  expect(asked.filter((request) => request.startsWith('list'))).toHaveLength(2);
});

test('a day of a vessel that was not known compares with what another process has published since', async () => {
  const { files, clock, last } = await lookAt([]);
  expect(await last.of(DAY, undefined, all)).toBeUndefined();
  await publish(files, '2026-01-20');
  await clock.advance(11_000);
  expect((await last.of({ ...DAY, date: '2026-02-01' }, undefined, all))?.date).toBe('2026-01-20');
});

test('days at work at the same time share a look, which knows what this process publishes meanwhile', async () => {
  const { asked, clock, last } = await lookAt(['2026-01-01']);
  for (const date of ['2026-02-01', '2026-02-03']) await last.of({ ...DAY, date }, undefined, all);
  for (const date of ['2026-02-03', '2026-02-01']) last.onPublished(makeReceipt({ ...DAY, date }));
  await clock.advance(9_000);
  for (const date of ['2026-02-02', '2026-03-01', '2025-06-01'])
    expect((await last.of({ ...DAY, date }, undefined, all))?.date).toBe('2026-02-03');
  expect(asked.filter((request) => request.startsWith('list'))).toHaveLength(1);
});

test('a receipt that cannot be compared, or is damaged, is passed over', async () => {
  const { files, last } = await lookAt(['2026-01-03', '2026-01-04', '2026-01-20']);
  await files.put(receiptKey({ ...DAY, date: '2026-01-04' }), Buffer.from('no receipt'));
  expect((await last.of(DAY, undefined, all))?.date).toBe('2026-01-20');
  const own = makeReceipt(DAY, { settingsHash: 'another' });
  const same = ({ settingsHash }: Receipt) => settingsHash === own.settingsHash;
  expect((await last.of(DAY, own, same))?.date).toBe(DAY.date);
  // Nothing can be: what there is tells that `select` has changed since.
  expect((await last.of(DAY, undefined, same))?.date).toBe('2026-01-20');
  expect((await last.of(DAY, makeReceipt(DAY), same))?.date).toBe(DAY.date);
});

test('a newest receipt that cannot be read hides none before it', async () => {
  const { files, last } = await lookAt(['2026-01-01', '2026-01-02']);
  for (const date of ['2026-01-01', '2026-01-02', '2026-01-20', '2026-01-21'])
    await files.put(objectKey({ ...DAY, date }), Buffer.from('rows'));
  for (const [date, text] of [
    ['2026-01-20', '{'],
    ['2026-01-21', '{"receiptVersion":2}'],
  ] as const)
    await files.put(receiptKey({ ...DAY, date }), Buffer.from(text));
  expect((await last.of({ ...DAY, date: '2026-02-01' }, undefined, all))?.date).toBe('2026-01-02');
});
