/**
 * Compares the series of a vessel-day with the vessel's last published day. If there are fewer, credentials may have been
 * narrowed, an answer cut, or sensors removed. The vessel-day waits, and is then published with a warning.
 */
import { hash } from 'node:crypto';
import { cleanForeignText, NotYetError, RetriableError, shortName } from '../core/errors.ts';
import type {
  ComparedSeries,
  FewerSeriesWarning,
  Receipt,
  SeriesWarning,
  Waiting,
} from '../core/model/index.ts';
import { addDays, formatVesselDay, LOOK_AGAIN_DELAYS_MS } from '../core/model/index.ts';
import { selectHash } from '../core/plan/settings-hash.ts';
import { unlessDamaged } from '../lake/json.ts';
import { readDetail, readNote, readReceipt } from '../lake/ledger/ledger.ts';
import {
  describeWarning,
  howToAccept,
  isAccepted,
  isWarningAccepted,
  readAcceptance,
} from '../lake/warnings.ts';
import { notMeantNow, type SelectedBefore } from '../source/select-meaning.ts';
import type { ObjectStore } from '../store/store.ts';
import type { AskedDay, ClaimedDay, ExportPorts, ExportTask } from './ports.ts';

/** The warnings of the receipt about its series. Throws RetriableError `no-series`, and NotYetError `fewer-series`. */
export async function judgeSeries(asked: AskedDay) {
  await guardOptional(asked);
  return { remark: await warnOfFewerSeries(asked), warnings: await warnOfOthers(asked) };
}

/** Throws RetriableError `no-series` if an optional expression matches none now but did when last published. */
async function guardOptional(asked: AskedDay): Promise<void> {
  const { task } = asked;
  const { unmatched } = asked.series;
  if (unmatched.length === 0 || task.allowShrink) return;
  const last = await lastReceipt(asked);
  // With another `select` only series are compared: the expressions that matched them are not known.
  if (last === undefined || !hasSameSelect(task, last)) return;
  // Receipts of older versions do not have the expressions that matched.
  const { selectHash, unmatchedExpressions = [] } = last;
  const hadSeries = (expression: string) =>
    !unmatchedExpressions.includes(task.job.select.indexOf(expression));
  const lost = selectHash === undefined ? [] : unmatched.filter(hadSeries);
  if (lost.length === 0) return;
  const named = lost.map((expression) => `'${shortName(expression)}'`).join(', ');
  const text = `${formatVesselDay(task.day)}: optional ${named} matches no series, but did for ${last.date}, the vessel's last published day; check what the credentials may read. If they are gone for good, 'run --allow-shrink' publishes the day without them, and the days after it follow`;
  throw new RetriableError('no-series', text);
}

async function warnOfOthers(asked: AskedDay): Promise<SeriesWarning[]> {
  const { ports, task } = asked;
  const { others } = asked.series;
  if (others.length === 0) return [];
  const { job, vessel, date } = task.day;
  const each = others.map((one) => `${one.timeSeriesId} ${one.vessel}`).sort();
  const names = others.map((one) => `${cleanForeignText(one.id, [], NAME_CHARS)} (${one.vessel})`).sort();
  const digest = hash('sha256', each.join('\n')).slice(0, 16);
  const counted = { series: others.length, names: names.slice(0, NAMED), digest };
  const warning: SeriesWarning = { kind: 'other-vessel', ...counted, since: date };
  if (isWarningAccepted(await readAcceptance(ports.store, job, vessel), warning)) return [];
  const last = await lastReceipt(asked);
  const since = last?.warnings?.find(({ digest }) => digest === warning.digest)?.since ?? date;
  return [{ ...warning, since }];
}

/** Maximum of names in a warning. */
const NAMED = 3;
/** Maximum length of a name in a warning: receipts stay small. */
const NAME_CHARS = 100;

