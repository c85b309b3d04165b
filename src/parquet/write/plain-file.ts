/** Parquet files that are none of a dataset's, of any schema. In memory are one row group, and some hundred bytes of each before. */
import type { RowGroup, SchemaElement } from 'hyparquet';
import { createByteSink } from './byte-sink.ts';
import { shiftChunk } from './column-chunk.ts';
import type { Leaf } from './leaf-column.ts';
import { LeafColumn } from './leaf-column.ts';
import { PARQUET_MAGIC, putFooter, rowGroupBytes } from './parquet-thrift.ts';

export type { SchemaElement };
export { PARQUET_MAGIC };

interface PlainFileOptions {
  readonly createdBy: string;
  /** Columns whose values repeat, by path with dots. */
  readonly dictionaries?: readonly string[];
}

export class PlainFile {
  /** The leaves of the schema, in its order. */
  readonly columns: readonly LeafColumn[];
  readonly #schema: readonly SchemaElement[];
  readonly #createdBy: string;
  readonly #groups: Uint8Array[] = [];
  #rows = 0n;
  /** Bytes of the file so far. */
  #bytes = PARQUET_MAGIC.length;

  /** The file begins with `PARQUET_MAGIC`, which is the caller's to write. */
  constructor(schema: readonly SchemaElement[], { createdBy, dictionaries = [] }: PlainFileOptions) {
    this.#schema = schema;
    this.#createdBy = createdBy;
    this.columns = leavesOf(schema).map(
      (leaf) => new LeafColumn(leaf, { dictionary: dictionaries.includes(leaf.path.join('.')) }),
    );
  }

  /** The row group of what was added since the last, column by column; `fill` is called before each by who keeps one in memory. */
  *rowGroup(fill?: (column: LeafColumn) => void): Generator<Uint8Array> {
    const at = this.#bytes;
    const chunks: RowGroup['columns'] = [];
    let [rows, uncompressed] = [-1, 0n];
    for (const column of this.columns) {
      fill?.(column);
      if (rows === -1) rows = column.rows;
      if (column.rows !== rows || rows === 0)
        throw new RangeError(`got ${column.rows} rows of ${column.leaf.path}, expected ${rows || 'some'}`);
      const sink = createByteSink();
      const { chunk } = column.appendTo(sink);
      shiftChunk(chunk, BigInt(this.#bytes));
      uncompressed += chunk.meta_data.total_uncompressed_size;
      chunks.push(chunk);
      this.#bytes += sink.at;
      yield sink.bytes.subarray(0, sink.at);
    }
    this.#rows += BigInt(rows);
    this.#groups.push(
      rowGroupBytes({
        ...{ columns: chunks, total_byte_size: uncompressed, num_rows: BigInt(rows) },
        ...{ file_offset: BigInt(at), total_compressed_size: BigInt(this.#bytes - at) },
      }),
    );
  }

  /** What follows the last row group. */
  end(keyValues: Readonly<Record<string, string>> = {}): Uint8Array {
    const sink = createByteSink();
    const pairs = Object.entries(keyValues).map(([key, value]) => ({ key, value }));
    putFooter(sink, {
      version: 1,
      schema: [...this.#schema],
      num_rows: this.#rows,
      row_groups: this.#groups,
      ...(pairs.length > 0 && { key_value_metadata: pairs }),
      created_by: this.#createdBy,
    });
    return sink.bytes.subarray(0, sink.at);
  }
}

/** A group or a column of a schema. */
export interface SchemaNode {
  readonly element: SchemaElement;
  /** Definition level of something that is there, and repetition level of an item after the first. */
  readonly definition: number;
  readonly repetition: number;
  readonly children: readonly SchemaNode[];
}

/** The schema as a tree. */
export function schemaTree(schema: readonly SchemaElement[]): SchemaNode {
  let at = 0;
  const read = (definition: number, repetition: number): SchemaNode => {
    const element = schema[at++]!;
    const { repetition_type: kind = 'REQUIRED', num_children: count = 0 } = element;
    const own = definition + (kind === 'REQUIRED' ? 0 : 1);
    const ownRepetition = repetition + (kind === 'REPEATED' ? 1 : 0);
    const children = Array.from({ length: count }, () => read(own, ownRepetition));
    return { element, definition: own, repetition: ownRepetition, children };
  };
  return read(0, 0);
}

function leavesOf(schema: readonly SchemaElement[]): Leaf[] {
  const walk = ({ element, children, ...levels }: SchemaNode, path: readonly string[]): Leaf[] =>
    element.type === undefined
      ? children.flatMap((child) => walk(child, [...path, child.element.name]))
      : [{ path, type: element.type, ...levels }];
  return walk(schemaTree(schema), []);
}
