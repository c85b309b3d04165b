// From the modules themselves: the package's index loads twice as much, 7 MB of memory and 60 ms for nothing.
import {
  BufferRegion,
  DictionaryBatch,
  FieldNode,
  Message,
  RecordBatch,
} from 'apache-arrow/ipc/metadata/message';
import { Field, Schema } from 'apache-arrow/schema';
import { Dictionary, Float64, Int32, Int64, TimestampMicrosecond, Utf8 } from 'apache-arrow/type';
import type { Column } from './columns.ts';

/**
 * One record batch as an Arrow IPC stream, laid out before its values are known, so that sorting writes them
 * straight to their place: apache-arrow's own writer wants finished vectors and copies them, and it joins two
 * columns that share one index buffer into one (its reader then finds the stream too short).
 */

/** Texts one after the other: entry `n` is `bytes[ends[n-1] ?? 0, ends[n])`. */
export interface TextList {
  readonly bytes: Uint8Array;
  readonly ends: Int32Array;
}

/** A column before it is laid out. */
interface ColumnLayout {
  readonly column: Column;
  readonly nullCount: number;
  /** Text: bytes of all values together. */
  readonly textBytes?: number;
  /** Series: the texts that the row's index selects. */
  readonly dictionary?: TextList;
}

/** Where a column's values go. */
export interface ColumnBuffers {
  /** One bit a row, 1 = set, all 0 at first; empty for a required column. */
  readonly validity: Uint8Array;
  /**
   * timestamp, long, double: two little-endian words a row. series: one index a row, the same array for every
   * such column. text: `rows + 1` offsets.
   */
  readonly cells: Int32Array;
  /** Text only. */
  readonly text: Uint8Array;
}

interface ArrowStream {
  readonly columns: readonly ColumnBuffers[];
  /** The whole stream; complete once the columns are filled. */
  readonly bytes: Uint8Array;
}

/** Memory for one stream at a time, used again for the next. It only grows, to the largest stream seen. */
export interface Arena {
  buffer: ArrayBuffer;
  /** Of the rows being sorted; beside the stream, which does not hold them. */
  ranks: Int32Array;
}

export function createArena(): Arena {
  return { buffer: new ArrayBuffer(0), ranks: new Int32Array(0) };
}

/** Room for a rank of each row, holding whatever was there; good until it is asked for again. */
export function rankScratch(arena: Arena, rows: number): Int32Array {
  if (arena.ranks.length < rows) arena.ranks = new Int32Array(rows);
  return arena.ranks.subarray(0, rows);
}

const ARENA_STEP_BYTES = 1 << 20;
/** Continuation marker and a length of zero. */
const END_OF_STREAM = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);
const EMPTY = new Uint8Array(0);

const padded = (byteLength: number): number => (byteLength + 7) & ~7;

function arrowField(column: Column, dictionaryId: number): Field {
  const nullable = !column.required;
  switch (column.type) {
    case 'timestamp':
      return new Field(column.name, new TimestampMicrosecond('UTC'), nullable);
    case 'long':
      return new Field(column.name, new Int64(), nullable);
    case 'double':
      return new Field(column.name, new Float64(), nullable);
    case 'text':
      return new Field(column.name, new Utf8(), nullable);
    case 'series':
      return new Field(column.name, new Dictionary(new Utf8(), new Int32(), dictionaryId, false), nullable);
  }
}

/** Continuation marker, length, flatbuffer and padding of one message. */
function framed(message: Message): Uint8Array {
  const flatbuffer = Message.encode(message);
  const bytes = new Uint8Array(padded(8 + flatbuffer.length));
  const view = new DataView(bytes.buffer);
  view.setInt32(0, -1, true);
  view.setInt32(4, bytes.length - 8, true);
  bytes.set(flatbuffer, 8);
  return bytes;
}

function dictionaryMessage(dictionaryId: number, texts: TextList): Uint8Array {
  const count = texts.ends.length;
  const offsetBytes = (count + 1) * 4;
  const regions = [
    new BufferRegion(0, 0),
    new BufferRegion(0, offsetBytes),
    new BufferRegion(padded(offsetBytes), texts.bytes.length),
  ];
  const batch = new RecordBatch(count, [new FieldNode(count, 0)], regions, null);
  const bodyBytes = padded(offsetBytes) + padded(texts.bytes.length);
  const head = framed(Message.from(new DictionaryBatch(batch, dictionaryId), bodyBytes));
  const bytes = new Uint8Array(head.length + bodyBytes);
  bytes.set(head);
  new Int32Array(bytes.buffer, head.length + 4, count).set(texts.ends);
  bytes.set(texts.bytes, head.length + padded(offsetBytes));
  return bytes;
}

/** Byte positions of a record batch's regions within its body. */
function layOutBody(layouts: readonly ColumnLayout[], rows: number) {
  const regions: BufferRegion[] = [];
  let bodyBytes = 0;
  const place = (byteLength: number): BufferRegion => {
    const region = new BufferRegion(bodyBytes, byteLength);
    bodyBytes += padded(byteLength);
    return region;
  };
  let index: BufferRegion | undefined;
  const places = layouts.map(({ column, textBytes = 0 }) => {
    const validity = place(column.required ? 0 : (rows + 7) >> 3);
    let cells: BufferRegion;
    if (column.type === 'series') {
      index ??= place(rows * 4);
      cells = index;
    } else cells = place(column.type === 'text' ? (rows + 1) * 4 : rows * 8);
    const text = column.type === 'text' ? place(textBytes) : undefined;
    regions.push(validity, cells);
    if (text !== undefined) regions.push(text);
    return { validity, cells, text };
  });
  return { regions, places, bodyBytes };
}

/**
 * Lay out a stream of one record batch with `rows` rows in the arena. Everything but the columns' values is
 * written; validity bits are 0, other values are whatever the arena held before. The stream is good until the
 * arena is used again.
 */
export function openArrowStream(arena: Arena, layouts: readonly ColumnLayout[], rows: number): ArrowStream {
  const schema = new Schema(layouts.map(({ column }, index) => arrowField(column, index)));
  const { regions, places, bodyBytes } = layOutBody(layouts, rows);
  const nodes = layouts.map(({ nullCount }) => new FieldNode(rows, nullCount));
  const heads = [framed(Message.from(schema))];
  for (const [index, { dictionary }] of layouts.entries())
    if (dictionary !== undefined) heads.push(dictionaryMessage(index, dictionary));
  heads.push(framed(Message.from(new RecordBatch(rows, nodes, regions, null), bodyBytes)));

  const bodyFrom = heads.reduce((sum, head) => sum + head.length, 0);
  const streamBytes = bodyFrom + bodyBytes + END_OF_STREAM.length;
  if (arena.buffer.byteLength < streamBytes)
    arena.buffer = new ArrayBuffer(Math.ceil(streamBytes / ARENA_STEP_BYTES) * ARENA_STEP_BYTES);
  const { buffer } = arena;
  const bytes = new Uint8Array(buffer, 0, streamBytes);
  let at = 0;
  for (const head of heads) {
    bytes.set(head, at);
    at += head.length;
  }
  bytes.set(END_OF_STREAM, bodyFrom + bodyBytes);

  const columns = places.map(({ validity, cells, text }) => ({
    validity: new Uint8Array(buffer, bodyFrom + validity.offset, validity.length).fill(0),
    cells: new Int32Array(buffer, bodyFrom + cells.offset, cells.length / 4),
    text: text === undefined ? EMPTY : new Uint8Array(buffer, bodyFrom + text.offset, text.length),
  }));
  return { columns, bytes };
}
