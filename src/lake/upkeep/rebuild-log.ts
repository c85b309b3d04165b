/**
 * The log of a job's table, made to say what the receipts say. One that can be read, and has every version that a receipt
 * names, gets an entry with what differs, and a checkpoint. Any other begins anew:
 *
 * 1. An entry is put in the version after each that is there, or that anybody names. Whoever exports with a view from before
 *    comes to it, or to a version below.
 * 2. The checkpoint of that version has every file that a receipt names, and `_last_checkpoint` names the checkpoint. Until
 *    then the log is as damaged as it was; from then on no entry below is acknowledged (table-log.ts).
 * 3. Whoever had an entry acknowledged before that has written his receipt by now, or has a claim. So each receipt is read once
 *    more, and what the table lacks is added; where somebody is at work, when he has ended. In this order: a version is
 *    seen, no claim, the receipt, then the next version is put. What a dead claim has come to the next run finds out.
 *
 * A vessel-day whose receipt cannot be read is named, and keeps the file that the old log says, as far as that can be read.
 * Killed anywhere and run again it ends the same. Nothing is removed: older entries go with the clean-up of the log.
 */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { formatVesselDay, type Receipt, type VesselDay } from '../../core/model/index.ts';
import { isEnded } from '../claims/claim.ts';
import { claimedDays, findClaims, isLive } from '../claims/claims.ts';
import { unlessDamaged } from '../json.ts';
import { objectPrefix } from '../keys.ts';
import { readReceipt } from '../ledger/ledger.ts';
import type { LeftOut } from '../publish/table-files.ts';
import { BATCH, describeFile, publishedFiles, READS_AT_ONCE, tablePath } from '../publish/table-files.ts';
import type { Action, AddFile } from '../table/actions.ts';
import { writeCheckpoint } from '../table/checkpoint.ts';
import { checkTable, PROTOCOL, tableMetadata } from '../table/schema.ts';
import { openTable, type Table } from '../table/table.ts';
import { commitEntry, listLog, readLastCheckpoint, type TableLogPorts } from '../table/table-log.ts';
import { TableState } from '../table/table-state.ts';
import { type UpkeepPorts, WAIT_MS } from './convert.ts';
import type { LogSurvey, Remains } from './log-survey.ts';
import {
  columnFaults,
  contentOf,
  differs,
  misfitOf,
  readRemains,
  receiptDays,
  surveyLog,
} from './log-survey.ts';

const OPERATION = 'REBUILD LOG';

export interface RebuiltLog {
  /** What is wrong with the log, in words; empty: nothing. */
  readonly faults: readonly string[];
  /** In the table, or to be in it: those of `unread` too that keep their file. */
  readonly vesselDays: number;
  /** The version that the table has, has come to, or is to come to at least. */
  readonly version: number;
  readonly isWritten: boolean;
  /** Published, or with files in their folders, and not in the table. */
  readonly leftOut: readonly LeftOut[];
  /** Whose receipts cannot be read, with what has become of their files. */
  readonly unread: readonly LeftOut[];
}

/** Make the log of a job's table say what the receipts say; unless `isWanted` only look. Throws as `surveyLog`. */
export async function rebuildLog(ports: UpkeepPorts, job: string, isWanted: boolean): Promise<RebuiltLog> {
  const survey = await surveyLog(ports, job);
  const { faults } = survey;
  const log = { ...ports, prefix: objectPrefix(job) };
  const leftOut = survey.leftOut.filter(({ isUnread }) => !isUnread);
  const unreadDays = survey.leftOut.filter(({ isUnread }) => isUnread);
  const old = survey.table === undefined ? await readRemains(log, unreadDays) : undefined;
  const hasFile = (day: VesselDay) =>
    old === undefined
      ? survey.table!.filesOf(day.vessel, day.date).length > 0
      : old.adds.get(day) !== undefined;
  const unread = unreadDays.map(({ day, message }) => ({
    ...{ day, isUnread: true },
    message: `${message}; ${hasFile(day) ? 'its file stays in the table' : 'it is not in the table'}`,
  }));
  const vesselDays = survey.fileCount + unreadDays.filter(({ day }) => hasFile(day)).length;
  const found = { faults, leftOut, unread, vesselDays };
  const isFaulty = faults.length > 0;
  if (!isFaulty || !isWanted) {
    const version = survey.table?.version ?? (await highestVersion(log, survey));
    return { ...found, version: isFaulty ? version + 1 : version, isWritten: false };
  }
  const table = survey.table ?? (await beginAnew(ports, log, survey, old!, leftOut));
  // Claims first: one that has ended by then has left a receipt.
  const begunOrEnded = async () => [
    ...(await claimedDays(ports.store, job)),
    ...(await receiptDays(ports.store, job)),
  ];
  const asked = survey.table === undefined ? await begunOrEnded() : survey.differing;
  const days = [...new Map(asked.map((day) => [formatVesselDay(day), day])).values()];
  let left = await liveDays(ports, await settleDays(ports, table, survey, days));
  while (left.length > 0) {
    ports.say(`waiting for ${left.length} in progress, the first is ${formatVesselDay(left[0]!)}`);
    await ports.clock.sleep(WAIT_MS, ports.signal);
    left = await liveDays(ports, await settleDays(ports, table, survey, left));
  }
  if (survey.table !== undefined) await settleTable(ports, table, survey);
  return { ...found, vesselDays: table.fileCount, version: table.version, isWritten: true };
}

