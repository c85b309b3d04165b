/** What one look at a job leaves for the next: receipts and notes that are as they were are not read again. */
import { hash } from 'node:crypto';
import { forEachAtOnce } from '../../core/concurrency.ts';
import type { Clock } from '../../core/model/index.ts';
import { keyPrefix } from '../../lake/keys.ts';
import { DayMap } from '../../lake/ledger/day-map.ts';
import type { IndexedPart } from '../../lake/ledger/indexed-receipt.ts';
import type { ListedVessel } from '../../lake/ledger/ledger.ts';
import type { LedgerReading } from '../../lake/ledger/ledger-index.ts';
import type { KnownNotes } from '../../lake/notes.ts';
import type { ObjectStore } from '../../store/store.ts';

export const KEPT_MEMBERS = [
  ...(['settingsHash', 'proof', 'rows', 'unlisted', 'selectedSeries', 'remark', 'warnings'] as const),
  ...(['started', 'finished'] as const),
];
export type KeptReceipt = IndexedPart<(typeof KEPT_MEMBERS)[number]>;

/** Reads the receipts of some dates, but for those that are listed as they were. */
type Scan = (
  dates: readonly string[],
  isKnown: (date: string, listed: readonly ListedVessel[]) => boolean,
) => Promise<LedgerReading>;

export type StatusMemory = ReturnType<typeof createStatusMemory>;

type LookPorts = { readonly store: Pick<ObjectStore, 'folderState'>; readonly clock: Pick<Clock, 'nowMs'> };

/** A folder before its receipts are listed: `state` as the store's `folderState` says it. */
interface FolderLook {
  readonly state: string;
  readonly lookedAtMs: number;
}

interface SeenDate {
  readonly fingerprint?: string | undefined;
  /** Of its folder, where that can be told. */
  readonly folder: FolderLook | undefined;
  readonly damaged: LedgerReading['damaged'];
}

/** A folder does not tell of bytes written into a receipt in its place, as few restores do: so a date is listed after a day. */
const FOLDER_BELIEVED_MS = 86_400_000;
const FOLDERS_AT_ONCE = 8;

/** For one job, and always the same vessels. */
export function createStatusMemory() {
  const receipts = new DayMap<KeptReceipt>();
  const seen = new Map<string, SeenDate>();
  return {
    receipts,
    /** Those of the last look. */
    notes: new DayMap() as KnownNotes,
    /** Read the ledger. A look that fails leaves nothing of the dates that it has read. */
    async look(ports: LookPorts, job: string, dates: readonly string[], scan: Scan): Promise<LedgerReading> {
      const folders = await lookAtFolders(ports, job, dates);
      const isSame = (date: string) => isSameFolder(seen.get(date)?.folder, folders.get(date));
      const [known, read] = [new Set(dates.filter(isSame)), new Map<string, SeenDate>()];
      const unknown = dates.filter((date) => !known.has(date));
      const reading = await scan(unknown, (date, listed) => {
        const [fingerprint, folder] = [fingerprintOf(listed), folders.get(date)];
        const before = seen.get(date);
        if (fingerprint !== undefined && before?.fingerprint === fingerprint) {
          known.add(date);
          seen.set(date, { ...before, folder });
          return true;
        }
        seen.delete(date);
        receipts.clear(date);
        read.set(date, { fingerprint, folder, damaged: [] });
        return false;
      });
      const damagedOf = Map.groupBy(reading.damaged, ({ day }) => day.date);
      for (const [date, one] of read) {
        const damaged = damagedOf.get(date) ?? [];
        // What cannot be read is looked at again, unless its folder says that it is the same.
        if (damaged.length === 0) seen.set(date, one);
        else if (one.folder !== undefined) seen.set(date, { folder: one.folder, damaged });
      }
      const damagedBefore = [...known].flatMap((date) => seen.get(date)!.damaged);
      return { ...reading, damaged: [...damagedBefore, ...reading.damaged] };
    },
  };
}

async function lookAtFolders({ store, clock }: LookPorts, job: string, dates: readonly string[]) {
  const folders = new Map<string, FolderLook>();
  await forEachAtOnce(dates, FOLDERS_AT_ONCE, async (date) => {
    const state = await store.folderState(keyPrefix('receipt', job, date));
    if (state !== undefined) folders.set(date, { state, lookedAtMs: clock.nowMs() });
  });
  return folders;
}

/** Is what was seen then what would be seen now? A time that has not come yet is none of a look. */
function isSameFolder(then: FolderLook | undefined, now: FolderLook | undefined): boolean {
  if (then === undefined || then.state !== now?.state) return false;
  const agoMs = now.lookedAtMs - then.lookedAtMs;
  return agoMs >= 0 && agoMs < FOLDER_BELIEVED_MS;
}

/** Says whether a date is listed as it was; undefined where nobody could tell. */
function fingerprintOf(listed: readonly ListedVessel[]): string | undefined {
  if (listed.some(({ tag }) => tag === '')) return undefined;
  const text = listed.map(({ vessel, sizeBytes, tag }) => `${vessel} ${sizeBytes} ${tag}\n`).join('');
  return hash('sha256', text, 'base64');
}
