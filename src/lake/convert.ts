/**
 * A plain lake becomes a table for each job, in place: what is published joins by its path, no data are copied.
 *
 * 1. `_lake.json` says that the conversion has begun. From LOOK_MS on every claim that was put without knowing of it is
 *    there to be seen, and no other comes (layout.ts).
 * 2. Claims: while one is alive, wait. A dead one is taken over: what it has published gets its receipt, its uploads are
 *    aborted, so that nothing of it can come any more, and the claim goes.
 * 3. Now nothing changes but by us: every receipt's object joins the table of its job, a thousand in an entry.
 * 4. `_lake.json` says that the lake is a delta lake.
 *
 * Killed anywhere and run again, it begins at 1, and passes over what is in the tables. Of two at once the later takes
 * over by writing its name into `_lake.json`; the other finds that before its next entry. An entry of it that was on its
 * way then adds files under the names that they have anyhow, or comes to a version that is taken.
 */
import { randomUUID } from 'node:crypto';
import { forEachAtOnce } from '../concurrency.ts';
import { ConfigError, DataError, FencedError, messageOf, RefusedError } from '../errors.ts';
import type { Clock, Log, ProcessId, Receipt, VesselDay } from '../model/index.ts';
import type { ObjectStore, Version } from '../store/store.ts';
import type { AddFile } from '../table/actions.ts';
import { fileColumns } from '../table/file-columns.ts';
import { prepareTable } from '../table/prepare.ts';
import type { DatasetColumn } from '../table/schema.ts';
import { fileStatistics } from '../table/statistics.ts';
import type { Table } from '../table/table.ts';
import { openTable } from '../table/table.ts';
import { claimedDays } from './claims.ts';
import { footerLength } from './footer-length.ts';
import { jsonBytes } from './json.ts';
import { keyPrefix, LAKE_KEY, objectPrefix, parseReceiptKey } from './keys.ts';
import type { LakeFile } from './layout.ts';
import { hasContent, LOOK_MS, readLakeFile } from './layout.ts';
import { readReceipt } from './ledger.ts';
import { acknowledgePublished } from './publish.ts';
import { takeClaim } from './take-claim.ts';

/** Files in an entry. */
const BATCH = 1_000;
const READS_AT_ONCE = 16;
/** Most footers are smaller; of a larger one the rest is asked for. */
const FOOTER_BYTES = 64 << 10;
/** Between looks at claims of others. */
const WAIT_MS = 5_000;
/** Clocks of two processes may run apart by so much meanwhile. */
const MARGIN_MS = 1_000;

interface ConvertPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: ProcessId;
  readonly signal: AbortSignal;
  /** Told what it does. */
  readonly say: (text: string) => void;
}

/** What became of a job. */
interface ConvertedJob {
  readonly job: string;
  /** Vessel-days whose file is in the table. */
  readonly vesselDays: number;
  readonly sizeBytes: number;
}

/** A published vessel-day whose object could not join. */
interface LeftOut {
  readonly day: VesselDay;
  readonly message: string;
}

export interface Conversion {
  readonly jobs: readonly ConvertedJob[];
  readonly leftOut: readonly LeftOut[];
  /** False: it was a delta lake before. */
  readonly converted: boolean;
}

/** Convert the lake. Throws ConfigError where there is none, FencedError when another conversion takes over. */
export async function convertLake(ports: ConvertPorts): Promise<Conversion> {
  const own = await begin(ports);
  if (own === undefined) return { jobs: [], leftOut: [], converted: false };
  ports.say(`no export begins from now on; waiting ${LOOK_MS / 1_000} s until every process knows`);
  await ports.clock.sleep(LOOK_MS + MARGIN_MS, ports.signal);
  await endClaims(ports);
  const conversion = { jobs: [] as ConvertedJob[], leftOut: [] as LeftOut[] };
  for await (const { job, days } of publishedDays(ports.store))
    conversion.jobs.push(await convertJob(ports, own, job, days, conversion.leftOut));
  await finish(ports, own);
  return { ...conversion, converted: true };
}

interface Own {
  readonly by: string;
  readonly version: Version;
}

