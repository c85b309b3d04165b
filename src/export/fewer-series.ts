/**
 * Fewer series than at the vessel's last published day. Credentials may have been narrowed, an answer may have been
 * short, and a source may lose sensors: the vessel-day waits, and is published with a warning if it is still so.
 */
import { cleanForeignText, NotYetError } from '../core/errors.ts';
import type { ComparedSeries, FewerSeriesWarning, Receipt, Waiting } from '../core/model/index.ts';
import { addDays, formatVesselDay, LOOK_AGAIN_DELAYS_MS } from '../core/model/index.ts';
import { selectHash } from '../core/plan/settings-hash.ts';
import { unlessDamaged } from '../lake/json.ts';
import { readDetail, readNote, readReceipt } from '../lake/ledger/ledger.ts';
import { describeWarning, howToAccept, isAccepted, readAcceptance } from '../lake/warnings.ts';
import { notMeantNow, type SelectedBefore } from '../source/select-meaning.ts';
import type { ObjectStore } from '../store/store.ts';
import type { AskedDay, ClaimedDay, ExportPorts, ExportTask } from './ports.ts';

/** Names in a warning. */
export const NAMED = 3;
/** Of a name in a warning: receipts stay small. */
export const NAME_CHARS = 100;

/** Was the receipt made with the task's `select`? An older one says so only together with all other settings. */
export function hasSameSelect({ job, settingsHash }: ExportTask, receipt: Receipt): boolean {
  return receipt.selectHash === undefined
    ? receipt.settingsHash === settingsHash
    : receipt.selectHash === selectHash(job);
}

/** What the receipt has to say of fewer series. Throws NotYetError `fewer-series` while the day waits. */
export async function warnOfFewerSeries(asked: AskedDay): Promise<FewerSeriesWarning | undefined> {
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
  // As few as the last day has: that one has waited.
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

/**
 * The published day of the vessel that the task is compared with: one of the same `select`, where there is one. Throws
 * DataError `damaged-log` where the log of the table has lost that day's version.
 */
export async function lastReceipt({ ports, task, previous }: ClaimedDay): Promise<Receipt | undefined> {
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

/** `select` has changed since: what it does not mean any more is no loss; whatever else it does not yield is. */
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
  // What another `select` meant is counted already: only what is lost besides is looked for.
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

/** Returns once the day has waited long enough; else throws NotYetError. */
async function waitForSeries({ ports, task, series }: AskedDay, remark: FewerSeriesWarning): Promise<void> {
  const { day, job } = task;
  const selectedSeries = series.idOf.size;
  const nowMs = ports.clock.nowMs();
  // A snapshot is of today, whenever the wait began.
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
  throw new NotYetError(
    'fewer-series',
    `${formatVesselDay(day)}: ${describeWarning(remark)}. Check what the credentials may read. From ${waiting.publishedFrom} on a run publishes the day without them; if they are gone for good, accept it with '${howToAccept(day)}' and run again`,
    nextMs - nowMs,
    waiting,
  );
}

/** How many series were selected; of a receipt that does not say, those that had readings. */
function selectedCount({ selectedSeries, series }: Receipt): number {
  return selectedSeries ?? series;
}

/**
 * The series that were selected, with the `select` that named them where that is known; of an older receipt those that had
 * readings, without names. Undefined where detail or object is missing or damaged.
 */
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
      // Whatever is wrong with it: the snapshot cannot be compared with.
      return undefined;
    }
  }
  const detail = await unlessDamaged(readDetail(store, receipt));
  if (detail === undefined) return undefined;
  const { series, ours, select } = detail;
  const names = new Map(series ? Object.entries(series) : Object.keys(ours).map((id) => [id, null]));
  return { names, select };
}