/** The highest version of entries and checkpoints that are there, and of those that anybody names. */
async function highestVersion(log: TableLogPorts, { named }: LogSurvey): Promise<number> {
  const { entries, checkpoints } = await listLog(log);
  const last = await readLastCheckpoint(log);
  return Math.max(named, ...[entries.at(-1), checkpoints[0], last].map((found) => found?.version ?? -1));
}

async function beginAnew(
  ports: UpkeepPorts,
  log: UpkeepPorts & TableLogPorts,
  survey: LogSurvey,
  { state: kept, adds: keptFiles }: Remains,
  leftOut: LeftOut[],
): Promise<Table> {
  const { job } = survey;
  const metadata = tableMetadata(contentOf(survey), ports.clock.nowMs(), kept.metadata);
  checkTable(job, kept.protocol ?? PROTOCOL, metadata);
  let state = kept;
  for (let outcome = 'taken'; outcome === 'taken'; ) {
    state = new TableState((await highestVersion(log, survey)) + 1);
    outcome = await commitEntry(log, state.version, OPERATION, [
      { protocol: PROTOCOL },
      { metaData: metadata },
    ]);
  }
  Object.assign(state, { protocol: PROTOCOL, metadata });
  for (const [appId, transaction] of kept.transactions) state.transactions.set(appId, transaction);
  const days = await receiptDays(ports.store, job);
  const again: LeftOut[] = [];
  async function* files(): AsyncGenerator<AddFile[]> {
    let count = keptFiles.size;
    for (const add of keptFiles.values()) state.apply({ add }, state.version);
    yield [...keptFiles.values()];
    for await (const found of publishedFiles(ports, days, again, () => true)) {
      // The next look finds out about one whose receipt can be read again meanwhile.
      const adds = found.filter((file) => keptFiles.get(file.day) === undefined && !misfitOf(file, survey));
      for (const { add } of adds) state.apply({ add }, state.version);
      yield adds.map(({ add }) => add);
      count += adds.length;
      ports.say(`${job}: ${count} of ${days.length} vessel-days are in the checkpoint`);
    }
  }
  await writeCheckpoint(log, state, files());
  const named = new Set(survey.leftOut.map(({ day }) => formatVesselDay(day)));
  leftOut.push(...again.filter(({ day }) => !named.has(formatVesselDay(day))));
  return await openTable(log);
}

/** Those of the vessel-days that are claimed, and so are left as they are; the table has what the receipts of all others say. */
async function settleDays(
  ports: UpkeepPorts,
  table: Table,
  survey: LogSurvey,
  days: readonly VesselDay[],
): Promise<VesselDay[]> {
  const claimed: VesselDay[] = [];
  for (let from = 0; from < days.length; from += BATCH) {
    const batch = days.slice(from, from + BATCH);
    for (let isSettled = false; !isSettled; ) {
      ports.signal.throwIfAborted();
      await table.refresh();
      const { version } = table;
      const [actions, left]: [Action[], VesselDay[]] = [[], []];
      await forEachAtOnce(batch, READS_AT_ONCE, async (day) => {
        const claims = await findClaims(ports.store, day);
        const receipt = await unlessDamaged(readReceipt(ports.store, day));
        if (claims.some((claim) => !isEnded(claim, receipt))) left.push(day);
        else if (receipt !== undefined) actions.push(...(await actionsOf(ports, table, survey, receipt)));
      });
      isSettled = actions.length === 0 || (await table.commit(version, OPERATION, actions));
      if (isSettled) claimed.push(...left);
    }
  }
  return claimed;
}

/** What an entry says so that a vessel-day is as its receipt says; nothing where its object is not. */
async function actionsOf(
  { store }: UpkeepPorts,
  table: Table,
  survey: LogSurvey,
  receipt: Receipt,
): Promise<Action[]> {
  const { vessel, date, object } = receipt;
  const isMisstated = object !== null && survey.misstated.has(tablePath(receipt, object.key));
  if (!isMisstated && !differs(table, receipt)) return [];
  const file = object && (await unlessDamaged(describeFile(store, receipt, object)));
  if (object !== null && (!file || misfitOf(file, survey) !== undefined)) return [];
  const common = { partitionValues: { vessel, date }, deletionTimestamp: table.nowMs(), dataChange: true };
  const files = table.filesOf(vessel, date);
  const others = files.filter(({ path }) => path !== file?.add.path);
  const removes = others.map(({ path, sizeBytes: size }): Action => ({ remove: { path, size, ...common } }));
  // The same file again brings no other rows.
  const dataChange = others.length === files.length;
  return file ? [...removes, { add: { ...file.add, dataChange } }] : removes;
}

async function liveDays(ports: UpkeepPorts, days: readonly VesselDay[]): Promise<VesselDay[]> {
  const live: VesselDay[] = [];
  for (const day of days) {
    const claims = await findClaims(ports.store, day);
    if (claims.some(({ file }) => file !== undefined && isLive(file, ports))) live.push(day);
  }
  return live;
}

/** The table has the columns of its files, and a checkpoint that can be read. */
async function settleTable(ports: UpkeepPorts, table: Table, survey: LogSurvey): Promise<void> {
  const content = contentOf(survey);
  for (let isSettled = false; !isSettled; ) {
    await table.refresh();
    const metadata = table.metadata!;
    const metaData = tableMetadata(content, ports.clock.nowMs(), metadata);
    const actions = (await columnFaults(metadata, content)).length > 0 ? [{ metaData }] : [];
    isSettled = await table.commit(table.version, OPERATION, actions);
  }
  await table.checkpoint();
}
