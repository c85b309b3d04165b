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

import { ConfigError, DataError, FencedError, messageOf, RefusedError } from '../../core/errors.ts';
import type { Clock, Log, ProcessId, Receipt, VesselDay } from '../../core/model/index.ts';
import { formatVesselDay } from '../../core/model/index.ts';
import { uniqueId } from '../../core/unique-id.ts';
import { expectConditionalPut, type ObjectStore, type Version } from '../../store/store.ts';
import { claimedDays, findClaims, isLive, takeClaim } from '../claims/claims.ts';
import { jsonBytes, orDamage } from '../json.ts';
import { LAKE_KEY, objectPrefix } from '../keys.ts';
import { hasContent, type LakeFile, readLakeFile } from '../lake-file.ts';
import { LOOK_MS } from '../layout.ts';
import { listReceipts, readReceipt } from '../ledger/ledger.ts';
import { acknowledgePublished } from '../publish/publish.ts';
import { type LeftOut, type PublishedFile, publishedFiles, tablePath } from '../publish/table-files.ts';
import type { TableContent } from '../table/schema.ts';
import { openTable, prepareTable, type Table } from '../table/table.ts';

/** How far the clocks of two processes may drift apart meanwhile. */
const MARGIN_MS = 1_000;
export const WAIT_MS = 5_000;
/** The settings hash of its claims: no attempt continues them. */
const NO_SETTINGS = 'convert';

export interface UpkeepPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: ProcessId;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

export interface Conversion {
  readonly jobs: readonly ConvertedJob[];
  readonly leftOut: readonly LeftOut[];
  /** False: it was a delta lake before. */
  readonly converted: boolean;
}

interface ConvertedJob {
  readonly job: string;
  readonly vesselDays: number;
  readonly sizeBytes: number;
}

/** Convert the lake. Throws ConfigError where there is none, FencedError when another conversion takes over. */
export async function convertLake(ports: UpkeepPorts): Promise<Conversion> {
  const own = await beginConversion(ports.store);
  if (own === undefined) return { jobs: [], leftOut: [], converted: false };
  ports.say(`no export begins from now on; waiting ${LOOK_MS / 1_000} s until every process has noticed`);
  await ports.clock.sleep(LOOK_MS + MARGIN_MS, ports.signal);
  await endClaims(ports);
  const [jobs, leftOut]: [ConvertedJob[], LeftOut[]] = [[], []];
  const published = await Array.fromAsync(listReceipts(ports.store), ({ day }) => day);
  for (const [job, days] of Map.groupBy(published, (day) => day.job))
    jobs.push(await convertJob(ports, own, job, days, leftOut));
  await finishConversion(ports.store, own);
  return { jobs, leftOut, converted: true };
}

interface OwnMark {
  readonly by: string;
  readonly file: LakeFile;
  readonly version: Version;
}

/** Record that the conversion has begun, and is ours; undefined if the lake is a delta lake. Throws ConfigError `no-lake`. */
async function beginConversion(store: ObjectStore): Promise<OwnMark | undefined> {
  const by = uniqueId();
  await expectConditionalPut(store, 'a table');
  for (;;) {
    const found = await readLakeFile(store);
    if (found?.file.layout === 'delta') return undefined;
    if (found === undefined && !(await hasContent(store)))
      throw new ConfigError(
        'no-lake',
        `${store.url}: found no lake of vessel-export, expected one; for a new one set LAKE_LAYOUT=delta, and export`,
      );
    const plain: LakeFile = found?.file ?? { lakeVersion: 1, layout: 'plain' };
    const file: LakeFile = { ...plain, converting: { to: 'delta', by } };
    const version = await store.putIf(LAKE_KEY, jsonBytes(file), found?.version ?? null);
    if (version !== undefined) return { by, file, version };
  }
}

/** Record that the lake is a delta lake. Throws FencedError as `expectOurs`. */
async function finishConversion(store: ObjectStore, own: OwnMark): Promise<void> {
  const { converting: _, ...others } = own.file;
  const file: LakeFile = { ...others, layout: 'delta' };
  if ((await store.putIf(LAKE_KEY, jsonBytes(file), own.version)) === undefined)
    await expectOurs(store, own, 'delta');
}

