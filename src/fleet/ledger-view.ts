/**
 * What the ledger says of a job's vessel-days, read again and again. Listing is cheap, reading receipts is not: a
 * receipt is read once, and again only when the list says that it is another one.
 */

import type { Receipt, VesselDay } from '../model/index.ts';
import { ledgerPrefix, parseReceiptKey, receiptKey } from '../model/index.ts';
import { forEachAtOnce } from '../publish/at-once.ts';
import { readReceipt } from '../publish/ledger.ts';
import type { ObjectStore } from '../store/store.ts';

type Known = Pick<Receipt, 'settingsHash' | 'epoch'>;

interface Entry extends Known {
  readonly modifiedMs: number;
  readonly sizeBytes: number;
}

export interface LedgerView {
  /** Receipts of one date, by receipt key. */
  ofDate(job: string, date: string): Promise<ReadonlyMap<string, Known>>;
}

/** Dates that are remembered; older looks are forgotten. */
const MOST_DATES = 100;
/** Gets at once. */
const READ_CONCURRENCY = 32;

export function createLedgerView(store: ObjectStore): LedgerView {
  const cache = new Map<string, Map<string, Entry>>();
  return {
    async ofDate(job, date) {
      const prefix = ledgerPrefix(job, date);
      const before = cache.get(prefix);
      const now = new Map<string, Entry>();
      const unread: { day: VesselDay; modifiedMs: number; sizeBytes: number }[] = [];
      for await (const { key, modifiedMs, sizeBytes } of store.list(prefix)) {
        const day = parseReceiptKey(key);
        if (day === undefined) continue;
        const held = before?.get(key);
        if (held?.modifiedMs === modifiedMs && held.sizeBytes === sizeBytes) now.set(key, held);
        else unread.push({ day, modifiedMs, sizeBytes });
      }
      await forEachAtOnce(unread, READ_CONCURRENCY, async ({ day, modifiedMs, sizeBytes }) => {
        const receipt = await readReceipt(store, day);
        if (receipt === undefined) return;
        const { settingsHash, epoch } = receipt;
        now.set(receiptKey(day), { settingsHash, epoch, modifiedMs, sizeBytes });
      });
      cache.delete(prefix);
      cache.set(prefix, now);
      if (cache.size > MOST_DATES) cache.delete(cache.keys().next().value!);
      return now;
    },
  };
}