/** Our name in `_lake.json`; undefined where there is nothing to do. */
async function begin({ store }: ConvertPorts): Promise<Own | undefined> {
  const by = randomUUID();
  const file: LakeFile = { lakeVersion: 1, layout: 'plain', converting: { to: 'delta', by } };
  for (;;) {
    const found = await readLakeFile(store);
    if (found?.file.layout === 'delta') return undefined;
    if (found === undefined && !(await hasContent(store)))
      throw new ConfigError(
        'no-lake',
        `${store.url}: found no lake of vessel-export, expected one; for a new one set LAKE_LAYOUT=delta, and export`,
      );
    const version = await store.putIf(LAKE_KEY, jsonBytes(file), found?.version ?? null);
    if (version !== undefined) return { by, version };
  }
}

async function finish({ store }: ConvertPorts, own: Own): Promise<void> {
  const file: LakeFile = { lakeVersion: 1, layout: 'delta' };
  if ((await store.putIf(LAKE_KEY, jsonBytes(file), own.version)) === undefined)
    await expectOurs(store, own, 'delta');
}

/** Throws FencedError when the conversion is another's by now. */
async function expectOurs(store: ObjectStore, { by }: Own, orLayout?: 'delta'): Promise<void> {
  const found = await readLakeFile(store);
  if (found?.file.converting?.by === by) return;
  if (orLayout !== undefined && found?.file.layout === orLayout) return;
  throw new FencedError('lake-converting', `${LAKE_KEY}: another conversion has taken over; this one stops`);
}

/** Step 2. A claim that comes now is withdrawn by whoever put it; until then it looks alive. */
async function endClaims(ports: ConvertPorts): Promise<void> {
  const { store, clock, signal, say } = ports;
  for (let said = ''; ; ) {
    const live: FencedError[] = [];
    const days = await claimedDays(store);
    for (const day of days) {
      signal.throwIfAborted();
      const alive = await endClaim(ports, day);
      if (alive !== undefined) live.push(alive);
    }
    if (live.length === 0 && days.length === 0) return;
    const text = live.length === 0 ? '' : `waiting for ${live.length} under way: ${live[0]!.message}`;
    if (text !== '' && text !== said) say(text);
    said = text;
    if (live.length > 0) await clock.sleep(WAIT_MS, signal);
  }
}

/** Take over a dead claim and leave nothing of it; why a live one is alive. */
async function endClaim(ports: ConvertPorts, day: VesselDay): Promise<FencedError | undefined> {
  try {
    const { claim, inheritance } = await takeClaim(ports, day, { settingsHash: '', takeover: false });
    const { sealedBefore } = inheritance;
    if (sealedBefore !== undefined)
      await acknowledgePublished({ ...ports, onStep: () => {} }, claim, sealedBefore);
    await claim.startClean();
    await claim.finish();
    return undefined;
  } catch (error) {
    if (error instanceof FencedError && error.code === 'running-elsewhere') return error;
    throw error;
  }
}

/** The published vessel-days, job after job: the ledger lists them so. */
async function* publishedDays(
  store: ObjectStore,
): AsyncGenerator<{ readonly job: string; readonly days: readonly VesselDay[] }> {
  let days: VesselDay[] = [];
  for await (const { key } of store.list(keyPrefix('receipt'))) {
    const day = parseReceiptKey(key);
    if (day === undefined) continue;
    if (days[0] !== undefined && days[0].job !== day.job) {
      yield { job: days[0].job, days };
      days = [];
    }
    days.push(day);
  }
  if (days[0] !== undefined) yield { job: days[0].job, days };
}

async function convertJob(
  ports: ConvertPorts,
  own: Own,
  job: string,
  days: readonly VesselDay[],
  leftOut: LeftOut[],
): Promise<ConvertedJob> {
  const table = await openTable({ ...ports, prefix: objectPrefix(job) });
  let before = table.fileCount;
  for (let from = 0; from < days.length; from += BATCH) {
    ports.signal.throwIfAborted();
    const found: FoundFile[] = [];
    await forEachAtOnce(days.slice(from, from + BATCH), READS_AT_ONCE, async (day) => {
      try {
        const file = await findFile(ports.store, table, day);
        if (file !== undefined) found.push(file);
      } catch (error) {
        if (!(error instanceof DataError)) throw error;
        leftOut.push({ day, message: messageOf(error) });
      }
    });
    await addFiles(ports, own, table, job, found, leftOut);
    if (table.fileCount > before)
      ports.say(`${job}: ${table.fileCount} of ${days.length} vessel-days are in its table`);
    before = table.fileCount;
  }
  if (table.version >= 0) await table.checkpoint();
  let sizeBytes = 0;
  for (const { files } of table.days()) for (const file of files) sizeBytes += file.sizeBytes;
  return { job, vesselDays: table.fileCount, sizeBytes };
}

