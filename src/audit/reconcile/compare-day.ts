/** One vessel-day whose totals are not the receipt's: what changed, and what may be done about it. */

import type { ComparedDay, VesselDay } from '../../core/model/index.ts';
import { CountsDisagreeError } from '../../core/proof/compare-counts.ts';
import type { DayTotals, PublishedTotals, SeriesChange } from '../../core/proof/day-totals.ts';
import {
  describeChanges,
  findChanges,
  seriesTotals,
  totalReadings,
  totalsOf,
} from '../../core/proof/day-totals.ts';
import { lossesAmong } from '../../core/proof/shrink-guard.ts';
import type { ExportPorts } from '../../export/ports.ts';
import { detailKey } from '../../lake/keys.ts';
import type { IndexedPart } from '../../lake/ledger/indexed-receipt.ts';
import { readDetail, readNote } from '../../lake/ledger/ledger.ts';
import { type ResolvedSeries, type SourceContext, seriesName } from '../../source/context.ts';
import { askDayCounts } from '../../source/counts.ts';

/**
 * `missing`, `stale`: as the ledger says. `changed`: an export is due. `would-shrink`: the source has fewer
 * readings of a series than are published. `refused`: the same, and already said. `disagree`: the source's own
 * statistics contradict each other. `unreadable`: the receipt is damaged.
 */
export type FindingState = (typeof FINDING_STATES)[number];
export const FINDING_STATES = [
  'missing',
  'stale',
  'changed',
  'would-shrink',
  'refused',
  'disagree',
  'unreadable',
] as const;

export interface ReconcileFinding {
  readonly day: VesselDay;
  readonly state: FindingState;
  readonly message: string;
  readonly changes: readonly (SeriesChange & { readonly id: string | null })[];
  /** Readings that the source counted when the day was published, and that it counts now. */
  readonly published: number | null;
  readonly now: number | null;
  readonly compared?: ComparedDay;
}

/** What is kept of the receipts of a look-back, of which there may be hundreds of thousands. */
export const PUBLISHED_MEMBERS = [
  ...(['settingsHash', 'rows', 'epoch', 'proof', 'sourceRows', 'totalsSha256', 'detailSha256'] as const),
];
export type PublishedDay = IndexedPart<(typeof PUBLISHED_MEMBERS)[number]>;

/** What differs between a published day and the source; undefined when nothing does after all. */
export async function findDifference(
  { store }: Pick<ExportPorts, 'store'>,
  context: SourceContext,
  series: Pick<ResolvedSeries, 'idOf' | 'expressions'>,
  receipt: PublishedDay,
  counted: { readonly now: DayTotals; readonly digest: string },
): Promise<ReconcileFinding | undefined> {
  const { day } = context;
  const { detailSha256: sha256 } = receipt;
  const detail = await readDetail(store, {
    detail: sha256 === undefined ? null : { key: detailKey(day), sha256 },
  });
  const published: PublishedTotals | undefined = detail && {
    ours: seriesTotals(detail.ours),
    source: detail.source ? seriesTotals(detail.source) : undefined,
  };
  const policy = receipt.proof === 'at-least' ? 'at-least' : 'exact';
  const changesByDay = published && findChanges(published, counted.now, policy);
  if (changesByDay?.length === 0) return undefined;
  // A note that cannot be read says nothing.
  const note = await readNote(store, day).catch(() => undefined);
  const compared = { epoch: receipt.epoch, totalsSha256: counted.digest };
  const base = { day, compared, published: receipt.sourceRows ?? receipt.rows };
  const named = (changes: readonly SeriesChange[] = []) =>
    changes.map((change) => ({ ...change, id: series.idOf.get(change.timeSeriesId) ?? null }));
  if (note?.state === 'refused' && note.totalsSha256 === counted.digest) {
    const now = totalReadings(counted.now);
    return { ...base, now, changes: named(changesByDay), state: 'refused', message: note.message };
  }
  // A second look, as an export would take it: by the hour.
  const byHour = await askDayCounts(context, series).then(
    (counts) => totalsOf(counts),
    (error: unknown) => {
      if (error instanceof CountsDisagreeError) return error;
      throw error;
    },
  );
  if (byHour instanceof CountsDisagreeError) {
    const now = totalReadings(counted.now);
    return { ...base, now, changes: named(changesByDay), state: 'disagree', message: byHour.message };
  }
  const now = totalReadings(byHour);
  if (published === undefined) {
    // Where the detail of the published day is lost or damaged, its total is what is left.
    const message = `${base.published} readings published, ${now} now; its detail object is missing or damaged, so nothing is known of single series`;
    const state = now < base.published ? 'would-shrink' : 'changed';
    return { ...base, now, changes: [], state, message };
  }
  const changes = findChanges(published, byHour, policy);
  const nameOf = (id: string) => seriesName(series, id);
  if (changes.length === 0) {
    const message = `the source contradicts itself, and the published day equals its counts by the hour: by the day ${describeChanges(changesByDay ?? [], nameOf)}. Nothing is exported; report it to the operator of the query service`;
    return { ...base, now, changes: named(changesByDay), state: 'disagree', message };
  }
  const state = lossesAmong(changes).length > 0 ? 'would-shrink' : 'changed';
  return { ...base, now, changes: named(changes), state, message: describeChanges(changes, nameOf) };
}