/** Whether the receipt was made with the task's `select`. An older one shows it only together with all other settings. */
export function hasSameSelect({ job, settingsHash }: ExportTask, receipt: Receipt): boolean {
  return receipt.selectHash === undefined
    ? receipt.settingsHash === settingsHash
    : receipt.selectHash === selectHash(job);
}

/** The warning of the receipt about fewer series. Throws NotYetError `fewer-series` while the day waits. */
async function warnOfFewerSeries(asked: AskedDay): Promise<FewerSeriesWarning | undefined> {
  const { ports, task } = asked;
  const { idOf } = asked.series;
  const last = await lastReceipt(asked);
  if (last === undefined) return undefined;
  const isSame = hasSameSelect(task, last);
  const lost = isSame ? undefined : await lostAcross(asked, last);
  const comparedWith: ComparedSeries = lost?.comparedWith ??
    last.remark?.comparedWith ?? {
      date: last.date,
      finishedAt: last.finishedAt,
      series: selectedCount(last),
    };
  if (idOf.size >= comparedWith.series) return undefined;
  const acceptance = await readAcceptance(ports.store, task.day.job, task.day.vessel);
  if (isAccepted(acceptance, comparedWith, idOf.size)) return undefined;
  // The last day has as few, and has waited already.
  if (isSame && last.remark !== undefined && idOf.size === selectedCount(last)) return last.remark;
  const remark: FewerSeriesWarning = {
    kind: 'fewer-series',
    ...(lost?.missing ?? (await findMissing(asked, last, comparedWith))),
    comparedWith,
    since: last.remark?.since ?? task.day.date,
  };
  const isLess = !isSame || last.remark === undefined || idOf.size < selectedCount(last);
  if (isLess && !task.allowShrink) await waitForSeries(asked, remark);
  return remark;
}

/** The vessel's published day to compare with: one with the same `select`, if there is one. Throws `damaged-log`. */
async function lastReceipt({ ports, task, previous }: ClaimedDay): Promise<Receipt | undefined> {
  const { lastPublished, tables } = ports;
  const isComparable = (receipt: Receipt) => hasSameSelect(task, receipt);
  const snapshots = [previous, task.lastSnapshot].filter((receipt) => receipt !== undefined);
  const last =
    task.job.dataset === 'metadata'
      ? (snapshots.find(isComparable) ?? snapshots[0])
      : await lastPublished.of(task.day, previous, isComparable);
  if (last !== undefined) await tables.expect(last);
  return last;
}

/** `select` has changed since: series that it no longer contains are no loss; other missing ones are. */
async function lostAcross({ ports, task: { day, job }, context, series: { idOf } }: AskedDay, last: Receipt) {
  const { store, log } = ports;
  const compared = await comparedReceipt(store, last);
  const known = await Promise.all(
    [...new Set([last, compared])].map((one) => readSelectedSeries(store, one)),
  );
  if (known.includes(undefined))
    log.warn(
      { vesselDay: formatVesselDay(day) },
      `'select' has changed since ${last.date}, and which series that day had cannot be read: they are not compared`,
    );
  const before = known.filter((one) => one !== undefined);
  const names = new Map(before.flatMap((one) => [...one.names].filter(([id]) => !idOf.has(id))));
  const isKnown = before.every(({ select }) => select !== undefined);
  const select = isKnown ? before.flatMap((one) => one.select!) : undefined;
  const notMeant = names.size === 0 ? names : await notMeantNow(context, { names, select });
  const lost = [...names].filter(([id]) => !notMeant.has(id)).map(([id, name]) => name ?? id);
  const [{ date }, { finishedAt }, series] = [compared, last, idOf.size + lost.length];
  return {
    comparedWith: { date, finishedAt, series, selectHash: selectHash(job) },
    missing: { missing: lost.length, names: firstOf(lost) },
  };
}

/** The day that the last one was compared with, as long as series have been missing since. */
async function comparedReceipt(store: ExportPorts['store'], last: Receipt): Promise<Receipt> {
  const { date = last.date } = last.remark?.comparedWith ?? {};
  const { job, vessel } = last;
  return date === last.date
    ? last
    : ((await unlessDamaged(readReceipt(store, { job, vessel, date }))) ?? last);
}

