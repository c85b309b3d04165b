/**
 * Writing checkpoints: what a table is at a version in one Parquet file, so that readers need no entry before it. In the
 * classic form that every reader knows, and a row group at a time, for there may be a million files.
 */
import { zstdCompressSync } from 'node:zlib';
import type { SchemaElement } from 'hyparquet';
import { parquetWriteRows } from 'hyparquet-writer';
import { CommitFailedError } from '../errors.ts';
import type { Action, AddFile } from './actions.ts';
import { damagedLog, wireForm } from './actions.ts';
import { createUploadWriter } from './checkpoint-upload.ts';
import { checkpointKey, lastCheckpointKey } from './log-keys.ts';
import type { TableLogPorts } from './table-log.ts';
import { readLastCheckpoint } from './table-log.ts';
import type { TableState } from './table-state.ts';

/** Files of a row group: some 10 MB while they are encoded. */
const ROW_GROUP_FILES = 5_000;

/** Whether so many versions have come since the newest checkpoint. Asked of the store at every tenth version only. */
export async function checkpointDue(
  ports: TableLogPorts,
  version: number,
  checkpointVersions: number,
): Promise<boolean> {
  const every = Math.max(1, Math.floor(checkpointVersions / 10));
  if (version < checkpointVersions || version % every !== 0) return false;
  const last = await readLastCheckpoint(ports);
  return version - (last?.version ?? 0) >= checkpointVersions;
}

/**
 * Write the checkpoint of a state whose files are `files`, then name it in `_last_checkpoint`. Two may write the same at
 * once: the first one counts, and both say the same.
 */
export async function writeCheckpoint(
  ports: TableLogPorts,
  state: TableState,
  files: AsyncIterable<AddFile>,
): Promise<void> {
  const { store, prefix } = ports;
  const key = checkpointKey(prefix, state.version);
  const counts = { size: 0, adds: 0 };
  const writer = await createUploadWriter(store, key);
  try {
    await parquetWriteRows({
      writer,
      rows: checkpointRows(state, files, counts),
      columns: ACTION_KINDS.map((name) => ({ name, offsetIndex: false })),
      schema: CHECKPOINT_SCHEMA,
      // Their null counts say which row groups hold which actions.
      statistics: true,
      codec: 'ZSTD',
      compressors: { ZSTD: (bytes) => zstdCompressSync(bytes) },
      rowGroupSize: ROW_GROUP_FILES,
      createdBy: 'vessel-export',
    });
    await writer.complete();
  } catch (error) {
    await writer.abort();
    if (!(error instanceof CommitFailedError)) throw error;
    // Another has written it first.
    if ((await store.head(key)) === undefined) throw error;
  }
  await nameCheckpoint(ports, {
    version: state.version,
    size: counts.size,
    sizeInBytes: writer.offset,
    numOfAddFiles: counts.adds,
  });
}

async function* checkpointRows(
  state: TableState,
  files: AsyncIterable<AddFile>,
  counts: { size: number; adds: number },
): AsyncGenerator<Record<string, unknown>> {
  const row = (action: Action) => {
    counts.size += 1;
    return withBigints(wireForm(action));
  };
  if (state.protocol !== undefined) yield row({ protocol: state.protocol });
  if (state.metadata !== undefined) yield row({ metaData: state.metadata });
  for (const { path, deletedMs, sizeBytes, partitionValues } of state.tombstones.values()) {
    const extended = sizeBytes !== undefined &&
      partitionValues !== undefined && { sizeBytes, partitionValues };
    yield row({ remove: { path, deletedMs, dataChange: false, ...extended } });
  }
  for await (const add of files) {
    counts.adds += 1;
    // In a checkpoint nothing changes.
    yield row({ add: { ...add, dataChange: false } });
  }
  if (counts.adds !== state.fileCount)
    throw damagedLog(
      `the log at version ${state.version}`,
      `${counts.adds} files`,
      `${state.fileCount} files`,
    );
}

/** Never back to an older one; whoever names an older one at this moment costs readers a few entries more. */
async function nameCheckpoint(
  ports: TableLogPorts,
  last: {
    readonly version: number;
    readonly size: number;
    readonly sizeInBytes: number;
    readonly numOfAddFiles: number;
  },
): Promise<void> {
  const key = lastCheckpointKey(ports.prefix);
  const found = await ports.store.head(key);
  const named = await readLastCheckpoint(ports);
  if (named !== undefined && named.version >= last.version) return;
  await ports.store.putIf(key, Buffer.from(JSON.stringify(last)), found?.version ?? null);
}

const INT64_FIELDS = new Set(['size', 'modificationTime', 'deletionTimestamp', 'createdTime']);

function withBigints(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([kind, fields]) => [
      kind,
      Object.fromEntries(
        Object.entries(fields as object).map(([name, value]) => [
          name,
          INT64_FIELDS.has(name) ? BigInt(value) : value,
        ]),
      ),
    ]),
  );
}

const ACTION_KINDS = ['txn', 'add', 'remove', 'metaData', 'protocol'];

const leaf = (name: string, type: 'INT64' | 'INT32' | 'BOOLEAN'): SchemaElement[] => [
  { name, type, repetition_type: 'OPTIONAL' },
];
const text = (name: string, repetition: 'OPTIONAL' | 'REQUIRED' = 'OPTIONAL'): SchemaElement[] => [
  {
    ...{ name, type: 'BYTE_ARRAY', repetition_type: repetition },
    ...{ converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  },
];
const struct = (name: string, ...members: SchemaElement[][]): SchemaElement[] => [
  { name, repetition_type: 'OPTIONAL', num_children: members.length },
  ...members.flat(),
];
const texts = (name: string): SchemaElement[] => [
  {
    name,
    repetition_type: 'OPTIONAL',
    num_children: 1,
    converted_type: 'LIST',
    logical_type: { type: 'LIST' },
  },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  ...text('element'),
];
const textMap = (name: string): SchemaElement[] => [
  {
    name,
    repetition_type: 'OPTIONAL',
    num_children: 1,
    converted_type: 'MAP',
    logical_type: { type: 'MAP' },
  },
  { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
  ...text('key', 'REQUIRED'),
  ...text('value'),
];

/** All columns that the protocol has for 1/2, those that we do not use too: some readers ask for each. */
const CHECKPOINT_SCHEMA: SchemaElement[] = [
  { name: 'schema', num_children: ACTION_KINDS.length },
  ...struct('txn', text('appId'), leaf('version', 'INT64'), leaf('lastUpdated', 'INT64')),
  ...struct(
    'add',
    text('path'),
    textMap('partitionValues'),
    leaf('size', 'INT64'),
    leaf('modificationTime', 'INT64'),
    leaf('dataChange', 'BOOLEAN'),
    text('stats'),
    textMap('tags'),
  ),
  ...struct(
    'remove',
    text('path'),
    leaf('deletionTimestamp', 'INT64'),
    leaf('dataChange', 'BOOLEAN'),
    leaf('extendedFileMetadata', 'BOOLEAN'),
    textMap('partitionValues'),
    leaf('size', 'INT64'),
    textMap('tags'),
  ),
  ...struct(
    'metaData',
    text('id'),
    text('name'),
    text('description'),
    struct('format', text('provider'), textMap('options')),
    text('schemaString'),
    texts('partitionColumns'),
    textMap('configuration'),
    leaf('createdTime', 'INT64'),
  ),
  ...struct('protocol', leaf('minReaderVersion', 'INT32'), leaf('minWriterVersion', 'INT32')),
];
