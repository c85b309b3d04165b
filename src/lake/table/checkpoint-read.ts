/**
 * Reading a checkpoint, a row group at a time, and of each only the columns that say something: of a file in the table that
 * is its path and size, for its path names its partition, and its statistics are many times as large.
 */
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { AsyncBuffer, FileMetaData, RowGroup, SchemaElement } from 'hyparquet';
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { messageOf, VesselExportError } from '../../core/errors.ts';
import type { Action } from './actions.ts';
import { checkpointKeys } from './log-keys.ts';
import { damagedLog, parseAction } from './parse-actions.ts';
import type { FoundCheckpoint, TableReadPorts } from './table-log.ts';
import { partitionOfPath } from './table-state.ts';

/** A larger footer takes a request more. */
const FOOTER_BYTES = 64 << 10;
/** What is read: the kinds of actions that a table is made of. */
const KINDS = ['protocol', 'metaData', 'txn', 'remove', 'add'];
/** What other writers put there besides is not read, and may be of any type. */
const READ = new Set([
  ...['path', 'partitionValues', 'size', 'modificationTime', 'stats', 'tags', 'deletionVector'].map(
    (name) => `add.${name}`,
  ),
  ...['path', 'deletionTimestamp', 'partitionValues', 'size'].map((name) => `remove.${name}`),
]);
const PARTITIONS = 'add.partitionValues';
const STATISTICS = ['add.stats', 'add.modificationTime', 'add.tags'];

/** Its actions, a row group at a time; files without statistics and time unless asked for. Throws DataError `damaged-log`. */
export async function* readCheckpoint(
  ports: TableReadPorts,
  { version, parts }: FoundCheckpoint,
  withStatistics: boolean,
): AsyncGenerator<Action[]> {
  for (const key of checkpointKeys(ports.prefix, version, parts)) yield* readPart(ports, key, withStatistics);
}

async function* readPart(
  { store }: TableReadPorts,
  key: string,
  withStatistics: boolean,
): AsyncGenerator<Action[]> {
  const found = await store.head(key);
  if (found === undefined) throw damagedLog(key, 'no file', 'a checkpoint');
  const { sizeBytes } = found;
  const file: AsyncBuffer = {
    byteLength: sizeBytes,
    async slice(from, to = sizeBytes) {
      const bytes = await store.getRange(key, from, to);
      if (bytes?.length !== to - from) throw damagedLog(key, 'a file that is being replaced', 'a checkpoint');
      return Uint8Array.from(bytes).buffer;
    },
  };
  const metadata = await onParquet(key, () => parquetMetadataAsync(file, { initialFetchSize: FOOTER_BYTES }));
  const unread = withStatistics ? [] : STATISTICS;
  for (const [index, group] of metadata.row_groups.entries())
    yield* readGroup(file, metadata, group, unread, `${key}: row group ${index}`);
}

async function* readGroup(
  file: AsyncBuffer,
  metadata: FileMetaData,
  group: RowGroup,
  unread: readonly string[],
  where: string,
): AsyncGenerator<Action[]> {
  const kinds = KINDS.filter((kind) => holds(group, kind));
  if (kinds.length === 0) return;
  const read = (without: readonly string[]) =>
    onParquet(where, () => readRows(file, only(metadata, group, without), kinds));
  let rows = await read([...unread, PARTITIONS]);
  // Another writer may have given its files names of their own.
  if (rows.some(({ add }) => add?.path && partitionOfPath(String(add.path)) === undefined))
    rows = await read(unread);
  const actions: Action[] = [];
  for (const row of rows) {
    const { add } = row;
    if (add && add.partitionValues === undefined) add.partitionValues = partitionOfPath(String(add.path));
    if (add && add.modificationTime === undefined) add.modificationTime = 0;
    const action = parseAction(withNumbers(row), where);
    if (action !== undefined) actions.push(action);
  }
  yield actions;
}

type Row = Record<string, Record<string, unknown> | null | undefined>;

async function readRows(file: AsyncBuffer, metadata: FileMetaData, columns: string[]): Promise<Row[]> {
  return await parquetReadObjects({
    file,
    metadata,
    columns,
    // Other writers compress otherwise than we do.
    compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes), GZIP: (bytes) => gunzipSync(bytes) },
  });
}

/** May a row group hold actions of a kind? It does not where all of its columns count nothing but nulls. */
function holds({ columns }: RowGroup, kind: string): boolean {
  return columns.some(({ meta_data: meta }) => {
    if (meta === undefined || meta.path_in_schema[0] !== kind) return false;
    const nulls = meta.statistics?.null_count;
    return nulls === undefined || nulls < meta.num_values;
  });
}

/** The metadata of one row group, as though the file had no other and not these columns. */
function only(metadata: FileMetaData, group: RowGroup, without: readonly string[]): FileMetaData {
  const isLeftOut = (path: readonly string[]) => {
    const name = path.slice(0, 2).join('.');
    return without.includes(name) || (/^(add|remove)[.]/.test(name) && !READ.has(name));
  };
  const columns = group.columns.filter(({ meta_data: meta }) => !isLeftOut(meta?.path_in_schema ?? []));
  let at = 0;
  function branch(parents: readonly string[]): SchemaElement[] {
    const element = metadata.schema[at++]!;
    const path = at === 1 ? [] : [...parents, element.name];
    if (element.num_children === undefined) return isLeftOut(path) ? [] : [element];
    const children = Array.from({ length: element.num_children }, () => branch(path)).filter(
      ({ length }) => length > 0,
    );
    return isLeftOut(path) ? [] : [{ ...element, num_children: children.length }, ...children.flat()];
  }
  return { ...metadata, num_rows: group.num_rows, schema: branch([]), row_groups: [{ ...group, columns }] };
}

async function onParquet<T>(where: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    // The store's own errors say better what to do.
    if (error instanceof VesselExportError) throw error;
    throw damagedLog(where, `no readable Parquet (${messageOf(error)})`, 'a checkpoint');
  }
}

/** 64-bit integers as numbers, in place; those that do not fit are found when the action is parsed. */
function withNumbers(row: Row): Row {
  for (const kind of KINDS) {
    const fields = row[kind];
    if (!fields) continue;
    for (const name in fields) if (typeof fields[name] === 'bigint') fields[name] = Number(fields[name]);
  }
  return row;
}
