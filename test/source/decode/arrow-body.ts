/** Bodies as arrow-rs lays them out, by column encodings and writer version. */
import { Float64, Int64, Table, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow';
import * as parquetWasm from 'parquet-wasm';

export interface ArrowRow {
  readonly millis: bigint;
  readonly id: string;
  readonly value: bigint | number | string;
}

interface ArrowLayout {
  readonly isVersion2?: boolean;
  readonly compression?: keyof typeof parquetWasm.Compression;
  /** Encodings by column; without them all have dictionaries. */
  readonly encodings?: Readonly<Record<string, keyof typeof parquetWasm.Encoding>>;
  readonly pageBytes?: number;
}

/** A body of the contract's columns. */
export function arrowBody(rows: readonly ArrowRow[], layout: ArrowLayout = {}): Uint8Array {
  const { isVersion2 = false, compression = 'SNAPPY', encodings, pageBytes = 1 << 20 } = layout;
  const cells = <T>(type: string) => rows.map(({ value }) => (typeof value === type ? (value as T) : null));
  const table = new Table({
    timestamp: vectorFromArray(
      rows.map(({ millis }) => millis),
      new Int64(),
    ),
    id: vectorFromArray(
      rows.map(({ id }) => id),
      new Utf8(),
    ),
    long_value: vectorFromArray(cells<bigint>('bigint'), new Int64()),
    double_value: vectorFromArray(cells<number>('number'), new Float64()),
    json_value: vectorFromArray(cells<string>('string'), new Utf8()),
  });
  let properties = new parquetWasm.WriterPropertiesBuilder()
    .setCompression(parquetWasm.Compression[compression])
    .setDataPageSizeLimit(pageBytes)
    .setDictionaryEnabled(encodings === undefined)
    .setWriterVersion(isVersion2 ? parquetWasm.WriterVersion.V2 : parquetWasm.WriterVersion.V1);
  for (const [column, encoding] of Object.entries(encodings ?? {}))
    properties = properties.setColumnEncoding(column, parquetWasm.Encoding[encoding]);
  const wasmTable = parquetWasm.Table.fromIPCStream(tableToIPC(table, 'stream'));
  return parquetWasm.writeParquet(wasmTable, properties.build());
}