interface FoundFile {
  readonly day: VesselDay;
  readonly dataset: Receipt['dataset'];
  readonly columns: readonly DatasetColumn[];
  readonly add: AddFile;
}

/** What an entry says of a vessel-day's object; undefined where there is none, or it is in the table. */
async function findFile(store: ObjectStore, table: Table, day: VesselDay): Promise<FoundFile | undefined> {
  const receipt = await readReceipt(store, day);
  if (!receipt?.object) return undefined;
  const { key, sizeBytes } = receipt.object;
  const path = key.slice(objectPrefix(day.job).length);
  if (table.filesOf(day.vessel, day.date).some((file) => file.path === path)) return undefined;
  const footer = await readFooter(store, key, sizeBytes);
  const add: AddFile = {
    path,
    partitionValues: { vessel: day.vessel, date: day.date },
    sizeBytes,
    modifiedMs: Date.parse(receipt.finishedAt),
    dataChange: true,
    stats: fileStatistics(footer, key),
  };
  return { day, dataset: receipt.dataset, columns: fileColumns(footer, key), add };
}

/** The end of an object with its whole footer. Throws DataError where it is not the one that the receipt names. */
async function readFooter(store: ObjectStore, key: string, sizeBytes: number): Promise<Uint8Array> {
  const read = async (bytes: number) => {
    const fromByte = Math.max(0, sizeBytes - bytes);
    // One byte more than there should be.
    const found = await store.getRange(key, fromByte, sizeBytes + 1);
    if (found?.length !== sizeBytes - fromByte || found.length < 12)
      throw new DataError(
        'damaged-file',
        `${key}: found ${found === undefined ? 'no object' : 'another size'}, expected ${sizeBytes} bytes, as its receipt says; verify, and export the day again`,
      );
    return found;
  };
  const end = await read(FOOTER_BYTES);
  const footerBytes = footerLength(end, sizeBytes);
  if (typeof footerBytes === 'string')
    throw new DataError(
      'damaged-file',
      `${key}: found ${footerBytes}, expected a Parquet footer; verify, and export the day again`,
    );
  return footerBytes <= end.length ? end : await read(footerBytes);
}

/** Step 3 for some vessel-days. Those whose columns do not fit the table's are left out. */
async function addFiles(
  { store }: ConvertPorts,
  own: Own,
  table: Table,
  job: string,
  found: readonly FoundFile[],
  leftOut: LeftOut[],
): Promise<void> {
  const fitting: FoundFile[] = [];
  for (const file of found) {
    const fault = await prepare(own, store, table, { job, ...file });
    if (fault === undefined) fitting.push(file);
    else leftOut.push({ day: file.day, message: fault });
  }
  const adds = () =>
    fitting
      .filter(({ day, add }) => !table.filesOf(day.vessel, day.date).some(({ path }) => path === add.path))
      .map(({ add }) => ({ add }));
  for (let rest = adds(); rest.length > 0; rest = adds()) {
    // In this order: an entry that we lost sight of can only come to the version after one from before this look.
    const { version } = table;
    await expectOurs(store, own);
    if (!(await table.commit(version, 'CONVERT', rest))) await table.refresh();
  }
}

/** The table is there and has these columns; or why it cannot. */
async function prepare(
  own: Own,
  store: ObjectStore,
  table: Table,
  content: Parameters<Table['preparation']>[0],
): Promise<string | undefined> {
  try {
    await prepareTable(table, content, { beforeCommit: () => expectOurs(store, own) });
    return undefined;
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return messageOf(error);
  }
}
