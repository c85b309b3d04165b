/** The notes of a job's vessel-days, cached: unchanged ones are not read again. */
import { forEachAtOnce } from '../core/concurrency.ts';
import { DataError } from '../core/errors.ts';
import type { Clock, Note, VesselDay } from '../core/model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { orDamage, unlessDamaged } from './json.ts';
import { keyPrefix, noteKey, parseNoteKey, receiptKey } from './keys.ts';
import { DayMap } from './ledger/day-map.ts';
import { isSameReceipt, noteBytes, type ReceiptVersion, readNote, readReceipt } from './ledger/ledger.ts';

export type KnownNotes = DayMap<ReceiptVersion & { readonly note: Note }>;

const GETS_AT_ONCE = 32;

interface NotesQuestion {
  /** The result of the last read. */
  readonly before?: KnownNotes;
  readonly isAsked?: (day: VesselDay) => boolean;
  /** Maximum of notes to read; the others are left for the next time. */
  readonly maxReads?: number;
}

/** An unreadable note means that its vessel-day has failed. Throws what the store throws. */
export async function readNotes(
  store: ObjectStore,
  job: string,
  { before = new DayMap(), isAsked = () => true, maxReads = Infinity }: NotesQuestion,
): Promise<KnownNotes> {
  const notes: KnownNotes = new DayMap();
  const unread: (VesselDay & ReceiptVersion)[] = [];
  for await (const { key, sizeBytes, tag } of store.list(keyPrefix('note', job))) {
    const day = parseNoteKey(key);
    if (day === undefined || !isAsked(day)) continue;
    const known = before.get(day);
    if (known !== undefined && isSameReceipt(known, { sizeBytes, tag })) notes.set(day, known);
    else if (unread.length < maxReads) unread.push({ ...day, sizeBytes, tag });
  }
  await forEachAtOnce(unread, GETS_AT_ONCE, async ({ sizeBytes, tag, ...day }) => {
    const read = await orDamage(readNote(store, day));
    if (read === undefined) return;
    const note = read instanceof DataError ? damagedNote(day, read) : { ...read, ...day };
    notes.set(day, { note, sizeBytes, tag });
  });
  return notes;
}

/** Remove the note of a day if it (still) has one of these states. False: it has another, or there is none. Throws what the store throws. */
export async function removeNote(
  store: ObjectStore,
  day: VesselDay,
  isOver: (note: Note) => boolean,
): Promise<boolean> {
  // The version is read before the content: if the note is replaced in between, that version is gone.
  const found = await store.head(noteKey(day));
  const note = found && (await unlessDamaged(readNote(store, day)));
  return note !== undefined && isOver(note) && (await store.removeIf(noteKey(day), found!.version));
}

/**
 * When a note is written: by this clock, or when the day was published last by the clock of whoever did, which may have been
 * ahead. The note knows of that, and is not overtaken by it. Throws what the store throws.
 */
export async function momentOfNote(
  { store, clock }: { readonly store: ObjectStore; readonly clock: Pick<Clock, 'nowMs'> },
  day: VesselDay,
): Promise<string> {
  const { finishedAt = '' } = (await unlessDamaged(readReceipt(store, day))) ?? {};
  const now = new Date(clock.nowMs()).toISOString();
  return now < finishedAt ? finishedAt : now;
}

/** Leave a note of a day that has neither one nor a receipt. Throws what the store throws. */
export async function noteIfNone(store: ObjectStore, note: Note): Promise<void> {
  if ((await store.head(receiptKey(note))) === undefined)
    await store.putIfAbsent(noteKey(note), noteBytes(note));
}

/** A note that says that a vessel-day has failed because its file cannot be read. */
export function damagedNote(day: VesselDay, { code, message }: Pick<Note, 'code' | 'message'>): Note {
  return { noteVersion: 1, ...day, state: 'failed', code, message, at: '9999-12-31T23:59:59.999Z' };
}
