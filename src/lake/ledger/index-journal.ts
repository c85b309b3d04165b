/**
 * A process that publishes has its receipts at hand: it writes pieces of the index of their month, so that the first reader
 * after a backfill need not fetch them. Pieces are optional: one that is lost, or whose receipts were replaced, only costs
 * that reader time.
 */

import { endsWithin } from '../../core/concurrency.ts';
import { messageOf } from '../../core/errors.ts';
import { type Clock, type Log, type Receipt, systemClock } from '../../core/model/index.ts';
import { uniqueId } from '../../core/unique-id.ts';
import type { ObjectStore } from '../../store/store.ts';
import { indexPieceKey } from '../keys.ts';
import { loadIndexFile } from './index-files.ts';
import { type IndexRow, isIndexable, toIndexRow } from './indexed-receipt.ts';
import type { ReceiptVersion } from './ledger.ts';
import { INDEX_WORTH_RECEIPTS } from './ledger-index.ts';

/** Receipts in a piece: it costs one request for so many vessel-days. */
const PIECE_RECEIPTS = 512;
/** Time limit at the end of a process: a store that hangs must not delay it longer than reading the receipts would take. */
const CLOSE_MS = 10_000;

export type IndexJournal = ReturnType<typeof createIndexJournal>;

export function createIndexJournal(store: Pick<ObjectStore, 'put'>, log: Log, clock: Clock = systemClock) {
  const rowsOf = new Map<string, IndexRow[]>();
  const writing = new Set<Promise<void>>();

  async function writePiece(rows: readonly IndexRow[]): Promise<void> {
    const { job, date } = rows[0]!;
    const newest = new Map(rows.map((row) => [`${row.vessel}/${row.date}`, row]));
    const name = `${new Date(clock.nowMs()).toISOString().replaceAll(/[^0-9]/g, '')}-${uniqueId()}`;
    const key = indexPieceKey(job, date.slice(0, 7), name);
    try {
      const { packIndex } = await loadIndexFile();
      await store.put(key, await packIndex(job, [...newest.values()]));
    } catch (error) {
      log.debug({ key, error: messageOf(error) }, 'a piece of the index could not be written');
    }
  }

  return {
    /** Called with every receipt that this process has written. */
    note(receipt: Receipt, written: ReceiptVersion): void {
      const row = toIndexRow(receipt, written);
      if (!isIndexable(row)) return;
      const month = `${row.job}/${row.date.slice(0, 7)}`;
      const rows = rowsOf.get(month) ?? [];
      rowsOf.set(month, rows);
      rows.push(row);
      if (rows.length < PIECE_RECEIPTS) return;
      rowsOf.delete(month);
      const write = writePiece(rows).finally(() => writing.delete(write));
      writing.add(write);
    },
    /** Write the rest, within the time limit. */
    async close(): Promise<void> {
      const writeRest = async () => {
        for (const rows of rowsOf.values()) if (rows.length >= INDEX_WORTH_RECEIPTS) await writePiece(rows);
        await Promise.all(writing);
      };
      await endsWithin(writeRest(), CLOSE_MS, clock);
    },
  };
}
