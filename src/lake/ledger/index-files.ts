/**
 * The index of a month as it lies in the store: one object, and pieces of those who publish. What older versions left is passed
 * over, and goes when the index is written.
 */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { DataError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { indexKey, indexPrefix } from '../keys.ts';
import type { Seal } from './folder-seals.ts';
import type { UnpackedIndex } from './index-file.ts';
import type { IndexedMember } from './indexed-receipt.ts';

const GETS_AT_ONCE = 8;

/** Loaded where there is an index to read or to write: most runs have none. */
export const loadIndexFile = () => import('./index-file.ts');

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
  const inOrder = [...keys.filter((key) => key === main), ...keys.filter((key) => key !== main).sort()];
  const found = new Map<string, Uint8Array>();
  // Who publishes a night of a large fleet leaves a few, and who fills years some sixty a month.
  await forEachAtOnce(inOrder, GETS_AT_ONCE, async (key) => {
    try {
      const bytes = isOfOlder(key) ? NO_BYTES : (await store.get(key))?.bytes;
      if (bytes !== undefined) found.set(key, bytes);
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

const NO_BYTES = new Uint8Array(0);
const isOfOlder = (key: string) => key.endsWith('.columns') || key.endsWith('.ndjson.gz');

export interface OpenIndex<M extends IndexedMember> {
  readonly file: IndexFile;
  /** Undefined when it is damaged. */
  readonly index: UnpackedIndex<M> | undefined;
  /** By row: 1 where it is of a receipt that is listed as it was then. */
  readonly isKnown: Uint8Array;
}

/** The same without its rows. */
export type KnownIndex = Omit<OpenIndex<never>, 'index'> & {
  readonly index: Pick<UnpackedIndex<never>, 'rangeOf' | 'seals'> | undefined;
};

/** What is enough to write an index anew: the rows are read again then, a column at a time. */
export function withoutRows<M extends IndexedMember>({ file, index, isKnown }: OpenIndex<M>): KnownIndex {
  return { file, index: index && { rangeOf: index.rangeOf, seals: index.seals }, isKnown };
}

/** What is known of a month, without what is damaged. */
export async function openIndexes<M extends IndexedMember>(
  question: IndexPlace & { readonly members: readonly M[] },
  month: string,
): Promise<OpenIndex<M>[]> {
  const files = await findIndexFiles(question.store, question.job, month);
  const indexes: OpenIndex<M>[] = [];
  for (const file of files) indexes.push(await openIndex(question, file));
  return indexes;
}

async function openIndex<M extends IndexedMember>(
  { job, log, members }: IndexPlace & { readonly members: readonly M[] },
  file: IndexFile,
): Promise<OpenIndex<M>> {
  const { key, bytes } = file;
  if (isOfOlder(key)) return { file, index: undefined, isKnown: NO_BYTES };
  try {
    const { unpackIndex } = await loadIndexFile();
    const index = await unpackIndex(job, bytes, members);
    return { file, index, isKnown: new Uint8Array(index.receipts) };
  } catch (error) {
    // What follows is advice to those who read Parquet of a service.
    const fault = messageOf(error).split(';')[0];
    log.warn({ key, error: fault }, 'the index is not used: reading the receipts themselves');
    return { file, index: undefined, isKnown: NO_BYTES };
  }
}

/** What a reader has found out about a month. */
interface MonthRead {
  /** Of each date whose receipts were looked at; the seal where it is known of all of them. */
  readonly looked: ReadonlyMap<string, Seal | undefined>;
  /** Indexes of the receipts that were fetched. */
  readonly read: readonly Uint8Array[];
}

/** Write one index of all that is known, and remove what was put into it. */
export async function writeIndexAnew(
  { store, job, log }: IndexPlace,
  month: string,
  indexes: readonly KnownIndex[],
  { looked, read }: MonthRead,
): Promise<void> {
  const key = indexKey(job, month);
  try {
    const { mergeIndexes, withSeals } = await loadIndexFile();
    const seals = sealsAnew(key, indexes, looked);
    const isSame = read.length === 0 && indexes.length === 1 && isAllKnown(key, indexes[0]!, looked);
    const bytes = isSame
      ? withSeals(job, indexes[0]!.file.bytes, countedSeals(indexes[0]!, seals))
      : await mergeIndexes(job, [...sourcesOf(indexes, looked), ...read.map(whole)], seals);
    await store.put(key, bytes);
    await store.removeAll(indexes.map(({ file }) => file.key).filter((one) => one !== key));
  } catch (error) {
    log.debug({ key, error: messageOf(error) }, 'the index could not be written');
  }
}

const whole = (bytes: Uint8Array) => ({ bytes, isTaken: () => true });

/** Of dates that were not looked at nothing is known: whoever looks will see. */
function sourcesOf(indexes: readonly KnownIndex[], looked: MonthRead['looked']) {
  return indexes.flatMap(({ file: { bytes }, index, isKnown }) =>
    index === undefined
      ? []
      : [{ bytes, isTaken: (at: number, date: string) => isKnown[at] === 1 || !looked.has(date) }],
  );
}

/** Are all its rows of receipts that are listed as they were, or of dates that were not looked at? */
function isAllKnown(key: string, { file, index, isKnown }: KnownIndex, looked: MonthRead['looked']): boolean {
  if (file.key !== key || index === undefined) return false;
  return [...looked.keys()].every((date) => {
    const [from, to] = index.rangeOf(date);
    return isKnown.subarray(from, to).every((known) => known === 1);
  });
}

function countedSeals({ index }: KnownIndex, seals: ReadonlyMap<string, Seal>) {
  return new Map(
    [...seals].map(([date, seal]) => {
      const [from, to] = index!.rangeOf(date);
      return [date, { ...seal, rows: to - from }];
    }),
  );
}

/** Those of the dates that were looked at, and those of the index of other dates, unless something else has rows of them. */
function sealsAnew(
  key: string,
  indexes: readonly KnownIndex[],
  looked: MonthRead['looked'],
): Map<string, Seal> {
  const main = indexes.find(({ file }) => file.key === key);
  const isAlone = (date: string) =>
    indexes.every((one) => one === main || one.index === undefined || one.index.rangeOf(date)[1] === 0);
  const kept = [...(main?.index?.seals ?? [])].filter(([date]) => !looked.has(date) && isAlone(date));
  return new Map([...kept, ...[...looked].flatMap(([date, seal]) => (seal ? [[date, seal] as const] : []))]);
}
