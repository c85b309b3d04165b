/** A reader of its own: what somebody sees who knows Parquet and the protocol of Delta, and nothing of this project's code. */
import { hash } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';

/** Readings of an object as `<micros>\t<series>\t<value>`, sorted, and a digest of them. */
export interface Content {
  readonly lines: readonly string[];
  readonly digest: string;
}

interface Row {
  readonly timestamp: bigint | Date;
  readonly time_series_id: string;
  readonly long_value?: bigint | null;
  readonly double_value?: number | null;
}

export function contentOf(lines: readonly string[]): Content {
  return { lines, digest: hash('sha256', lines.join('\n')) };
}

export const NOTHING = contentOf([]);

const read = new Map<string, Promise<Content>>();

/** Throws where it is no Parquet. */
export function readObject(bytes: Uint8Array): Promise<Content> {
  const key = hash('sha256', bytes);
  let content = read.get(key);
  if (content === undefined) {
    content = readRows(bytes);
    if (read.size > 20_000) read.clear();
    read.set(key, content);
  }
  return content;
}

export async function readParquet<Row>(bytes: Uint8Array): Promise<Row[]> {
  const file = Uint8Array.from(bytes).buffer;
  const compressors = { ZSTD: (input: Uint8Array) => zstdDecompressSync(input) };
  const parsers = { timestampFromMicroseconds: (micros: bigint) => micros } as never;
  return (await parquetReadObjects({ file, compressors, parsers })) as unknown as Row[];
}

async function readRows(bytes: Uint8Array): Promise<Content> {
  const rows = await readParquet<Row>(bytes);
  const lines = rows.map(
    ({ timestamp, time_series_id, long_value, double_value }) =>
      `${timestamp}\t${time_series_id}\t${long_value ?? double_value}`,
  );
  return contentOf(lines.sort());
}

/** One line of an entry of a log. */
interface Action {
  readonly add?: { readonly path: string; readonly size: number; readonly partitionValues: Partition };
  readonly remove?: { readonly path: string };
}
interface Partition {
  readonly vessel: string;
  readonly date: string;
}

export interface TableFile extends Partition {
  readonly path: string;
  readonly sizeBytes: number;
}

/** A log as entry after entry is read: what is in the table at its newest version. */
export class TableReader {
  version = -1;
  readonly files = new Map<string, TableFile>();
  /** When a file has left the table. */
  readonly leftMs = new Map<string, number>();
  /** Paths that each version has, of those that were asked about. */
  readonly addedIn = new Map<string, number>();

  /** The vessel-days that it changes. Throws where the entry cannot follow. */
  take(version: number, text: string, atMs: number): ReadonlySet<string> {
    if (version !== this.version + 1) throw new Error(`version ${version} comes after ${this.version}`);
    this.version = version;
    const changed = new Set<string>();
    const actions = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Action);
    for (const { remove } of actions) {
      if (remove === undefined) continue;
      const file = this.files.get(remove.path);
      if (file === undefined)
        throw new Error(`version ${version} removes ${remove.path}, which is not there`);
      this.files.delete(remove.path);
      this.leftMs.set(remove.path, atMs);
      changed.add(`${file.vessel} ${file.date}`);
    }
    for (const { add } of actions) {
      if (add === undefined) continue;
      const { path, size: sizeBytes, partitionValues } = add;
      if (this.files.has(path)) throw new Error(`version ${version} adds ${path}, which is there`);
      const { vessel, date } = partitionValues;
      const other = [...this.files.values()].find((one) => one.vessel === vessel && one.date === date);
      if (other)
        throw new Error(`version ${version} adds ${path} beside ${other.path}: the day is there twice`);
      this.files.set(path, { path, sizeBytes, vessel, date });
      this.addedIn.set(path, version);
      changed.add(`${vessel} ${date}`);
    }
    return changed;
  }

  fileOf(day: string): TableFile | undefined {
    return [...this.files.values()].find(({ vessel, date }) => `${vessel} ${date}` === day);
  }
}
