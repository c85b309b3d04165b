/**
 * Fewer series than at the vessel's last published day. Credentials may have been narrowed, an answer may have been
 * short, and a source may lose sensors: the vessel-day waits, and is published with a remark if it is still so.
 */
import { cleanForeignText, NotYetError } from '../errors.ts';
import { unlessDamaged } from '../lake/json.ts';
import { readNote, readReceipt } from '../lake/ledger.ts';
import { describeRemark, howToAccept, isAccepted, readAcceptance } from '../lake/remarks.ts';
import type { ComparedSeries, Receipt, SeriesRemark, Waiting } from '../model/index.ts';
import { addDays, formatVesselDay, LOOK_AGAIN_DELAYS_MS } from '../model/index.ts';
import { selectHash } from '../plan/settings-hash.ts';
import type { ResolvedSeries } from '../source/context.ts';
import type { ExportPorts, ExportTask } from './ports.ts';
import { readSelectedSeries, selectedCount } from './selected-series.ts';

/** Names in a remark. */
const NAMED = 3;
/** Of a name in a remark: receipts stay small. */
const NAME_CHARS = 100;

/** Was the receipt made with the task's `select`? An older one says so only together with all other settings. */
export function hasSameSelect({ job, settingsHash }: ExportTask, receipt: Receipt): boolean {
  return receipt.selectHash === undefined
    ? receipt.settingsHash === settingsHash
    : receipt.selectHash === selectHash(job);
}

/**
 * What the day's receipt has to say of its series. `own`: the receipt that the day has. Throws NotYetError
 * `fewer-series` while the day waits, and what the store throws.
 */
export async function remarkOnSeries(
  ports: ExportPorts,
  task: ExportTask,
  own: Receipt | undefined,
  { idOf }: Pick<ResolvedSeries, 'idOf'>,
): Promise<SeriesRemark | undefined> {
  const last = await lastReceipt(ports, task, own);
  if (last === undefined) return undefined;
  const comparedWith: ComparedSeries = last.remark?.comparedWith ?? {
    date: last.date,
    finishedAt: last.finishedAt,
    series: selectedCount(last),
  };
  if (idOf.size >= comparedWith.series) return undefined;
  const acceptance = await readAcceptance(ports.store, task.day.job, task.day.vessel);
  if (isAccepted(acceptance, comparedWith, idOf.size)) return undefined;
  // As few as the last day has: that one has waited.
  if (last.remark !== undefined && idOf.size === selectedCount(last)) return last.remark;
  const remark: SeriesRemark = {
    kind: 'fewer-series',
    ...(await findMissing(ports, task, last, comparedWith, idOf)),
    comparedWith,
    since: last.remark?.since ?? task.day.date,
  };
  const isLess = last.remark === undefined || idOf.size < selectedCount(last);
  if (isLess && !task.allowShrink) await waitForSeries(ports, task, remark, idOf.size);
  return remark;
}

/**
 * The published day of the vessel that the task is compared with. Throws DataError `damaged-log` where the log of the table
 * has lost that day's version.
 */
export async function lastReceipt(
  { lastPublished, tables }: ExportPorts,
  task: ExportTask,
  own: Receipt | undefined,
): Promise<Receipt | undefined> {
  const isComparable = (receipt: Receipt) => hasSameSelect(task, receipt);
  const last =
    task.job.dataset === 'metadata'
      ? [own, task.lastSnapshot].find((receipt) => receipt !== undefined && isComparable(receipt))
      : await lastPublished.of(task.day, own, isComparable);
  if (last !== undefined) await tables.expect(last);
  return last;
}

async function findMissing(
  { store }: ExportPorts,
  { day }: ExportTask,
  last: Receipt,
  { date, series }: ComparedSeries,
  idOf: ResolvedSeries['idOf'],
): Promise<Pick<SeriesRemark, 'missing' | 'names'>> {
  const compared = last.date === date ? last : await unlessDamaged(readReceipt(store, { ...day, date }));
  const before = compared && (await readSelectedSeries(store, compared));
  const lost = [...(before ?? [])].filter(([id]) => !idOf.has(id)).map(([id, name]) => name ?? id);
  const names = lost.sort().slice(0, NAMED);
  return {
    missing: Math.max(series - idOf.size, lost.length),
    names: names.map((name) => cleanForeignText(name, [], NAME_CHARS)),
  };
}

/** Returns once the day has waited long enough; else throws NotYetError. */
async function waitForSeries(
  ports: ExportPorts,
  { day, job }: ExportTask,
  remark: SeriesRemark,
  selectedSeries: number,
): Promise<void> {
  const nowMs = ports.clock.nowMs();
  // A snapshot is of today, whenever the wait began.
  const dates = job.dataset === 'metadata' ? [day.date, addDays(day.date, -1)] : [day.date];
  let firstSeenMs = nowMs;
  for (const date of dates) {
    const waiting = (await unlessDamaged(readNote(ports.store, { ...day, date })))?.waiting;
    if (waiting === undefined || selectedSeries < waiting.selectedSeries) continue;
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
    `${formatVesselDay(day)}: ${describeRemark(remark)}. Check what the credentials may read. From ${waiting.publishedFrom} on a run publishes the day without them; if they are gone for good, accept it with '${howToAccept(day)}' and run again`,
    nextMs - nowMs,
    waiting,
  );
}
