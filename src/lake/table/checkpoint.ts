/**
 * Writing checkpoints: what a table is at a version in one Parquet file, so that readers need no entry before it. In the
 * classic form that every reader knows, and a row group at a time, for there may be a million files.
 */
import { CommitFailedError } from '../../core/errors.ts';
import type { Action, AddFile } from './actions.ts';
import type { GroupWriter } from './checkpoint-groups.ts';
import { createGroupWriter, ROW_GROUP_FILES } from './checkpoint-groups.ts';
import { createUploadWriter } from './checkpoint-upload.ts';
import { checkpointKey, lastCheckpointKey } from './log-keys.ts';
import { damagedLog } from './parse-actions.ts';
import type { TableLogPorts } from './table-log.ts';
import { isBelowCheckpoint, readLastCheckpoint } from './table-log.ts';
import type { TableState } from './table-state.ts';

/** Others that write `_last_checkpoint` in a row. */
const MAX_ROUNDS = 10;

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
  const writer = await createUploadWriter(store, key);
  let size: number;
  try {
    const others = otherActions(state);
    const groups = createGroupWriter(writer);
    await groups.writeActions(others);
    const fileCount = await writeFiles(groups, files);
    if (fileCount !== state.fileCount)
      throw damagedLog(key, `${fileCount} files`, `the ${state.fileCount} of the entries`);
    groups.finish();
    await writer.complete();
    size = others.length + fileCount;
  } catch (error) {
    await writer.abort();
    if (!(error instanceof CommitFailedError)) throw error;
    // Another has written it first.
    if ((await store.head(key)) === undefined) throw error;
    size = otherActions(state).length + state.fileCount;
  }
  await nameCheckpoint(ports, {
    version: state.version,
    size,
    sizeInBytes: writer.offset,
    numOfAddFiles: state.fileCount,
  });
}

/** What a table is beside its files. */
function otherActions({ protocol, metadata, transactions, tombstones }: TableState): Action[] {
  const removes = Array.from(
    tombstones.values(),
    ({ path, deletedMs, sizeBytes, partitionValues }): Action => {
      const extended = sizeBytes !== undefined &&
        partitionValues !== undefined && { sizeBytes, partitionValues };
      return { remove: { path, deletedMs, dataChange: false, ...extended } };
    },
  );
  return [
    ...(protocol === undefined ? [] : [{ protocol }]),
    ...(metadata === undefined ? [] : [{ metaData: metadata }]),
    ...Array.from(transactions.values(), (txn) => ({ txn })),
    ...removes,
  ];
}

/** How many there were. */
async function writeFiles(groups: GroupWriter, files: AsyncIterable<readonly AddFile[]>): Promise<number> {
  let count = 0;
  let group: AddFile[] = [];
  for await (const some of files)
    for (const file of some) {
      count++;
      if (group.push(file) < ROW_GROUP_FILES) continue;
      await groups.writeFiles(group);
      group = [];
    }
  if (group.length > 0) await groups.writeFiles(group);
  return count;
}

/** Never back to an older one. Of those who name one at the same moment each looks again. */
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
