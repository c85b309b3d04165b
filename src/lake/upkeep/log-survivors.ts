/** What is left of a log that is damaged. */
import type { VesselDay } from '../../core/model/index.ts';
import type { LeftOut } from '../publish/published-files.ts';
import type { Action, AddFile, PartitionValues } from '../table/actions.ts';
import { readCheckpoint } from '../table/checkpoint-read.ts';
import { isTableFault } from '../table/parse-actions.ts';
import type { TableLogPorts } from '../table/table-log.ts';
import { listLog, readEntry } from '../table/table-log.ts';
import { TableState } from '../table/table-state.ts';

export interface Survivors {
  /** Of everything but files. */
  readonly state: TableState;
  /** By `<vessel>/<date>`. */
  readonly adds: ReadonlyMap<string, AddFile>;
}

/** What is said of a vessel-day within its job. */
export function partOf({ vessel, date }: PartitionValues | VesselDay): string {
  return `${vessel}/${date}`;
}

/**
 * What can be read of a log: the newest of everything but files, and the files of these vessel-days that are there still.
 * Of one that has several nobody knows which is the day: the entry that removed others may be lost.
 */
export async function survivors(log: TableLogPorts, days: readonly LeftOut[]): Promise<Survivors> {
  const { entries, checkpoints } = await listLog(log);
  const state = new TableState(-1);
  const wanted = new Set(days.map(({ day }) => partOf(day)));
  const dayOf = ({ partitionValues }: AddFile) => partOf(partitionValues);
  const found = new Map<string, AddFile>();
  const take = (actions: readonly Action[]) => {
    for (const action of actions)
      if ('remove' in action) found.delete(action.remove.path);
      else if (!('add' in action)) state.apply(action, 0);
      else if (wanted.has(dayOf(action.add))) found.set(action.add.path, action.add);
  };
  async function tryTo(read: () => Promise<void>): Promise<boolean> {
    try {
      await read();
      return true;
    } catch (error) {
      if (!isTableFault(error)) throw error;
      return false;
    }
  }
  let from = 0;
  for (const checkpoint of checkpoints) {
    const isRead = await tryTo(async () => {
      for await (const actions of readCheckpoint(log, checkpoint, days.length > 0)) take(actions);
    });
    if (isRead) from = checkpoint.version;
    if (isRead) break;
  }
  for (const { version } of entries)
    if (version >= from) await tryTo(async () => take((await readEntry(log, version))?.actions ?? []));
  const adds = new Map<string, AddFile>();
  for (const [day, files] of Map.groupBy(found.values(), dayOf)) {
    const [add, ...others] = files as [AddFile, ...AddFile[]];
    const object = await log.store.head(`${log.prefix}${add.path}`);
    if (others.length === 0 && object?.sizeBytes === add.sizeBytes) adds.set(day, add);
  }
  return { state, adds };
}
