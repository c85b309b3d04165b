/** What one look at a job leaves for the next: receipts and notes that are as they were are not read again. */
import { hash } from 'node:crypto';
import { DayMap } from '../../lake/ledger/day-map.ts';
import { type FolderLook, isSameFolder } from '../../lake/ledger/folder-seals.ts';
import type { IndexedPart } from '../../lake/ledger/indexed-receipt.ts';
import type { ListedVessel } from '../../lake/ledger/ledger.ts';
import type { LedgerReading, ShownDates } from '../../lake/ledger/ledger-month.ts';
import type { KnownNotes } from '../../lake/notes.ts';

/** What is asked of a receipt, and kept. */
export const KEPT_MEMBERS = [
  ...(['settingsHash', 'proof', 'rows', 'unlisted', 'selectedSeries', 'remark', 'warnings'] as const),
  ...(['started', 'finished'] as const),
];
export type KeptReceipt = IndexedPart<(typeof KEPT_MEMBERS)[number]>;

export interface StatusMemory {
  readonly receipts: DayMap<KeptReceipt>;
  /** Those of the last look. */
  notes: KnownNotes;
  /** Read the ledger. A look that fails leaves nothing of the dates that it has read. */
  look(nowMs: () => number, scan: (shown: ShownDates) => Promise<LedgerReading>): Promise<LedgerReading>;
}

/** What says whether a date is as it was. */
interface SeenDate {
  /** Of its list, where it was listed. */
  readonly fingerprint?: string | undefined;
  /** Of its folder, where that can be told. */
  readonly look?: FolderLook | undefined;
  readonly damaged: LedgerReading['damaged'];
}

/** For one job, and always the same vessels. */
export function createStatusMemory(): StatusMemory {
  const receipts = new DayMap<KeptReceipt>();
  /** By date. */
  const seen = new Map<string, SeenDate>();
  return {
    receipts,
    notes: new DayMap(),
    async look(nowMs, scan) {
      const [known, read] = [new Set<string>(), new Map<string, SeenDate>()];
      const begin = (date: string, one: Omit<SeenDate, 'damaged'>) => {
        seen.delete(date);
        receipts.clear(date);
        read.set(date, { ...one, damaged: [] });
      };
      const reading = await scan({
        nowMs,
        isSame(date, look) {
          const isKnown = isSameFolder(seen.get(date)?.look, look);
          if (isKnown) known.add(date);
          return isKnown;
        },
        isListed(date, listed, look) {
          const fingerprint = fingerprintOf(listed);
          const before = seen.get(date);
          if (fingerprint === undefined || before?.fingerprint !== fingerprint) {
            begin(date, { fingerprint, look });
            return false;
          }
          known.add(date);
          seen.set(date, { ...before, look });
          return true;
        },
        begin: (date, look) => begin(date, { look }),
      });
      const damagedOf = Map.groupBy(reading.damaged, ({ day }) => day.date);
      for (const [date, one] of read) {
        const damaged = damagedOf.get(date) ?? [];
        // What cannot be read is looked at again, unless its folder says that it is the same.
        if (damaged.length === 0) seen.set(date, one);
        else if (one.look !== undefined) seen.set(date, { look: one.look, damaged });
      }
      const damagedBefore = [...known].flatMap((date) => seen.get(date)!.damaged);
      return { ...reading, damaged: [...damagedBefore, ...reading.damaged] };
    },
  };
}

/** Says whether a date is listed as it was; undefined where nobody could tell. */
function fingerprintOf(listed: readonly ListedVessel[]): string | undefined {
  if (listed.some(({ tag }) => tag === '')) return undefined;
  const text = listed.map(({ vessel, sizeBytes, tag }) => `${vessel} ${sizeBytes} ${tag}\n`).join('');
  return hash('sha256', text, 'base64');
}
