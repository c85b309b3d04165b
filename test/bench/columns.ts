/** What each column of Parquet files takes, as DuckDB reads their footers. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { measureScript } from './child.ts';
import { formatTable, megabytes, type Voice } from './figures.ts';
import { duckRows, quoted } from './row-check.ts';

interface ColumnBytes {
  readonly column: string;
  readonly bytes: number;
}

/** Compressed bytes by column over all files of a glob, the largest first. */
export async function bytesByColumn(glob: string): Promise<ColumnBytes[]> {
  const rows = await duckRows(`
    SELECT path_in_schema AS "column", sum(total_compressed_size)::DOUBLE AS bytes
    FROM parquet_metadata(${quoted(glob)}) GROUP BY path_in_schema ORDER BY bytes DESC, path_in_schema`);
  return rows as unknown as ColumnBytes[];
}

/** `29.10 MB: double_value 12.99, timestamp 15.34, …`: columns that take next to nothing together. */
export function describeColumns(columns: readonly ColumnBytes[]): string {
  const sum = columns.reduce((total, { bytes }) => total + bytes, 0);
  const large = columns.filter(({ bytes }) => bytes >= sum / 200);
  const rest = columns
    .filter((column) => !large.includes(column))
    .reduce((total, { bytes }) => total + bytes, 0);
  const words = large.map(({ column, bytes }) => `${column} ${megabytes(bytes).toFixed(2)}`);
  if (rest > 0) words.push(`others ${megabytes(rest).toFixed(2)}`);
  return `${megabytes(sum).toFixed(2)} MB in columns: ${words.join(', ')}`;
}

/** Make the lake of `npm start`, and print what its datasets take. */
export async function measureDemoLake(dir: string, signal: AbortSignal, voice: Voice): Promise<void> {
  const lake = join(dir, 'demo-lake');
  await mkdir(lake);
  voice.progress('exporting the lake of the demo');
  await measureScript(new URL('../../src/bin.js', import.meta.url), ['demo', '--lake', lake], {}, signal);
  const table = [['lake of the demo', '']];
  for (const job of ['measurements', 'statistics'])
    table.push([job, describeColumns(await bytesByColumn(join(lake, job, '*', '*', '*.parquet')))]);
  voice.say(`\n${formatTable(table)}`);
}
