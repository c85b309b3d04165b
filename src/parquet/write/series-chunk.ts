import type { ByteSink } from './byte-sink.ts';
import { createByteSink, putBytes, putSized, putText, putVarint, reserve } from './byte-sink.ts';
import { appendChunk, type PageBody, type PlacedChunk } from './column-chunk.ts';
import { type Column, chunkColumn } from './columns.ts';
import { PAGE_ROWS } from './pages.ts';

/** The column chunk of a text that belongs to the row's series, encoded from the runs that sorted rows are. */

/** Rows of one series that follow each other, and its text, if it has one. */
export interface TextRun {
  readonly text: Uint8Array | null;
  readonly rows: number;
}

/** Rows of one dictionary entry that follow each other; entry -1: null. */
interface EntryRun {
  readonly entry: number;
  readonly rows: number;
}

/** Distinct texts in order of first use, and the runs with their places among them. Where they ascend, equal ones meet. */
function entriesOf(
  runs: readonly TextRun[],
  isAscending: boolean,
): { texts: Uint8Array[]; entryRuns: EntryRun[] } {
  const texts: Uint8Array[] = [];
  const entryOf = new Map<string, number>();
  const place = (text: Uint8Array): number => {
    if (isAscending) {
      const last = texts.at(-1);
      return (last !== undefined && Buffer.compare(last, text) === 0 ? texts.length : texts.push(text)) - 1;
    }
    const key = Buffer.from(text.buffer, text.byteOffset, text.length).toString('latin1');
    const known = entryOf.get(key);
    if (known !== undefined) return known;
    entryOf.set(key, texts.length);
    return texts.push(text) - 1;
  };
  return {
    texts,
    entryRuns: runs.map(({ text, rows }) => ({ entry: text === null ? -1 : place(text), rows })),
  };
}

/** A run of the RLE/bit-packing hybrid is at most so many bytes. */
const RUN_BYTES = 12;

/** Runs of the RLE/bit-packing hybrid, each as its length and the value that repeats. */
function putRuns(sink: ByteSink, runs: readonly EntryRun[], bitWidth: number): void {
  reserve(sink, runs.length * RUN_BYTES);
  for (const { entry, rows } of runs) {
    putVarint(sink, rows * 2);
    for (let bits = 0; bits < bitWidth; bits += 8) sink.bytes[sink.at++] = (entry >> bits) & 255;
  }
}

function putPage(sink: ByteSink, runs: readonly EntryRun[], required: boolean, bitWidth: number): void {
  const isSet = runs.map(({ entry, rows }) => ({ entry: entry < 0 ? 0 : 1, rows }));
  if (!required) putSized(sink, () => putRuns(sink, isSet, 1));
  putBytes(sink, Uint8Array.of(bitWidth));
  putRuns(
    sink,
    runs.filter(({ entry }) => entry >= 0),
    bitWidth,
  );
}

const rowsOf = (runs: readonly { rows: number }[]): number => runs.reduce((sum, { rows }) => sum + rows, 0);

function* pagesOf(runs: readonly EntryRun[]): Generator<EntryRun[]> {
  let page: EntryRun[] = [];
  let room = PAGE_ROWS;
  for (const { entry, rows } of runs) {
    for (let left = rows; left > 0; ) {
      const taken = Math.min(left, room);
      page.push({ entry, rows: taken });
      left -= taken;
      room -= taken;
      if (room > 0) continue;
      yield page;
      page = [];
      room = PAGE_ROWS;
    }
  }
  if (page.length > 0) yield page;
}

/** Write the chunk from its runs, in the order of the rows. A column with statistics has no nulls, and its texts ascend. */
export function appendSeriesChunk(file: ByteSink, column: Column, runs: readonly TextRun[]): PlacedChunk {
  const isAscending = column.statistics === 'page';
  const { texts, entryRuns } = entriesOf(runs, isAscending);
  const bitWidth = texts.length < 2 ? 1 : 32 - Math.clz32(texts.length - 1);
  const plain = createByteSink();
  for (const text of texts) putText(plain, text);
  const pages: PageBody[] = [];
  const sink = createByteSink();
  let row = 0;
  for (const page of pagesOf(entryRuns)) {
    const from = sink.at;
    putPage(sink, page, column.required, bitWidth);
    const rows = rowsOf(page);
    const nulls = rowsOf(page.filter(({ entry }) => entry < 0));
    const [min, max] = [texts[page[0]!.entry], texts[page.at(-1)!.entry]];
    pages.push({ row, rows, nulls, bytes: sink.bytes.subarray(from, sink.at), min, max });
    row += rows;
  }
  const [min_value, max_value] = [pages[0]!.min, pages.at(-1)!.max];
  return appendChunk(file, {
    column: chunkColumn(column),
    encoding: 'RLE_DICTIONARY',
    dictionary: { entries: texts.length, plain: plain.bytes.subarray(0, plain.at) },
    pages,
    bounds: isAscending ? { min_value: min_value!, max_value: max_value! } : undefined,
    ascending: isAscending,
  });
}
