/**
 * Small vessel-days of a lake, read whole and at once: a file that is replaced meanwhile is seen as it was or as it is.
 * Ten times as fast as a query of DuckDB for a few thousand readings, and a wait for everybody else for many.
 */
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { zstdDecompressSync } from 'node:zlib';
import { parquetMetadata, parquetScan } from 'hyparquet';
import type { Micros, TimeRange } from '../../core/model/index.ts';
import type { Work } from '../turns.ts';
import { STEPS_PER_LOOK } from '../turns.ts';
import type { BatchBuilder } from './batch-builder.ts';
import { orderZeros } from './batch-builder.ts';
import type { LakeFile } from './lake-files.ts';
import { areSmallPages, lettersOf } from './small-pages.ts';
import type { SeriesRecord } from './source.ts';

/** Files of one day, of several vessels or jobs. */
const MAX_FILES = 4;
const MAX_FILE_BYTES = 512 * 1024;
/** Of all columns of a file, uncompressed. */
const MAX_COLUMN_BYTES = 8 * 1024 * 1024;
/** Of all files: a turn's work. A power of two, by which rows are told apart in what they are sorted by. */
const MAX_ROWS = 8_192;
/** No link that leads elsewhere, and no pipe that waits for somebody. */
const READ_AT_ONCE = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** Columns of one file, a value a row; null where a column has none. */
interface SmallFile {
  readonly vessel: string;
  readonly rows: number;
  readonly micros: ArrayLike<unknown>;
  readonly ids: ArrayLike<unknown>;
  /** Undefined where only times were asked for. */
  readonly values: Values | undefined;
}

interface Values {
  readonly longs: ArrayLike<unknown>;
  readonly doubles: ArrayLike<unknown>;
  readonly texts: ArrayLike<unknown>;
}

/** The files of one day, ordered by job. */
type SmallDay = readonly SmallFile[];

/** Position of each series among those of an answer, by its id. */
export function codesOf(records: readonly SeriesRecord[]): ReadonlyMap<string, number> {
  return new Map(records.map(({ timeSeriesId }, code) => [timeSeriesId, code]));
}

/** The files, where they are few and small and written as the lake's format says; undefined otherwise. */
export async function readSmallDay(
  files: readonly LakeFile[],
  withValues: boolean,
): Promise<SmallDay | undefined> {
  if (files.length > MAX_FILES) return undefined;
  const read: SmallFile[] = [];
  let rows = 0;
  for (const file of files) {
    // What cannot be read here is left to DuckDB, which reads more and says better what is wrong.
    const small = await readFile(file, withValues).catch(() => undefined);
    rows += small?.rows ?? 0;
    if (small === undefined || rows > MAX_ROWS) return undefined;
    read.push(small);
  }
  return read;
}

async function readFile({ vessel, path }: LakeFile, withValues: boolean): Promise<SmallFile | undefined> {
  const bytes = await readBytes(path);
  if (bytes === undefined) return undefined;
  const metadata = parquetMetadata(bytes, { geoparquet: false });
  const rows = Number(metadata.num_rows);
  const groupBytes = metadata.row_groups.reduce((sum, group) => sum + Number(group.total_byte_size), 0);
  if (rows > MAX_ROWS || groupBytes > MAX_COLUMN_BYTES) return undefined;
  if (!areSmallPages(bytes, metadata, { rows: MAX_ROWS, bytes: MAX_COLUMN_BYTES })) return undefined;
  const types = new Map(
    metadata.schema.map(({ name, type, converted_type }) => [name, { type, converted_type }]),
  );
  const isMicros = types.get('timestamp')?.converted_type === 'TIMESTAMP_MICROS';
  if (!isMicros || types.get('long_value')?.type !== 'INT64' || types.get('double_value')?.type !== 'DOUBLE')
    return undefined;
  const scan = await parquetScan({
    file: bytes,
    metadata,
    columns: [
      'timestamp',
      'time_series_id',
      ...(withValues ? ['long_value', 'double_value', 'json_value'] : []),
    ],
    useOffsetIndex: false,
    compressors: {
      ZSTD: (input) => zstdDecompressSync(input, { maxOutputLength: MAX_COLUMN_BYTES }),
    },
    parsers: { timestampFromMicroseconds: (micros) => Number(micros) },
  });
  const column = async (name: string) => {
    const values = await scan.readColumn({ column: name, rowStart: 0, rowEnd: rows });
    if (values.length !== rows) throw new Error(`got ${values.length} rows of '${name}', expected ${rows}`);
    return values;
  };
  const [micros, ids] = [await column('timestamp'), await column('time_series_id')];
  const values = withValues
    ? {
        longs: await column('long_value'),
        doubles: await column('double_value'),
        texts: await column('json_value'),
      }
    : undefined;
  // One text of a dictionary may be that of every row.
  if (values !== undefined && lettersOf(values.texts) > MAX_COLUMN_BYTES) return undefined;
  return { vessel, rows, micros, ids, values };
}

