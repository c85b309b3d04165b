/** Which published day a selection is compared with, and what it costs to find it. */
import { expect, test } from 'vitest';
import { objectKey, receiptKey } from '../../src/lake/keys.ts';
import { createLastPublished } from '../../src/lake/last-published.ts';
import type { Receipt } from '../../src/model/index.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { makeReceipt, writeReceipt } from '../helpers/ledger.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { newLake } from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
const all = () => true;

/** A lake with receipts on these dates, a look at it, and what the look asks of the store. */
async function lookAt(dates: readonly string[], more: Partial<Receipt> = {}) {
  const dir = await newLake();
  const files = await openStore(dir.url, {});
  for (const date of dates) await writeReceipt(files, makeReceipt({ ...DAY, date }, more));
  const asked: string[] = [];
  const store = Object.create(files) as ObjectStore;
  store.get = (key, ...rest) => {
    asked.push(`get ${key}`);
    return files.get(key, ...rest);
  };
  store.list = (prefix, ...rest) => {
    asked.push(`list ${prefix}`);
    return files.list(prefix, ...rest);
  };
  const clock = createManualClock();
  return { dir, files, asked, clock, last: createLastPublished(store, clock) };
}

test('the day before, for one request', async () => {
  const { dir, asked, last } = await lookAt(['2026-01-03', '2026-01-04']);
  await using _ = dir;
  expect((await last.of(DAY, undefined, all))?.date).toBe('2026-01-04');
  expect(asked).toEqual([`get ${receiptKey({ ...DAY, date: '2026-01-04' })}`]);
});

test("the day's own receipt, for none", async () => {
  const { dir, asked, last } = await lookAt(['2026-01-04']);
  await using _ = dir;
  expect((await last.of(DAY, makeReceipt(DAY), all))?.date).toBe(DAY.date);
  expect(asked).toEqual([]);
});

test('after a gap the newest day, which is looked for once', async () => {
  const { dir, asked, last } = await lookAt(['2025-12-01', '2025-12-31']);
  await using _ = dir;
  for (const date of ['2026-01-05', '2026-01-09', '2025-06-01'])
    expect((await last.of({ ...DAY, date }, undefined, all))?.date).toBe('2025-12-31');
  expect(asked.filter((request) => request.startsWith('list'))).toHaveLength(1);
  expect(asked.filter((request) => request.includes('2025-12-31'))).toHaveLength(1);
});

test('what this process publishes is known without another look, what others publish after a while', async () => {
  const { dir, files, asked, clock, last } = await lookAt([]);
  await using _ = dir;
  expect(await last.of(DAY, undefined, all)).toBeUndefined();
  last.onPublished(makeReceipt(DAY));
  expect((await last.of({ ...DAY, date: '2026-02-01' }, undefined, all))?.date).toBe(DAY.date);
  await writeReceipt(files, makeReceipt({ ...DAY, date: '2026-01-20' }));
  await clock.advance(7 * 3_600_000);
  expect((await last.of({ ...DAY, date: '2026-02-01' }, undefined, all))?.date).toBe('2026-01-20');
  expect(asked.filter((request) => request.startsWith('list'))).toHaveLength(2);
});

test('a receipt that cannot be compared, or is damaged, is passed over', async () => {
  const { dir, files, last } = await lookAt(['2026-01-03', '2026-01-04', '2026-01-20']);
  await using _ = dir;
  await files.put(receiptKey({ ...DAY, date: '2026-01-04' }), Buffer.from('no receipt'));
  expect((await last.of(DAY, undefined, all))?.date).toBe('2026-01-20');
  const own = makeReceipt(DAY, { settingsHash: 'another' });
  const same = ({ settingsHash }: Receipt) => settingsHash === own.settingsHash;
  expect((await last.of(DAY, own, same))?.date).toBe(DAY.date);
  expect(await last.of(DAY, undefined, same)).toBeUndefined();
});

test('a newest receipt that cannot be read hides none before it', async () => {
  const { dir, files, last } = await lookAt(['2026-01-01', '2026-01-02']);
  await using _ = dir;
  for (const date of ['2026-01-01', '2026-01-02', '2026-01-20', '2026-01-21'])
    await files.put(objectKey({ ...DAY, date }), Buffer.from('rows'));
  for (const [date, text] of [
    ['2026-01-20', '{'],
    ['2026-01-21', '{"receiptVersion":2}'],
  ] as const)
    await files.put(receiptKey({ ...DAY, date }), Buffer.from(text));
  expect((await last.of({ ...DAY, date: '2026-02-01' }, undefined, all))?.date).toBe('2026-01-02');
});
