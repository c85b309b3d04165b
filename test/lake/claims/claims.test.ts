import { beforeEach, expect, test } from 'vitest';
import type { VesselDay } from '../../../src/core/model/index.ts';
import { removeFinishedClaims } from '../../../src/lake/claims/claims.ts';
import { claimKey, receiptKey } from '../../../src/lake/keys.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { makeReceipt, writeReceipt } from '../../helpers/ledger.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';

const JOB = 'measurements';
const dayOf = (vessel: string): VesselDay => ({ job: JOB, vessel, date: '2026-01-05' });

let store: ObjectStore;
beforeEach(() => {
  store = createMemoryStore();
});

/** Claims of these epochs; what stands in them does not matter here. */
async function claim(vessel: string, ...epochs: number[]): Promise<string[]> {
  const keys = epochs.map((epoch) => claimKey(dayOf(vessel), epoch));
  for (const key of keys) await store.put(key, Buffer.from('{}'));
  return keys;
}

async function claims(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list('_checkpoints/')) keys.push(key);
  return keys;
}

test('claims that a receipt has overtaken go; those of days without one, or begun after it, stay', async () => {
  await claim('IMO9321481', 1, 2);
  const [, later] = await claim('IMO9321482', 2, 3);
  const [open] = await claim('IMO9321483', 1);
  for (const vessel of ['IMO9321481', 'IMO9321482'])
    await writeReceipt(store, { ...makeReceipt(dayOf(vessel)), epoch: 2 });
  expect(await removeFinishedClaims(store, JOB)).toBe(3);
  expect(await claims()).toEqual([later, open]);
  expect(await removeFinishedClaims(store, JOB)).toBe(0);
});

test('a receipt that cannot be read keeps its claim and does not stop the others', async () => {
  const [kept] = await claim('IMO9321481', 1);
  await claim('IMO9321482', 1);
  await store.put(receiptKey(dayOf('IMO9321481')), Buffer.from('{"receiptVersion": 99}'));
  await writeReceipt(store, { ...makeReceipt(dayOf('IMO9321482')), epoch: 1 });
  expect(await removeFinishedClaims(store, JOB)).toBe(1);
  expect(await claims()).toEqual([kept]);
});
