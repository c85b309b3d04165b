/** What a lake holds, by the objects that its receipts name, as DuckDB reads them one by one; and how rows are compared. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Receipt } from '../../../src/core/model/index.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { duckRows } from '../../helpers/lake.ts';

/**
 * The cells of a row by their columns; what is null has none. A cell is a letter and digits or text: `L` a whole number,
 * `D` the 64 bits of a double, `T` microseconds since 1970, `S` a text or a date.
 */
export type Row = Readonly<Record<string, string>>;

/** All rows of a job. Throws where a receipt counts other rows than its object has. */
export async function readObjects(store: ObjectStore, job: string, dir: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const { key } of store.list(`_ledger/${job}/`)) {
    const receipt: Receipt = JSON.parse(Buffer.from((await store.get(key))!.bytes).toString());
    const { object, vessel, date } = receipt;
    if (object === null) continue;
    const path = join(dir, 'object.parquet');
    await writeFile(path, (await store.get(object.key))!.bytes);
    const found = await cellsOf(path);
    if (found.length !== receipt.rows)
      throw new Error(`${object.key}: ${found.length} rows, receipt ${receipt.rows}`);
    rows.push(...found.map((row) => ({ vessel: `S${vessel}`, date: `S${date}`, ...row })));
  }
  return rows;
}

const TEXTS: Readonly<Record<string, (column: string) => string>> = {
  BIGINT: (column) => `'L' || ${column}`,
  // The bits of a double by its bytes: DuckDB prints one NaN for all.
  DOUBLE: (column) => `'D' || ${column}`,
  'TIMESTAMP WITH TIME ZONE': (column) => `'T' || epoch_us(${column})`,
  VARCHAR: (column) => `'S' || ${column}`,
};

async function cellsOf(path: string): Promise<Row[]> {
  const from = `read_parquet('${path}', hive_partitioning = false)`;
  const columns = (await duckRows(`SELECT column_name, column_type FROM (DESCRIBE FROM ${from})`)) as [
    string,
    string,
  ][];
  const isDouble = columns.map(([, type]) => type === 'DOUBLE');
  const cells = columns.map(([name, type]) => (type === 'DOUBLE' ? `"${name}"` : TEXTS[type]!(`"${name}"`)));
  const rows = await duckRows(`SELECT ${cells.join()} FROM ${from}`);
  return rows.map((row) =>
    Object.fromEntries(
      row.flatMap((cell, n) =>
        cell === null ? [] : [[columns[n]![0], isDouble[n] ? bitsOf(cell as number) : String(cell)]],
      ),
    ),
  );
}

/** A NaN of any bits is one. */
export function bitsOf(value: number): string {
  if (Number.isNaN(value)) return 'Dnan';
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return `D${bytes.toString('hex')}`;
}

export function doubleOf(cell: string): number {
  return cell === 'Dnan' ? Number.NaN : Buffer.from(cell.slice(1), 'hex').readDoubleBE();
}
