/**
 * Reading many receipts: what was read of a month is kept in one object, `_index/<job>/<month>.ndjson.gz`, so
 * that the next reader fetches only the receipts that are new.
 *
 * The index is never trusted over the receipts. A reader lists the ledger first; a line of the index counts only
 * if the list shows its receipt with the size and the tag that the line was read under. Every other receipt that
 * is listed is fetched, lines without a listed receipt are passed over, and an index that is damaged in any way
 * (gzip's checksum, a line that is none of ours) is passed over as a whole. So it may be missing, stale, damaged
 * or overwritten by a slower reader: that costs time, never truth. Only readers write it, not those who publish:
 * thousands of them would overwrite each other.
 *
 * A line is the receipt's own JSON with one member more, `listed`. Lines are not in order.
 */
import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { Gzip } from 'node:zlib';
import { createGunzip, createGzip } from 'node:zlib';
import { forEachAtOnce } from '../concurrency.ts';
import { DataError, messageOf, shortName } from '../errors.ts';
import type { Log, Receipt, VesselDay } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { indexKey, receiptKey } from './keys.ts';
import type { ListedReceipt, ReceiptVersion } from './ledger.ts';
import { checkedReceipt, isSameReceipt, listReceipts, parseReceipt } from './ledger.ts';

/** Fewer receipts are fetched sooner than an index is read or written. */
const INDEX_WORTH_RECEIPTS = 64;
const LISTS_AT_ONCE = 8;
const GETS_AT_ONCE = 32;

interface LedgerQuestion<T> {
  readonly store: ObjectStore;
  readonly job: string;
  readonly dates: readonly string[];
  /** Absent: every vessel. */
  readonly vessels?: ReadonlySet<string>;
  /** What is kept of each receipt: bounds the memory of an answer over many months. */
  readonly project: (receipt: Receipt) => T;
  /** False for callers that promise to write nothing. */
  readonly writeIndex: boolean;
  readonly log: Log;
}

export interface LedgerAnswer<T> {
  /** By receipt key. */
  readonly receipts: ReadonlyMap<string, T>;
  /** Receipts that cannot be read. */
  readonly damaged: readonly { readonly day: VesselDay; readonly error: DataError }[];
  /** How many receipts came out of the index, and how many were fetched. */
  readonly fromIndex: number;
  readonly fetched: number;
}

/**
 * The receipts of a job on some dates. Memory: what `project` keeps, and the lists and compressed lines of one
 * month. Throws what the store throws; an index that cannot be written is no error.
 */
export async function readLedger<T>(question: LedgerQuestion<T>): Promise<LedgerAnswer<T>> {
  const answer = { receipts: new Map<string, T>(), damaged: [], fromIndex: 0, fetched: 0 };
  const months = Map.groupBy(question.dates, (date) => date.slice(0, 7));
  for (const [month, dates] of months) await readMonth(question, month, dates, answer);
  return answer;
}

interface GrowingAnswer<T> {
  readonly receipts: Map<string, T>;
  readonly damaged: { day: VesselDay; error: DataError }[];
  fromIndex: number;
  fetched: number;
}

async function readMonth<T>(
  question: LedgerQuestion<T>,
  month: string,
  dates: readonly string[],
  answer: GrowingAnswer<T>,
): Promise<void> {
  const { store, job, vessels, log } = question;
  const listed = await listDates(store, job, dates);
  const wanted = [...listed.values()].filter(({ day }) => vessels === undefined || vessels.has(day.vessel));
  const key = indexKey(job, month);
  const old = wanted.length < INDEX_WORTH_RECEIPTS ? undefined : await store.get(key);
  const known = old && (await readIndex(question, key, old.bytes, listed));
  for (const [receipt, kept] of known ?? []) answer.receipts.set(receipt, kept);
  answer.fromIndex += known?.size ?? 0;
  const fresh = wanted.filter((entry) => known?.has(entry.key) !== true);
  const lines = question.writeIndex && fresh.length >= INDEX_WORTH_RECEIPTS ? createLineWriter() : undefined;
  await fetchReceipts(question, fresh, answer, lines);
  if (lines === undefined) return;
  try {
    // Two gzip members, one after the other, are one gzip file.
    const kept = known && old ? await keptLines(old.bytes, new Set(dates), listed) : [];
    await store.put(key, Buffer.concat([...kept, ...(await lines.end())]));
  } catch (error) {
    log.debug({ key, error: messageOf(error) }, 'the index could not be written');
  }
}