/** All of a small file, by one handle; undefined where it is larger. */
async function readBytes(path: string): Promise<ArrayBuffer | undefined> {
  const file: FileHandle = await open(path, READ_AT_ONCE);
  try {
    const info = await file.stat();
    const { size } = info;
    if (!info.isFile() || size > MAX_FILE_BYTES) return undefined;
    const bytes = new Uint8Array(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return bytesRead === size ? bytes.buffer : undefined;
  } finally {
    await file.close();
  }
}

/** A reading that is answered: its place in the files. */
interface Found {
  readonly micros: Micros;
  readonly code: number;
  readonly values: Values | undefined;
  readonly row: number;
}

/** Add the readings of the series of `codes` in a range of at most a day, in the service's order. */
export async function appendSmallDay(
  builder: BatchBuilder,
  day: SmallDay,
  codes: ReadonlyMap<string, number>,
  range: TimeRange,
  work: Work,
): Promise<void> {
  if (work.isDue()) await work.pause();
  const found = findReadings(day, codes, range);
  if (work.isDue()) await work.pause();
  sortReadings(found, range.fromMicros);
  for (const [step, reading] of found.entries()) {
    if (step % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
    append(builder, reading);
  }
  orderZeros(builder.batch);
}

function findReadings(
  day: SmallDay,
  codes: ReadonlyMap<string, number>,
  { fromMicros, toMicros }: TimeRange,
): Found[] {
  const found: Found[] = [];
  for (const file of day) {
    const known = idsOfEarlierJobs(day, file);
    const { rows, ids, values } = file;
    let [id, code]: [unknown, number | undefined] = [undefined, undefined];
    for (let row = 0; row < rows; row++) {
      const micros = file.micros[row] as number;
      if (!(micros >= fromMicros && micros < toMicros)) continue;
      if (ids[row] !== id) {
        id = ids[row];
        code = known.has(id) ? undefined : codes.get(id as string);
      }
      if (code !== undefined) found.push({ micros, code, values, row });
    }
  }
  return found;
}

/** A job later by name adds only the series that earlier jobs lack on that vessel-day. */
function idsOfEarlierJobs(day: SmallDay, file: SmallFile): ReadonlySet<unknown> {
  const known = new Set<unknown>();
  for (const earlier of day) {
    if (earlier === file) return known;
    if (earlier.vessel === file.vessel)
      for (let row = 0; row < earlier.rows; row++) known.add(earlier.ids[row]);
  }
  return known;
}

/** By time; then those of one instant, which are few, by series and value. */
function sortReadings(found: Found[], fromMicros: Micros): void {
  // An instant of a day and a row's number together fit a double: numbers are sorted without calling back.
  const keys = Float64Array.from(found, ({ micros }, at) => (micros - fromMicros) * MAX_ROWS + at);
  keys.sort();
  const sorted = Array.from(keys, (key) => found[key % MAX_ROWS]!);
  for (let at = 0; at < sorted.length; ) {
    let end = at + 1;
    while (end < sorted.length && sorted[end]!.micros === sorted[at]!.micros) end++;
    const ofInstant = end - at > 1 ? sorted.slice(at, end).sort(compareAtInstant) : sorted.slice(at, end);
    for (const reading of ofInstant) found[at++] = reading;
  }
}

/** As DuckDB sorts: by long, double and text, each with those that have none at its end, and NaN behind all numbers. */
function compareAtInstant(a: Found, b: Found): number {
  if (a.code !== b.code || a.values === undefined) return a.code - b.code;
  const byNumber = (one: number, other: number) =>
    one < other ? -1 : one > other ? 1 : Number(Number.isNaN(one)) - Number(Number.isNaN(other));
  // By bytes, as there: not by the units of UTF-16.
  const byBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));
  return (
    compare(longOf(a), longOf(b)) ||
    compare(doubleOf(a), doubleOf(b), byNumber) ||
    compare(textOf(a), textOf(b), byBytes)
  );
}

function compare<T>(
  a: T | null,
  b: T | null,
  order: (one: T, other: T) => number = (one, other) => (one < other ? -1 : 1),
): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return order(a, b);
}

function append(builder: BatchBuilder, reading: Found): void {
  const { micros, code, values } = reading;
  const [double, long] = [doubleOf(reading), longOf(reading)];
  if (values === undefined) builder.appendTime(micros, code);
  else if (double !== null) builder.appendDouble(micros, code, double);
  else if (long !== null) builder.appendLong(micros, code, long);
  else builder.appendJson(micros, code, textOf(reading) ?? 'null');
}

function longOf({ values, row }: Found): bigint | null {
  return (values?.longs[row] as bigint | null | undefined) ?? null;
}

function doubleOf({ values, row }: Found): number | null {
  return (values?.doubles[row] as number | null | undefined) ?? null;
}

function textOf({ values, row }: Found): string | null {
  return (values?.texts[row] as string | null | undefined) ?? null;
}
