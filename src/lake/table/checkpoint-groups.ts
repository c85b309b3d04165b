/**
 * The row groups of a checkpoint. Files have groups of their own: of all other columns these have nothing but nulls, which
 * are encoded once and copied into each group: there are more of them than of a file's own.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import type { ColumnChunk } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Action, AddFile } from './actions.ts';
import { wireForm } from './actions.ts';
import { ACTION_KINDS, CHECKPOINT_SCHEMA } from './checkpoint-schema.ts';
import type { UploadWriter } from './checkpoint-upload.ts';

/** Files of a row group: some 10 MB and a tenth of a second while they are encoded. */
export const ROW_GROUP_FILES = 5_000;

const FORMAT = {
  schema: CHECKPOINT_SCHEMA,
  codec: 'ZSTD',
  compressors: { ZSTD: (bytes: Uint8Array) => zstdCompressSync(bytes) },
  // Their null counts say which row groups hold which actions.
  statistics: true,
  createdBy: 'vessel-export',
} as const;

/** They stand in the order of the schema: readers take the first one's place for that of the row group. */
const KINDS_BEFORE_ADD = ACTION_KINDS.slice(0, ACTION_KINDS.indexOf('add'));
const KINDS_AFTER_ADD = ACTION_KINDS.slice(ACTION_KINDS.indexOf('add') + 1);

export interface GroupWriter {
  /** Actions other than `add`, in groups of their own. */
  writeActions(actions: readonly Action[]): Promise<void>;
  /** At most ROW_GROUP_FILES, as one group; others have their turn before and after. */
  writeFiles(files: readonly AddFile[]): Promise<void>;
  /** The footer. */
  finish(): void;
}

export function createGroupWriter(writer: UploadWriter): GroupWriter {
  const parquet = new ParquetWriter({ ...FORMAT, writer });
  let nulls: { readonly rows: number; readonly before: NullColumns; readonly after: NullColumns } | undefined;

  async function writeFiles(files: readonly AddFile[]): Promise<void> {
    const rows = files.length;
    if (nulls?.rows !== rows)
      nulls = {
        rows,
        before: encodeNulls(KINDS_BEFORE_ADD, rows),
        after: encodeNulls(KINDS_AFTER_ADD, rows),
      };
    // In a checkpoint nothing changes.
    const data = files.map((file) => parquetForm({ add: { ...file, dataChange: false } }).add);
    const before = copyNulls(writer, nulls.before);
    // Nobody looks for a file by the bounds of a row group, and they cost time.
    const add = { name: 'add', data, offsetIndex: false, statistics: false };
    await parquet.write({ columnData: [add], rowGroupSize: rows });
    const group = parquet.row_groups.at(-1)!;
    group.columns = [...before, ...group.columns, ...copyNulls(writer, nulls.after)];
    const sumOf = (key: 'total_uncompressed_size' | 'total_compressed_size') =>
      group.columns.reduce((sum, { meta_data: meta }) => sum + meta![key], 0n);
    group.total_byte_size = sumOf('total_uncompressed_size');
    group.total_compressed_size = sumOf('total_compressed_size');
  }

  return {
    async writeActions(actions) {
      for (let from = 0; from < actions.length; from += ROW_GROUP_FILES) {
        const rows = actions.slice(from, from + ROW_GROUP_FILES).map(parquetForm);
        const columnData = ACTION_KINDS.map((name) => ({
          name,
          data: rows.map((row) => row[name]),
          offsetIndex: false,
        }));
        await parquet.write({ columnData, rowGroupSize: rows.length });
        await nextTurn();
      }
    },
    async writeFiles(files) {
      await nextTurn();
      await writeFiles(files);
      await nextTurn();
    },
    finish: () => void parquet.finish(),
  };
}

/** Columns without a value, as they stand in a file. */
interface NullColumns {
  readonly bytes: Uint8Array;
  /** Their offsets count from the beginning of `bytes`. */
  readonly chunks: readonly ColumnChunk[];
}

function encodeNulls(names: readonly string[], rows: number): NullColumns {
  const writer = new ByteWriter();
  const parquet = new ParquetWriter({ ...FORMAT, writer });
  const begin = writer.offset;
  const data = new Array<null>(rows).fill(null);
  parquet.write({
    columnData: names.map((name) => ({ name, data, offsetIndex: false })),
    rowGroupSize: rows,
  });
  const chunks = parquet.row_groups[0]!.columns.map((chunk) => movedBy(chunk, -begin));
  return { bytes: writer.getBytes().slice(begin), chunks };
}

function copyNulls(writer: UploadWriter, { bytes, chunks }: NullColumns): ColumnChunk[] {
  const moved = chunks.map((chunk) => movedBy(chunk, writer.offset));
  writer.appendBytes(bytes);
  return moved;
}

/** Without values there is no dictionary either, whose offset would have to move too. */
function movedBy(chunk: ColumnChunk, by: number): ColumnChunk {
  const { meta_data: meta, file_offset: offset } = chunk;
  return {
    ...chunk,
    file_offset: offset + BigInt(by),
    meta_data: { ...meta!, data_page_offset: meta!.data_page_offset + BigInt(by) },
  };
}

const INT64_FIELDS = [
  ...['size', 'modificationTime', 'deletionTimestamp', 'createdTime', 'version', 'lastUpdated'],
];

/** An action as a row: the protocol's own words, with 64-bit integers. */
function parquetForm(action: Action): Record<string, unknown> {
  const row = wireForm(action) as Record<string, Record<string, unknown>>;
  for (const fields of Object.values(row))
    for (const name of INT64_FIELDS)
      if (fields[name] !== undefined) fields[name] = BigInt(fields[name] as number);
  return row;
}
