/** A log that is lost, all of it or its newest entries, is not begun anew: the receipts know of it. */
import { beforeEach, expect, test } from 'vitest';
import { DataError } from '../../../src/core/errors.ts';
import { type Receipt, silentLog, systemClock, type VesselDay } from '../../../src/core/model/index.ts';
import { receiptKey, tableFileKey } from '../../../src/lake/keys.ts';
import type { JobTable } from '../../../src/lake/publish/job-table.ts';
import { createLakeTables } from '../../../src/lake/publish/lake-tables.ts';
import { readTableFiles } from '../../../src/lake/publish/table-files.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { makeReceipt, writeReceipt } from '../../helpers/ledger.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';
import { expectFault, keysOf } from '../../store/store-suite.ts';
import { LOG_FOLDER, MEASUREMENTS } from '../table/fixtures.ts';

let store: ObjectStore;
beforeEach(() => {
  store = createMemoryStore();
});

const dayOf = (date: string): VesselDay => ({ job: 'measurements', vessel: 'IMO9321483', date });
const tablesOf = (over: Partial<ObjectStore> = {}) =>
  createLakeTables({ store: { ...store, ...over }, clock: systemClock, log: silentLog });
const open = (over: Partial<ObjectStore> = {}) => tablesOf(over).open(MEASUREMENTS);

/** The receipt of a day, in the ledger; null: it always was empty. */
async function putReceipt(day: VesselDay, key: string | null, version?: number): Promise<Receipt> {
  const { object } = makeReceipt(day);
  const receipt = makeReceipt(day, {
    ...(key === null ? { rows: 0 } : { object: { ...object!, key, sizeBytes: 9 } }),
    ...(version !== undefined && { table: { version } }),
  });
  await writeReceipt(store, receipt);
  return receipt;
}

/** Publish a day: its entry, then its receipt. */
async function publish(table: JobTable, date: string): Promise<Receipt> {
  const day = dayOf(date);
  const key = tableFileKey(day, 'x');
  const add = { key, sizeBytes: 9, modifiedMs: 0, stats: '{"numRecords":1}' };
  const change = { remove: [], add, since: table.version };
  return putReceipt(day, key, await table.commit({ day, change, checkFence: async () => {} }));
}

async function expectRefused(look: () => Promise<unknown>, found: RegExp): Promise<void> {
  const { message } = await expectFault(look, DataError, 'damaged-log');
  expect(message).toMatch(found);
  expect(message).toContain("'vessel-export rebuild-log measurements' writes a new log from the receipts");
}

test('no new table is made where the ledger knows of one', async () => {
  await publish(await open(), '2026-01-05');
  for (const key of await keysOf(store, LOG_FOLDER)) await store.remove(key);
  await expectRefused(open, /_delta_log\/: found no log, expected one: _ledger\/.*date=2026-01-05/);
  expect(await keysOf(store, LOG_FOLDER)).toEqual([]);
  await expectRefused(() => readTableFiles(store, 'measurements'), /found no log/);
});

test('nor where a lake was converted, whose receipts name no version', async () => {
  await putReceipt(dayOf('2026-01-05'), null);
  await putReceipt(dayOf('2026-01-06'), 'measurements/vessel=IMO9321483/date=2026-01-06/data.parquet');
  await expectRefused(open, /date=2026-01-06/);
});

test('nor where no receipt can be read, and a vessel-day has a file', async () => {
  const { object } = await publish(await open(), '2026-01-05');
  await store.put(object!.key, Buffer.from('rows'));
  for (const key of await keysOf(store, LOG_FOLDER)) await store.remove(key);
  await store.put(receiptKey(dayOf('2026-01-05')), Buffer.from('{"receiptVersion":2}'));
  await expectRefused(open, /date=2026-01-05.* cannot be read, and its vessel-day has a file/);
});

test('the first table of a job costs one list, and days that always were empty or cannot be read need none', async () => {
  const lists: string[] = [];
  const list = (prefix: string) => {
    if (!prefix.includes('_delta_log')) lists.push(prefix);
    return store.list(prefix);
  };
  await open({ list });
  expect(lists).toEqual(['_ledger/measurements/']);
  await open({ list });
  expect(lists).toHaveLength(1);
  for (const key of await keysOf(store, LOG_FOLDER)) await store.remove(key);
  await putReceipt(dayOf('2026-01-05'), null);
  await store.put(receiptKey(dayOf('2026-01-06')), Buffer.from('{'));
  expect((await open()).version).toBe(0);
});

test('a table that another process makes at the same time is opened', async () => {
  let isMade = false;
  const table = await open({
    async *list(prefix) {
      if (prefix === '_ledger/measurements/' && !isMade) {
        isMade = true;
        await publish(await open(), '2026-01-05');
      }
      yield* store.list(prefix);
    },
  });
  expect(table.version).toBe(1);
});

test('the number of a lost entry is not used again for a day whose receipt names it, nor for one compared with it', async () => {
  const before = await open();
  for (const date of ['2026-01-05', '2026-01-06']) await publish(before, date);
  const receipt = await publish(before, '2026-01-07');
  await store.remove(`${LOG_FOLDER}${'3'.padStart(20, '0')}.json`);
  const found = /found versions up to 2, expected version 3, which _ledger.*date=2026-01-07.* names/;
  const tables = tablesOf();
  const table = await tables.open(MEASUREMENTS);
  await expectRefused(() => table.filesOf(dayOf('2026-01-07'), receipt), found);
  await expectRefused(() => tables.expect(receipt), found);
});

test('a view that is behind a receipt comes to its version', async () => {
  const tables = tablesOf();
  const table = await tables.open(MEASUREMENTS);
  const receipt = await publish(await open(), '2026-01-05');
  expect(table.version).toBe(0);
  await tables.expect(receipt);
  expect(table.version).toBe(1);
  await tables.expect({ ...receipt, job: 'another', table: { version: 99 } });
});
