// @ts-check
/**
 * One series out of a day's Parquet, with as few bytes as the page index allows: the footer, the pages of
 * `time_series_id` that can hold it, and of the other columns the pages of just its rows.
 */
import { decompress } from '/vendor/fzstd/esm/index.mjs';
import {
  parquetMetadataAsync,
  parquetReadObjects,
  parquetScan,
  readOffsetIndex,
} from '/vendor/hyparquet/src/index.js';

/**
 * @typedef {import('./ranged-file.js').RangedFile} RangedFile
 * @typedef {import('/vendor/hyparquet/src/index.js').FileMetaData} FileMetaData
 * @typedef {{ times: number[], values: (number | bigint | string | null)[] }} ColumnOfSeries times in microseconds, ascending
 * @typedef {{ column: string, kind: 'number' | 'time' | 'text' }} ValueColumn
 * @typedef {{ file: RangedFile, metadata: FileMetaData, columns: ValueColumn[], isMeasurements: boolean }} DayParquet
 */

const ID = 'time_series_id';
const TIME = 'timestamp';
/** What a day's first request takes: the footer and the indexes of our own files are less than a two-hundredth. */
const [MIN_TAIL_BYTES, MAX_TAIL_BYTES, TAIL_SHARE] = [4_096, 131_072, 1 / 200];
/** A page of ours is 8 MB at most: whoever wrote the file, no more memory is taken for one. */
const MAX_PAGE_BYTES = 256 << 20;
/** Readings of one curve: a hundred a second, all day. */
const MAX_ROWS = 8_640_000;

const COMPRESSORS = {
  /** @param {Uint8Array} bytes @param {number} length @returns {Uint8Array} */
  ZSTD(bytes, length) {
    if (length > MAX_PAGE_BYTES)
      throw new Error(`a page of ${length} bytes, expected at most ${MAX_PAGE_BYTES}`);
    return decompress(bytes, new Uint8Array(length));
  },
};
/** Times keep their microseconds: they are below 2^53. */
const PARSERS = { timestampFromMicroseconds: (/** @type {bigint} */ micros) => Number(micros) };
const OPTIONS = /** @type {any} */ ({ compressors: COMPRESSORS, parsers: PARSERS });

/** @param {RangedFile} file @returns {Promise<DayParquet>} Throws Error for what is no Parquet of a day. */
export async function openDayParquet(file) {
  const share = Math.ceil(file.byteLength * TAIL_SHARE);
  const initialFetchSize = Math.min(MAX_TAIL_BYTES, Math.max(MIN_TAIL_BYTES, share));
  const metadata = await parquetMetadataAsync(file, { initialFetchSize });
  const leaves = metadata.schema.slice(1);
  const names = leaves.map(({ name }) => name);
  const columns = leaves.flatMap((element) => {
    const kind = kindOf(element);
    return kind === undefined || [ID, TIME, 'id'].includes(element.name)
      ? []
      : [{ column: element.name, kind }];
  });
  const isMeasurements = ['long_value', 'double_value', 'json_value'].every((name) => names.includes(name));
  return { file, metadata, columns, isMeasurements };
}

/** @param {FileMetaData['schema'][number]} element @returns {ValueColumn['kind'] | undefined} */
function kindOf({ type, logical_type: logical, converted_type: converted }) {
  if (type === 'DOUBLE' || type === 'FLOAT') return 'number';
  if (type === 'INT64' || type === 'INT32')
    return logical?.type === 'TIMESTAMP' || converted === 'TIMESTAMP_MICROS' ? 'time' : 'number';
  return type === 'BYTE_ARRAY' ? 'text' : undefined;
}

/**
 * The readings of one series: of measurements its values, whichever column has them; of windows the column `column`.
 * @param {DayParquet} day
 * @param {string} seriesId
 * @param {string} [column]
 * @returns {Promise<ColumnOfSeries>}
 */
export async function readSeries(day, seriesId, column) {
  const values = column === undefined ? ['long_value', 'double_value', 'json_value'] : [column];
  const scan = await parquetScan({
    ...OPTIONS,
    file: day.file,
    metadata: day.metadata,
    usePageIndex: true,
    columns: [ID, TIME, ...values],
    pruningFilter: { [ID]: { $eq: seriesId } },
  });
  /** @type {ColumnOfSeries} */
  const found = { times: [], values: [] };
  for (const range of scan.ranges) {
    const ids = await scan.readColumn({ column: ID, ...range });
    // A row group is sorted by series: its rows are one after the other.
    const first = ids.indexOf(seriesId);
    if (first < 0) continue;
    const rows = { rowStart: range.rowStart + first, rowEnd: range.rowStart + ids.lastIndexOf(seriesId) + 1 };
    if (found.times.length + rows.rowEnd - rows.rowStart > MAX_ROWS)
      throw new Error(`more than ${MAX_ROWS} readings: too many for a curve; ask the object with SQL`);
    const times = await scan.readColumn({ column: TIME, ...rows });
    for (let i = 0; i < times.length; i++) found.times.push(Number(times[i]));
    for (const value of await readValues(day, scan, values, rows)) found.values.push(value);
  }
  return inOrder(found);
}

