/** The index of a month in the store: one object, and pieces by processes that publish. Unreadable files are removed when it is written. */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { unlessDamaged } from '../json.ts';
import { indexKey, indexPrefix } from '../keys.ts';
import type { UnpackedIndex } from './index-file.ts';
import type { IndexedMember } from './indexed-receipt.ts';

const GETS_AT_ONCE = 8;

/** Loaded only if there is an index to read or write: most runs have none. */
export const loadIndexFile = () => import('./index-file.ts');

interface IndexPlace {
  readonly store: ObjectStore;
  readonly job: string;
  readonly log: Log;
}

/** What is needed to rewrite an index: its rows are read again then, a column at a time. */
export interface KnownIndex {
  readonly key: string;
  readonly bytes: Uint8Array;
  /** By row: 1 if its receipt is still listed as it was then. Undefined if the file is damaged. */
  readonly isKnown: Uint8Array | undefined;
}

export interface OpenIndex<M extends IndexedMember> extends KnownIndex {
  /** Undefined if the file is damaged. */
  readonly index: UnpackedIndex<M> | undefined;
}

/** The files of a month; if a vessel-day is in several, the later one counts. */
export async function openIndexes<M extends IndexedMember>(
  { store, job, log, members }: IndexPlace & { readonly members: readonly M[] },
  month: string,
): Promise<OpenIndex<M>[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(indexPrefix(job, month))) keys.push(key);
  const main = indexKey(job, month);
  const inOrder = [...keys.filter((key) => key === main), ...keys.filter((key) => key !== main).sort()];
  const found: (Uint8Array | undefined)[] = [];
  // A night of a large fleet leaves a few pieces, a backfill of years some sixty a month.
  await forEachAtOnce([...inOrder.entries()], GETS_AT_ONCE, async ([at, key]) => {
    found[at] = (await unlessDamaged(store.get(key)))?.bytes;
  });
  const indexes: OpenIndex<M>[] = [];
  for (const [at, key] of inOrder.entries()) {
    const bytes = found[at];
    if (bytes === undefined) continue;
    try {
      const { unpackIndex } = await loadIndexFile();
      const index = await unpackIndex(job, bytes, members);
      indexes.push({ key, bytes, index, isKnown: new Uint8Array(index.receipts) });
    } catch (error) {
      // The rest of the message is advice about Parquet of a service.
      const fault = messageOf(error).split(';')[0];
      log.warn({ key, error: fault }, 'the index is not used: reading the receipts themselves');
      indexes.push({ key, bytes, index: undefined, isKnown: undefined });
    }
  }
  return indexes;
}

/**
 * Write one index from all files and the `fetched` rows, and remove what it replaces. Of dates that were `looked` at it keeps
 * only rows that are still valid, of other dates all rows.
 */
export async function writeIndexAnew(
  { store, job, log }: IndexPlace,
  month: string,
  indexes: readonly KnownIndex[],
  { looked, fetched }: { readonly looked: ReadonlySet<string>; readonly fetched: readonly Uint8Array[] },
): Promise<void> {
  const key = indexKey(job, month);
  const sources = indexes.flatMap(({ bytes, isKnown }) =>
    isKnown === undefined
      ? []
      : [{ bytes, isTaken: (at: number, date: string) => isKnown[at] === 1 || !looked.has(date) }],
  );
  try {
    const { mergeIndexes } = await loadIndexFile();
    const fresh = fetched.map((bytes) => ({ bytes, isTaken: () => true }));
    await store.put(key, await mergeIndexes(job, [...sources, ...fresh]));
    await store.removeAll(indexes.map((one) => one.key).filter((one) => one !== key));
  } catch (error) {
    log.debug({ key, error: messageOf(error) }, 'the index could not be written');
  }
}
