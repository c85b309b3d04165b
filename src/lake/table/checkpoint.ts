/** Writing checkpoints, in the classic form that every reader knows, and a row group at a time: there may be a million files. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { CommitFailedError } from '../../core/errors.ts';
import { uniqueId } from '../../core/unique-id.ts';
import { PARQUET_MAGIC, PlainFile, rowAdder, type SchemaElement } from '../../parquet/write/plain-file.ts';
import type { ObjectStore, PartRef } from '../../store/store.ts';
import { type Action, type AddFile, wireForm } from './actions.ts';
import { checkpointKey, lastCheckpointKey } from './log-keys.ts';
import { damagedLog } from './parse-actions.ts';
import { isBelowCheckpoint, readLastCheckpoint, type TableLogPorts } from './table-log.ts';
import type { TableState } from './table-state.ts';

/** Actions of a row group: some 10 MB and a tenth of a second while they are encoded. */
const ROW_GROUP_ACTIONS = 5_000;
/** S3's least for all parts but the last is 5 MiB. */
const PART_BYTES = 8 << 20;
/** Others that write `_last_checkpoint` in a row. */
const MAX_ROUNDS = 10;

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
const repeated = (
  name: string,
  kind: 'LIST' | 'MAP',
  item: string,
  ...members: SchemaElement[][]
): SchemaElement[] => [
  {
    ...{ name, repetition_type: 'OPTIONAL', num_children: 1 },
    ...{ converted_type: kind, logical_type: { type: kind } },
  },
  { name: item, repetition_type: 'REPEATED', num_children: members.length },
  ...members.flat(),
];
const texts = (name: string): SchemaElement[] => repeated(name, 'LIST', 'list', text('element'));
const textMap = (name: string): SchemaElement[] =>
  repeated(name, 'MAP', 'key_value', text('key', 'REQUIRED'), text('value'));

/** All columns that the protocol has for 1/2, those that we do not use too: some readers ask for each. */
const CHECKPOINT_SCHEMA: SchemaElement[] = [
  { name: 'schema', num_children: 5 },
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
 * once: the first one counts, and both say the same. Takes long for many files, and lets others have their turn meanwhile:
 * nothing else may change the state.
 */
export async function writeCheckpoint(
  ports: TableLogPorts,
  state: TableState,
  files: AsyncIterable<readonly AddFile[]>,
): Promise<void> {
  const { store, prefix } = ports;
  const key = checkpointKey(prefix, state.version);
  const others = otherActions(state);
  let sizeInBytes: number | undefined;
  try {
    sizeInBytes = await uploadPieces(store, key, checkpointPieces(key, others, files, state));
  } catch (error) {
    if (!(error instanceof CommitFailedError)) throw error;
    // Another has written it first.
    sizeInBytes = (await store.head(key))?.sizeBytes;
    if (sizeInBytes === undefined) throw error;
  }
  const { version, fileCount: numOfAddFiles } = state;
  await nameCheckpoint(ports, { version, size: others.length + numOfAddFiles, sizeInBytes, numOfAddFiles });
}

/** The file. Table files have row groups of their own, so readers pass over the others. Throws `damaged-log` where the count is not the state's. */
async function* checkpointPieces(
  key: string,
  others: readonly Action[],
  files: AsyncIterable<readonly AddFile[]>,
  state: TableState,
): AsyncGenerator<Uint8Array> {
  const file = new PlainFile(CHECKPOINT_SCHEMA, { createdBy: 'vessel-export' });
  const addRow = rowAdder(file, CHECKPOINT_SCHEMA);
  const rows = file.columns[0]!;
  let count = 0;
  async function* rowGroup(): AsyncGenerator<Uint8Array> {
    if (rows.rows > 0) yield* file.rowGroup();
    await nextTurn();
  }
  yield PARQUET_MAGIC;
  for (const action of others) {
    addRow(wireForm(action));
    if (rows.rows === ROW_GROUP_ACTIONS) yield* rowGroup();
  }
  yield* rowGroup();
  for await (const some of files)
    for (const one of some) {
      count++;
      // In a checkpoint nothing changes.
      addRow(wireForm({ add: { ...one, dataChange: false } }));
      if (rows.rows === ROW_GROUP_ACTIONS) yield* rowGroup();
    }
  yield* rowGroup();
  // Read now: files may come to the state while they are written.
  const { fileCount } = state;
  if (count !== fileCount) throw damagedLog(key, `${count} files`, `the ${fileCount} of the entries`);
  yield file.end();
}

/** Write a file from its beginning to its end as one upload, where there is none; its size. Throws as `publish`. */
async function uploadPieces(
  store: ObjectStore,
  key: string,
  pieces: AsyncIterable<Uint8Array>,
): Promise<number> {
  const upload = await store.begin(key, uniqueId());
  const parts: PartRef[] = [];
  let unsent: Uint8Array[] = [];
  let [bytes, sentBytes] = [0, 0];
  const send = async () => {
    parts.push(await store.append(upload, parts.length + 1, Buffer.concat(unsent)));
    unsent = [];
    sentBytes = bytes;
  };
  try {
    for await (const piece of pieces) {
      unsent.push(piece);
      bytes += piece.length;
      if (bytes - sentBytes >= PART_BYTES) await send();
    }
    await send();
    await store.publish(upload, parts, null);
    return bytes;
  } catch (error) {
    await store.abandon(upload);
    throw error;
  }
}

function otherActions({ protocol, metadata, transactions, tombstones }: TableState): Action[] {
  return [
    ...(protocol === undefined ? [] : [{ protocol }]),
    ...(metadata === undefined ? [] : [{ metaData: metadata }]),
    ...Array.from(transactions.values(), (txn) => ({ txn })),
    ...Array.from(tombstones.values(), (remove) => ({ remove: { ...remove, dataChange: false } })),
  ];
}

/** Never back to an older one. Of those who name one at the same moment each looks again. */
async function nameCheckpoint(
  ports: TableLogPorts,
  last: Readonly<Record<'version' | 'size' | 'sizeInBytes' | 'numOfAddFiles', number>>,
): Promise<void> {
  const key = lastCheckpointKey(ports.prefix);
  const bytes = Buffer.from(JSON.stringify(last));
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await ports.store.head(key);
    if (await isBelowCheckpoint(ports, last.version - 1)) return;
    if ((await ports.store.putIf(key, bytes, found?.version ?? null)) !== undefined) return;
  }
  throw new CommitFailedError(
    'commit-contended',
    `${key}: others have written it ${MAX_ROUNDS} times; run again`,
  );
}