/** Throws FencedError if another process has taken over the conversion. */
async function expectOurs(store: ObjectStore, { by }: OwnMark, orLayout?: 'delta'): Promise<void> {
  const found = await readLakeFile(store);
  if (found?.file.converting?.by === by) return;
  if (orLayout !== undefined && found?.file.layout === orLayout) return;
  throw new FencedError('lake-converting', `${LAKE_KEY}: another conversion has taken over; this one stops`);
}

/**
 * End all claims, but for those of vessel-days whose receipt cannot be read: nobody can own these, and whatever their
 * attempts still write becomes no part of a table. A claim that comes now is withdrawn by whoever put it; until then it
 * looks alive.
 */
async function endClaims(ports: UpkeepPorts): Promise<void> {
  const { store, clock, signal, say } = ports;
  const unreadable = new Set<string>();
  for (let said = ''; ; ) {
    const live: string[] = [];
    const days = (await claimedDays(store)).filter((day) => !unreadable.has(formatVesselDay(day)));
    for (const day of days) {
      signal.throwIfAborted();
      if (!((await orDamage(readReceipt(store, day))) instanceof DataError)) {
        const alive = await endClaim(ports, day);
        if (alive !== undefined) live.push(alive.message);
      } else if ((await findClaims(store, day)).some(({ file }) => file && isLive(file, ports)))
        live.push(`${formatVesselDay(day)} is running elsewhere`);
      else unreadable.add(formatVesselDay(day));
    }
    if (days.length === 0) return;
    const text = live.length === 0 ? '' : `waiting for ${live.length} in progress: ${live[0]}`;
    if (text !== '' && text !== said) say(text);
    said = text;
    if (live.length > 0) await clock.sleep(WAIT_MS, signal);
  }
}

/** Take over a dead claim and remove it; for a live one, returns why it counts as alive. */
async function endClaim(ports: UpkeepPorts, day: VesselDay): Promise<FencedError | undefined> {
  try {
    const { claim, inheritance } = await takeClaim(ports, day, {
      settingsHash: NO_SETTINGS,
      takeover: false,
    });
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

/** Add every file of `days` to the table of a job, except those that are `leftOut`. Throws FencedError as `expectOurs`. */
async function convertJob(
  ports: UpkeepPorts,
  own: OwnMark,
  job: string,
  days: readonly VesselDay[],
  leftOut: LeftOut[],
): Promise<ConvertedJob> {
  const { store, say } = ports;
  const table = await openTable({ ...ports, prefix: objectPrefix(job) });
  let dataset: Receipt['dataset'] | undefined;
  const isMissing = (receipt: Receipt) => {
    dataset ??= receipt.dataset;
    return !isInTable(table, receipt, tablePath(receipt, receipt.object?.key ?? ''));
  };
  for await (const found of publishedFiles(ports, days, leftOut, isMissing)) {
    const before = table.fileCount;
    const fitting: PublishedFile[] = [];
    for (const file of found) {
      const fault = await prepare(own, store, table, { job, ...file });
      if (fault === undefined) fitting.push(file);
      else leftOut.push({ day: file.day, message: fault });
    }
    const missing = () =>
      fitting.filter(({ day, add }) => !isInTable(table, day, add.path)).map(({ add }) => ({ add }));
    for (let adds = missing(); adds.length > 0; adds = missing()) {
      // In this order: an entry that we lost sight of can only come to the version after one from before this look.
      const { version } = table;
      await expectOurs(store, own);
      if (!(await table.commit(version, 'CONVERT', adds))) await table.refresh();
    }
    if (table.fileCount > before)
      say(`${job}: ${table.fileCount} of ${days.length} vessel-days are in its table`);
  }
  // Also without any file: a job that has published, and has no log, has lost it.
  if (table.version < 0 && dataset !== undefined)
    await prepare(own, store, table, { job, dataset, columns: [] });
  if (table.version >= 0) await table.checkpoint();
  let sizeBytes = 0;
  for (const { files } of table.days()) for (const file of files) sizeBytes += file.sizeBytes;
  return { job, vesselDays: table.fileCount, sizeBytes };
}

function isInTable(table: Table, { vessel, date }: Omit<VesselDay, 'job'>, path: string): boolean {
  return table.filesOf(vessel, date).some((file) => file.path === path);
}

/** Make sure that the table exists and has these columns; returns why it cannot. */
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
