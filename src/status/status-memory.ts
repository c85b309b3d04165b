/** What one look at a job leaves for the next: receipts and notes that are listed as they were are not read again. */
import { DayMap } from '../lake/day-map.ts';
import type { ListedVessel, ReceiptVersion } from '../lake/ledger.ts';
import type { LedgerReading } from '../lake/ledger-index.ts';
import type { Note } from '../model/index.ts';
import { CoveredReceipts, fingerprintOf } from './covered-receipts.ts';

/** What coverage asks of a note. */
export type KnownNote = Pick<Note, 'job' | 'vessel' | 'date' | 'state' | 'code' | 'message' | 'at'>;

export interface StatusMemory {
  readonly receipts: CoveredReceipts;
  /** Those of the last look. */
  notes: DayMap<ReceiptVersion & { readonly note: KnownNote }>;
  /** Read the ledger: `isKnown` is for the scan. A look that fails leaves nothing of the dates that it has read. */
  look(scan: (isKnown: IsKnown) => Promise<LedgerReading>): Promise<LedgerReading>;
}

type IsKnown = (date: string, listed: readonly ListedVessel[]) => boolean;

/** For one job, and always the same vessels. */
export function createStatusMemory(): StatusMemory {
  const receipts = new CoveredReceipts();
  /** By date. */
  const fingerprints = new Map<string, string>();
  return {
    receipts,
    notes: new DayMap(),
    async look(scan) {
      const read = new Map<string, string>();
      const reading = await scan((date, listed) => {
        const fingerprint = fingerprintOf(listed);
        if (fingerprint !== undefined && fingerprints.get(date) === fingerprint) return true;
        fingerprints.delete(date);
        receipts.clear(date);
        if (fingerprint !== undefined) read.set(date, fingerprint);
        return false;
      });
      // Who cannot be read is looked at again.
      for (const { day } of reading.damaged) read.delete(day.date);
      for (const [date, fingerprint] of read) fingerprints.set(date, fingerprint);
      return reading;
    },
  };
}