/**
 * One value a row, out of the column that has it. The one with the largest pages is read first: when it has them all, the
 * others cost nothing.
 * @param {DayParquet} day
 * @param {import('/vendor/hyparquet/src/index.js').ParquetScan} scan
 * @param {readonly string[]} columns
 * @param {{ rowStart: number, rowEnd: number }} rows
 */
async function readValues(day, scan, columns, rows) {
  const sizes = new Map();
  for (const column of columns)
    sizes.set(column, columns.length < 2 ? 0 : await pageBytes(day, column, rows));
  /** @type {(number | bigint | string | null)[]} */
  const values = new Array(rows.rowEnd - rows.rowStart).fill(null);
  let open = values.length;
  for (const column of [...columns].sort((a, b) => sizes.get(b) - sizes.get(a))) {
    if (open === 0) break;
    const cells = await scan.readColumn({ column, ...rows });
    for (let i = 0; i < values.length; i++) {
      const cell = cells[i];
      if (cell === null || cell === undefined || values[i] !== null) continue;
      values[i] = cell;
      open--;
    }
  }
  return values;
}

/** @param {DayParquet} day @param {string} column @param {{ rowStart: number, rowEnd: number }} rows */
async function pageBytes({ file, metadata }, column, { rowStart, rowEnd }) {
  let groupStart = 0;
  for (const group of metadata.row_groups) {
    const groupRows = Number(group.num_rows);
    const chunk = group.columns.find(({ meta_data: meta }) => meta?.path_in_schema[0] === column);
    if (rowStart < groupStart + groupRows && chunk !== undefined) {
      const { offset_index_offset: at, offset_index_length: length } = chunk;
      if (at === undefined || length === undefined)
        return Number(chunk.meta_data?.total_compressed_size ?? 0);
      const view = new DataView(await file.slice(Number(at), Number(at) + length));
      const pages = readOffsetIndex({ view, offset: 0 }).page_locations;
      return pages.reduce((sum, page, index) => {
        const from = groupStart + Number(page.first_row_index);
        const to = groupStart + Number(pages[index + 1]?.first_row_index ?? groupRows);
        return from < rowEnd && to > rowStart ? sum + page.compressed_page_size : sum;
      }, 0);
    }
    groupStart += groupRows;
  }
  return 0;
}

/** By time: row groups follow each other in time, unless somebody else wrote them. @param {ColumnOfSeries} found */
function inOrder({ times, values }) {
  if (times.every((time, i) => i === 0 || time >= /** @type {number} */ (times[i - 1])))
    return { times, values };
  const order = times
    .map((_, i) => i)
    .sort((a, b) => /** @type {number} */ (times[a]) - /** @type {number} */ (times[b]));
  return {
    times: order.map((i) => /** @type {number} */ (times[i])),
    values: order.map((i) => values[i] ?? null),
  };
}

/**
 * The series that an object has, read from its ids alone: for what no detail tells of.
 * @param {DayParquet} day
 * @returns {Promise<{ id: string, name: string | null, rows: number }[]>}
 */
export async function readSeriesList(day) {
  const scan = await parquetScan({ ...OPTIONS, file: day.file, metadata: day.metadata, columns: [ID, 'id'] });
  /** @type {Map<string, { id: string, name: string | null, rows: number }>} */
  const found = new Map();
  for (const range of scan.ranges) {
    const ids = await scan.readColumn({ column: ID, ...range });
    const names = await scan.readColumn({ column: 'id', ...range });
    for (let i = 0; i < ids.length; i++) {
      const known = found.get(ids[i]);
      if (known === undefined) found.set(ids[i], { id: ids[i], name: names[i] ?? null, rows: 1 });
      else known.rows++;
    }
  }
  return [...found.values()];
}

/** Every row of a small object, such as a snapshot of metadata. @param {DayParquet} day @returns {Promise<Record<string, unknown>[]>} */
export async function readAllRows({ file, metadata }) {
  return await parquetReadObjects({ ...OPTIONS, file, metadata });
}