async function findMissing(
  { ports: { store }, series: { idOf } }: AskedDay,
  last: Receipt,
  { series, selectHash: across }: ComparedSeries,
) {
  // Series that left `select` are counted already: only further losses count.
  const compared = across === undefined ? await comparedReceipt(store, last) : last;
  const before = await readSelectedSeries(store, compared);
  const lost = [...(before?.names ?? [])].filter(([id]) => !idOf.has(id)).map(([id, name]) => name ?? id);
  const known = across === undefined ? [] : (last.remark?.names ?? []);
  return { missing: Math.max(series - idOf.size, lost.length), names: firstOf([...known, ...lost]) };
}

function firstOf(names: readonly string[]): string[] {
  const first = names.toSorted().slice(0, NAMED);
  return first.map((name) => cleanForeignText(name, [], NAME_CHARS));
}

/** Returns if the day has waited long enough; otherwise throws NotYetError. */
async function waitForSeries({ ports, task, series }: AskedDay, remark: FewerSeriesWarning): Promise<void> {
  const { day, job } = task;
  const selectedSeries = series.idOf.size;
  const nowMs = ports.clock.nowMs();
  // A snapshot is always of today, whenever the wait began.
  const dates = job.dataset === 'metadata' ? [day.date, addDays(day.date, -1)] : [day.date];
  let firstSeenMs = nowMs;
  for (const date of dates) {
    const waiting = (await unlessDamaged(readNote(ports.store, { ...day, date })))?.waiting;
    if (waiting === undefined || selectedSeries < waiting.selectedSeries) continue;
    if (waiting.comparedWith.selectHash !== remark.comparedWith.selectHash) continue;
    // A clock that was ahead must not make it wait for longer.
    firstSeenMs = Math.min(firstSeenMs, Date.parse(waiting.firstSeenAt) || nowMs);
  }
  let lookAtMs = firstSeenMs;
  let nextMs: number | undefined;
  for (const delayMs of LOOK_AGAIN_DELAYS_MS) {
    lookAtMs += delayMs;
    if (nextMs === undefined && lookAtMs > nowMs) nextMs = lookAtMs;
  }
  if (nextMs === undefined) return;
  const waiting: Waiting = {
    firstSeenAt: new Date(firstSeenMs).toISOString(),
    publishedFrom: new Date(lookAtMs).toISOString(),
    selectedSeries,
    comparedWith: remark.comparedWith,
  };
  const text = `${formatVesselDay(day)}: ${describeWarning(remark)}. Check what the credentials may read. From ${waiting.publishedFrom} on a run publishes the day without them; if they are gone for good, accept it with '${howToAccept(day)}' and run again`;
  throw new NotYetError('fewer-series', text, nextMs - nowMs, waiting);
}

/** How many series were selected; for older receipts, those that had readings. */
function selectedCount({ selectedSeries, series }: Receipt): number {
  return selectedSeries ?? series;
}

/** The selected series and the `select`, as far as they are known; undefined if they cannot be read. */
export async function readSelectedSeries(
  store: ObjectStore,
  receipt: Pick<Receipt, 'dataset' | 'detail'> & { readonly object: { readonly key: string } | null },
): Promise<SelectedBefore | undefined> {
  if (receipt.dataset === 'metadata') {
    const object = receipt.object === null ? undefined : await store.get(receipt.object.key);
    if (object === undefined) return undefined;
    const { readSeriesNames } = await import('../source/decode/series-names.ts');
    try {
      return { names: readSeriesNames(object.bytes) };
    } catch {
      // A damaged snapshot cannot be compared with.
      return undefined;
    }
  }
  const detail = await unlessDamaged(readDetail(store, receipt));
  if (detail === undefined) return undefined;
  const { series, ours, select } = detail;
  const names = new Map(series ? Object.entries(series) : Object.keys(ours).map((id) => [id, null]));
  return { names, select };
}
