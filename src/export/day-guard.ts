/** The never-shrink guard: decides whether new counts may replace the published day. */
import { RefusedError } from '../core/errors.ts';
import { type DayCounts, formatVesselDay } from '../core/model/index.ts';
import { publishedReadings, seriesTotals, totalReadings, totalsOf } from '../core/proof/day-totals.ts';
import { guardAgainstShrinking, type SelectChange } from '../core/proof/shrink-guard.ts';
import { isSelectAccepted } from '../lake/accept.ts';
import type { Claim } from '../lake/claims/claim.ts';
import { objectKey } from '../lake/keys.ts';
import { readUnnamedDetail } from '../lake/ledger/ledger.ts';
import { notMeantNow, type SelectedBefore } from '../source/select-meaning.ts';
import type { ObjectStore } from '../store/store.ts';
import type { AskedDay } from './ports.ts';
import { hasSameSelect, readSelectedSeries } from './series-checks.ts';
import type { SourceCounts } from './source-answers.ts';

export type ShrinkGuard = (counts: DayCounts, source: SourceCounts | undefined) => void;

/** Refuses counts below the published day's, by series if its detail is available. */
export async function openShrinkGuard(asked: AskedDay): Promise<ShrinkGuard> {
  const { ports, task, claim, previous, series } = asked;
  if (task.allowShrink) return () => {};
  // If somebody has removed the receipt, the remaining detail has the counts of the object.
  const isUnnamed = previous === undefined && (await unnamedObject(ports.store, claim)) !== undefined;
  const unnamed = isUnnamed ? await readUnnamedDetail(ports.store, claim.day) : undefined;
  const detail = previous ? await claim.readDetail(previous) : unnamed;
  if (previous === undefined && detail === undefined) return () => {};
  const bySeries = detail && seriesTotals(detail.ours);
  const names = new Map([...(bySeries?.keys() ?? [])].map((id) => [id, detail?.series?.[id] ?? null]));
  const before = { names, select: detail?.select };
  const change = await selectChange(asked, before);
  const total = previous ? publishedReadings(previous) : totalReadings(bySeries!);
  return (counts, source) =>
    guardAgainstShrinking({
      ...{ day: task.day, counted: 'readings', idOf: series.idOf, change },
      published: { total, bySeries, names: detail?.series },
      candidate: { total: counts.total(), bySeries: totalsOf(counts) },
      totalsSha256: source?.totalsSha256,
    });
}

/** The object of a day without a receipt, if there is one. */
async function unnamedObject(store: ObjectStore, claim: Claim): Promise<string | undefined> {
  const { day, objectVersion, replacedFiles, table } = claim;
  if (table !== undefined) return replacedFiles[0]?.key;
  const key = objectKey(day);
  // It is unknown if completing cannot be conditional; otherwise an attempt that finds an object starts again, and has its version.
  const isThere = objectVersion === undefined ? await store.head(key) : objectVersion !== null;
  return isThere ? key : undefined;
}

/** Refuses a snapshot that lacks series which the published one of the same day has. Throws RefusedError too. */
export async function guardSnapshot(asked: AskedDay): Promise<void> {
  const { ports, task, claim, previous } = asked;
  const { idOf } = asked.series;
  if (task.allowShrink) return;
  const key = previous === undefined ? await unnamedObject(ports.store, claim) : undefined;
  const before = await readSelectedSeries(
    ports.store,
    previous ?? { dataset: 'metadata', object: key === undefined ? null : { key }, detail: null },
  );
  if (previous === undefined && before === undefined) return;
  const names = before?.names ?? new Map<string, string | null>();
  const change = await selectChange(asked, { names });
  const once = (ids: Iterable<string>) =>
    new Map([...ids].map((id) => [id, { count: 1, firstMicros: undefined, lastMicros: undefined }]));
  guardAgainstShrinking({
    ...{ day: task.day, counted: 'series', idOf, change },
    published: {
      ...{ total: previous?.rows ?? names.size, bySeries: before && once(names.keys()) },
      names: Object.fromEntries(names),
    },
    candidate: { total: idOf.size, bySeries: once(idOf.keys()) },
  });
}

/** Without a receipt the earlier `select` is unknown. */
async function selectChange(
  { ports, task, context, previous, series: { idOf } }: AskedDay,
  { names, select }: SelectedBefore,
): Promise<SelectChange> {
  if (previous === undefined) return { select: 'same' };
  const { job, day } = task;
  if (previous.dataset !== job.dataset && previous.rows > 0) {
    const text = `${formatVesselDay(day)}: refused to replace published ${previous.dataset} by ${job.dataset}: what is published stays. Give the job of ${job.dataset} another name; if it is to take the place of the other, run again with --allow-shrink`;
    throw new RefusedError('would-shrink', text);
  }
  if (hasSameSelect(task, previous)) return { select: 'same' };
  const gone = new Map([...names].filter(([id]) => !idOf.has(id)));
  if (gone.size === 0 || !(await isSelectAccepted(ports.store, job, previous))) return { select: 'changed' };
  return { select: 'accepted', notMeant: await notMeantNow(context, { names: gone, select }) };
}
