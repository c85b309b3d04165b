/** A table in a store, and days to commit to it. */
import { type Log, silentLog } from '../../../src/core/model/index.ts';
import type { Action, AddFile } from '../../../src/lake/table/actions.ts';
import { TABLE_RETENTION, type TableRetention } from '../../../src/lake/table/retention.ts';
import type { TableContent } from '../../../src/lake/table/schema.ts';
import { openTable, type Table, type TablePorts } from '../../../src/lake/table/table.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts';

export const LOG_FOLDER = 'measurements/_delta_log/';
export const VESSEL = 'IMO9321483';

export const MEASUREMENTS: TableContent = {
  job: 'measurements',
  dataset: 'measurements',
  columns: [
    { name: 'timestamp', type: 'timestamp' },
    { name: 'time_series_id', type: 'series' },
    { name: 'double_value', type: 'double' },
  ],
};

export interface TablePlace extends TablePorts {
  readonly store: ObjectStore;
  readonly clock: ManualClock;
  /** What was logged as a warning. */
  readonly warnings: string[];
}

export function placeOf(store: ObjectStore, retention: Partial<TableRetention> = {}): TablePlace {
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (_, message) => warnings.push(message) };
  const clock = createManualClock(Date.now());
  return {
    store,
    clock,
    log,
    warnings,
    prefix: 'measurements/',
    retention: { ...TABLE_RETENTION, ...retention },
  };
}

/** A table with its first version. */
export async function newTable(place: TablePlace): Promise<Table> {
  const table = await openTable(place);
  await table.commit(-1, 'CREATE TABLE', table.preparation(MEASUREMENTS));
  return table;
}

export function addOf(name: string, date: string, rows = 1, vessel = VESSEL): { add: AddFile } {
  return {
    add: {
      path: `vessel=${vessel}/date=${date}/${name}.parquet`,
      partitionValues: { vessel, date },
      size: 1_000 + rows,
      modificationTime: 1_790_000_000_000,
      dataChange: true,
      stats: `{"numRecords":${rows}}`,
    },
  };
}

export function removeOf({ add }: { add: AddFile }, deletionTimestamp: number): Action {
  const { path, partitionValues, size } = add;
  return { remove: { path, partitionValues, size, deletionTimestamp, dataChange: true } };
}

/** Commit behind whatever is there. */
export async function append(table: Table, ...actions: Action[]): Promise<void> {
  if (!(await table.commit(table.version, 'WRITE', actions))) throw new Error('another was first');
}

/** Names of the files of a table, as it is read by someone who comes now, in order. */
export async function namesIn(place: TablePorts): Promise<string[]> {
  const names: string[] = [];
  for await (const { path, stats } of (await openTable(place)).files())
    names.push(`${path.split('/').at(-1)} ${stats ?? 'without statistics'}`);
  return names.sort();
}