async function listDates(
  store: ObjectStore,
  job: string,
  dates: readonly string[],
): Promise<Map<string, ListedReceipt>> {
  const listed = new Map<string, ListedReceipt>();
  await forEachAtOnce(dates, LISTS_AT_ONCE, async (date) => {
    for await (const receipt of listReceipts(store, job, date)) listed.set(receipt.key, receipt);
  });
  return listed;
}

async function fetchReceipts<T>(
  { store, project }: LedgerQuestion<T>,
  entries: readonly ListedReceipt[],
  answer: GrowingAnswer<T>,
  lines: LineWriter | undefined,
): Promise<void> {
  await forEachAtOnce(entries, GETS_AT_ONCE, async ({ key, day, sizeBytes, tag }) => {
    const object = await store.get(key);
    // Removed since it was listed.
    if (object === undefined) return;
    try {
      const receipt = parseReceipt(object.bytes, key);
      answer.receipts.set(key, project(receipt));
      answer.fetched++;
      // Without a tag nobody could tell later whether it was replaced.
      if (tag !== '') await lines?.write(JSON.stringify({ ...receipt, listed: { sizeBytes, tag } }));
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      answer.damaged.push({ day, error });
    }
  });
}

type IndexLine = Receipt & { readonly listed: ReceiptVersion };

/** What the index says of receipts that are still the listed ones; undefined when it is damaged. */
async function readIndex<T>(
  { job, vessels, project, log }: LedgerQuestion<T>,
  key: string,
  bytes: Uint8Array,
  listed: ReadonlyMap<string, ListedReceipt>,
): Promise<Map<string, T> | undefined> {
  const known = new Map<string, T>();
  try {
    for await (const text of linesOf(bytes)) {
      const line = parseLine(text, job);
      const receipt = receiptKey(line);
      if (vessels?.has(line.vessel) !== false && isSameReceipt(line.listed, listed.get(receipt)))
        known.set(receipt, project(line));
    }
    return known;
  } catch (error) {
    log.warn({ key, error: messageOf(error) }, 'the index is damaged: reading the receipts themselves');
    return undefined;
  }
}

function parseLine(text: string, job: string): IndexLine {
  const line = JSON.parse(text) as Partial<IndexLine>;
  if (line.receiptVersion !== 1 || line.job !== job || typeof line.listed?.tag !== 'string')
    throw new Error(`'${shortName(text)}' is no line of it`);
  checkedReceipt(line, `a line of ${job}`);
  return line as IndexLine;
}

/** Lines of an index, compressed again, without those whose receipt has been replaced or removed. */
async function keptLines(
  bytes: Uint8Array,
  dates: ReadonlySet<string>,
  listed: ReadonlyMap<string, ListedReceipt>,
): Promise<Uint8Array[]> {
  const writer = createLineWriter();
  for await (const text of linesOf(bytes)) {
    const line = JSON.parse(text) as IndexLine;
    // Of dates that were not listed nothing is known: whoever lists them will see.
    if (!dates.has(line.date) || isSameReceipt(line.listed, listed.get(receiptKey(line))))
      await writer.write(text);
  }
  return await writer.end();
}

async function* linesOf(gzip: Uint8Array): AsyncGenerator<string> {
  // In slices: a stream decompresses whatever it is given before anyone takes a line.
  const slices = function* () {
    for (let at = 0; at < gzip.length; at += 65_536) yield gzip.subarray(at, at + 65_536);
  };
  const text = Readable.from(slices()).pipe(createGunzip()).setEncoding('utf8');
  let rest = '';
  for await (const chunk of text) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== '') throw new Error('the last line is not whole');
}

interface LineWriter {
  write(line: string): Promise<void>;
  /** The compressed lines. */
  end(): Promise<Uint8Array[]>;
}

function createLineWriter(): LineWriter {
  const gzip: Gzip = createGzip();
  // Every get under way may wait for it.
  gzip.setMaxListeners(0);
  const chunks: Uint8Array[] = [];
  gzip.on('data', (chunk: Uint8Array) => chunks.push(chunk));
  const ended = once(gzip, 'end');
  ended.catch(() => {});
  return {
    async write(line) {
      if (!gzip.write(`${line}\n`)) await once(gzip, 'drain');
    },
    async end() {
      gzip.end();
      await ended;
      return chunks;
    },
  };
}
