/** The published vessel-days of a job join its table by the paths that their objects have, a thousand in an entry. */
import { messageOf, RefusedError } from '../../core/errors.ts';
import type { Receipt, VesselDay } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import type { ConvertPorts } from '../claims/end-claims.ts';
import { objectPrefix } from '../keys.ts';
import type { LeftOut, PublishedFile } from '../publish/published-files.ts';
import { publishedFiles, tablePath } from '../publish/published-files.ts';
import { prepareTable } from '../table/prepare.ts';
import type { TableContent } from '../table/schema.ts';
import type { Table } from '../table/table.ts';
import { openTable } from '../table/table.ts';
import type { OwnMark } from './conversion-mark.ts';
import { expectOurs } from './conversion-mark.ts';

/** What became of a job. */
export interface ConvertedJob {
  readonly job: string;
  /** Vessel-days whose file is in the table. */
  readonly vesselDays: number;
  readonly sizeBytes: number;
}

/** Its table has every file of `days` but those that are `leftOut`. Throws FencedError when another conversion takes over. */
export async function convertJob(
  ports: ConvertPorts,
  own: OwnMark,
  job: string,
  days: readonly VesselDay[],
  leftOut: LeftOut[],
): Promise<ConvertedJob> {
  const table = await openTable({ ...ports, prefix: objectPrefix(job) });
  let before = table.fileCount;
  let dataset: Receipt['dataset'] | undefined;
  const isMissing = (receipt: Receipt) => {
    dataset ??= receipt.dataset;
    return !isInTable(table, receipt, tablePath(receipt, receipt.object?.key ?? ''));
  };
  for await (const found of publishedFiles(ports, days, leftOut, isMissing)) {
    await addFiles(ports, own, table, job, found, leftOut);
    if (table.fileCount > before)
      ports.say(`${job}: ${table.fileCount} of ${days.length} vessel-days are in its table`);
    before = table.fileCount;
  }
  // One without a file too: a job that has published, and has no log, has lost it.
  if (table.version < 0 && dataset !== undefined)
    await prepare(own, ports.store, table, { job, dataset, columns: [] });
  if (table.version >= 0) await table.checkpoint();
  let sizeBytes = 0;
  for (const { files } of table.days()) for (const file of files) sizeBytes += file.sizeBytes;
  return { job, vesselDays: table.fileCount, sizeBytes };
}

function isInTable(table: Table, { vessel, date }: Omit<VesselDay, 'job'>, path: string): boolean {
  return table.filesOf(vessel, date).some((file) => file.path === path);
}

/** Some vessel-days. Those whose columns do not fit the table's are left out. */
async function addFiles(
  { store }: ConvertPorts,
  own: OwnMark,
  table: Table,
  job: string,
  found: readonly PublishedFile[],
  leftOut: LeftOut[],
): Promise<void> {
  const fitting: PublishedFile[] = [];
  for (const file of found) {
    const fault = await prepare(own, store, table, { job, ...file });
    if (fault === undefined) fitting.push(file);
    else leftOut.push({ day: file.day, message: fault });
  }
  const adds = () =>
    fitting.filter(({ day, add }) => !isInTable(table, day, add.path)).map(({ add }) => ({ add }));
  for (let rest = adds(); rest.length > 0; rest = adds()) {
    // In this order: an entry that we lost sight of can only come to the version after one from before this look.
    const { version } = table;
    await expectOurs(store, own);
    if (!(await table.commit(version, 'CONVERT', rest))) await table.refresh();
  }
}

/** The table is there and has these columns; or why it cannot. */
async function prepare(
  own: OwnMark,
  store: ObjectStore,
  table: Table,
  content: TableContent,
): Promise<string | undefined> {
  try {
    await prepareTable(table, content, { beforeCommit: () => expectOurs(store, own) });
    return undefined;
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return messageOf(error);
  }
}
