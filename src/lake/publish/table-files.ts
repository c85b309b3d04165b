/** The files of a delta lake that are its vessel-days now: for those who read files, and no log. */
import type { Log, VesselDay } from '../../core/model/index.ts';
import { silentLog, systemClock } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { objectPrefix } from '../keys.ts';
import { openTableView } from '../table/table-view.ts';
import { expectLog } from './lost-log.ts';

interface TableFile {
  readonly day: VesselDay;
  readonly key: string;
  readonly sizeBytes: number;
}

/** Those of a job, at the newest version of its table. Throws DataError `damaged-log`, FatalError `unsupported-table`. */
export async function readTableFiles(
  store: Pick<ObjectStore, 'get' | 'getRange' | 'head' | 'list'>,
  job: string,
  log: Log = silentLog,
): Promise<TableFile[]> {
  const prefix = objectPrefix(job);
  const view = await openTableView({ store, clock: systemClock, log, prefix });
  await expectLog(store, job, view);
  const found: TableFile[] = [];
  for (const { vessel, date, files } of view.days())
    for (const { path, sizeBytes } of files)
      found.push({ day: { job, vessel, date }, key: `${prefix}${path}`, sizeBytes });
  return found;
}
