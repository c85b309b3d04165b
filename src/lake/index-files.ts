/** The index of a month as it lies in the store: one object, pieces of those who publish, and what older versions left. */
import { createTurns, forEachAtOnce } from '../concurrency.ts';
import { DataError, messageOf } from '../errors.ts';
import type { Log } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { DayMap } from './day-map.ts';
import type { UnpackedIndex } from './index-columns.ts';
import { inOrder, packIndex, rangesByDate, unpackIndex, wholeRow } from './index-columns.ts';
import { readIndexLines } from './index-lines.ts';
import type { IndexedMember, IndexRow } from './indexed-receipt.ts';
import { ALL_MEMBERS } from './indexed-receipt.ts';
import { indexKey, indexLinesKey, indexPrefix } from './keys.ts';
import { isSameReceipt } from './ledger.ts';

const GETS_AT_ONCE = 8;

interface IndexPlace {
  readonly store: ObjectStore;
  readonly job: string;
  readonly log: Log;
}

/** An index, or a piece of one, as it lies in the store. */
interface IndexFile {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** What there is of a month, in the order in which the later one counts. */
async function findIndexFiles(store: ObjectStore, job: string, month: string): Promise<IndexFile[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(indexPrefix(job, month))) keys.push(key);
  const main = indexKey(job, month);
  const lines = indexLinesKey(job, month);
  // Whoever is left on an older version goes on writing lines, beside an index that has all that they have.
  const isRead = (key: string) => key !== main && (key !== lines || !keys.includes(main));
  const inOrder = [...keys.filter((key) => key === main), ...keys.filter(isRead).sort()];
  const found = new Map<string, Uint8Array>();
  // Who publishes a night of a large fleet leaves a few, and who fills years some sixty a month.
  await forEachAtOnce(inOrder, GETS_AT_ONCE, async (key) => {
    try {
      const object = await store.get(key);
      if (object !== undefined) found.set(key, object.bytes);
    } catch (error) {
      // Larger than anything of ours.
      if (!(error instanceof DataError)) throw error;
    }
  });
  return inOrder.flatMap((key) => {
    const bytes = found.get(key);
    return bytes === undefined ? [] : [{ key, bytes }];
  });
}

export interface OpenIndex<M extends IndexedMember> {
  readonly file: IndexFile;
  /** Undefined when it is damaged. */
  readonly index: UnpackedIndex<M> | undefined;
  /** By row: 1 where it is of a receipt that is listed as it was then. */
  readonly isKnown: Uint8Array;
}

/** What is known of a month, without what is damaged. */
export async function openIndexes<M extends IndexedMember>(
  question: IndexPlace & { readonly members: readonly M[] },
  month: string,
): Promise<OpenIndex<M>[]> {
  const files = await findIndexFiles(question.store, question.job, month);
  const indexes: OpenIndex<M>[] = [];
  for (const file of files) {
    const index = await openIndex(question, file, question.members);
    indexes.push({ file, index, isKnown: new Uint8Array(index?.receipts ?? 0) });
  }
  return indexes;
}

/** Undefined when it is damaged. */
async function openIndex<M extends IndexedMember>(
  { job, log }: IndexPlace,
  { key, bytes }: IndexFile,
  members: readonly M[],
): Promise<UnpackedIndex<M> | undefined> {
  try {
    if (!key.endsWith('.ndjson.gz')) return await unpackIndex(job, bytes, members);
    const rows = (await readIndexLines(job, bytes)).sort(inOrder);
    const ranges = rangesByDate(
      rows.length,
      (at) => rows[at]!.date,
      (at) => rows[at]!.vessel,
    );
    return {
      receipts: rows.length,
      rangeOf: (date) => ranges.get(date) ?? [0, 0],
      vessel: (at) => rows[at]!.vessel,
      isSame: (at, listed) => isSameReceipt(rows[at]!.listed, listed),
      listed: (at) => rows[at]!.listed,
      row: (at) => rows[at]!,
    };
  } catch (error) {
    log.warn({ key, error: messageOf(error) }, 'the index is not used: reading the receipts themselves');
    return undefined;
  }
}

interface MonthRead {
  readonly dates: ReadonlySet<string>;
  /** The receipts that were fetched. */
  readonly read: readonly IndexRow[];
}

/** Write one index of all that is known, and remove what was put into it. */
export async function writeIndexAnew(
  question: IndexPlace,
  month: string,
  indexes: readonly Pick<OpenIndex<never>, 'file' | 'isKnown'>[],
  { dates, read }: MonthRead,
): Promise<void> {
  const { store, job, log } = question;
  const key = indexKey(job, month);
  try {
    const rows = new DayMap<IndexRow>();
    const turn = createTurns();
    for (const { file, isKnown } of indexes) {
      const index = await openIndex(question, file, ALL_MEMBERS);
      for (let at = 0; at < (index?.receipts ?? 0); at++) {
        await turn();
        const row = wholeRow(index!, at);
        // Of dates that were not listed nothing is known: whoever lists them will see.
        if (!dates.has(row.date) || isKnown[at] === 1) rows.set(row, row);
      }
    }
    for (const row of read) rows.set(row, row);
    await store.put(key, await packIndex(job, [...rows.values()]));
    await store.removeAll(indexes.map(({ file }) => file.key).filter((one) => one !== key));
  } catch (error) {
    log.debug({ key, error: messageOf(error) }, 'the index could not be written');
  }
}
