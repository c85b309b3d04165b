/** One vessel-day whose totals are not the receipt's: what changed, and what may be done about it. */
import type { ComparedDay, Note, Receipt, VesselDay } from '../model/index.ts';
import { readDetail, readNote } from '../publish/ledger.ts';
import type { DayTotals, PublishedTotals, SeriesChange } from '../verify/day-totals.ts';
import { describeChanges, findChanges, losses, seriesTotals, totalReadings } from '../verify/day-totals.ts';
import type { ExportPorts } from './ports.ts';
import { askDayCounts } from './source.ts';
import type { ResolvedSeries, SourceContext } from './source-context.ts';

/** What reconcile keeps of each receipt. */
export type ReconciledReceipt = Pick<
  Receipt,
  'settingsHash' | 'rows' | 'epoch' | 'proof' | 'finishedAt' | 'source' | 'detail'
>;

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

/** A series that changed, by name where it has one. */
export interface NamedChange extends SeriesChange {
  readonly id: string | null;
}

export interface ReconcileFinding {
  readonly day: VesselDay;
  readonly state: FindingState;
  readonly message: string;
  readonly changes: readonly NamedChange[];
  /** Readings that the source counted when the day was published, and that it counts now. */
  readonly published: number | null;
  readonly now: number | null;
  /** What was compared; absent where nothing was. */
  readonly compared?: ComparedDay;
}

/** The cheap comparison, which is all that an unchanged day needs. */
export function isUnchanged(receipt: ReconciledReceipt, digest: string): boolean {
  return receipt.source?.totalsSha256 === digest;
}

/** What the source counts by day. */
interface Seen {
  readonly now: DayTotals;
  readonly digest: string;
}

/** What changed; undefined when nothing did after all. */
export async function compareDay(
  ports: Pick<ExportPorts, 'store'>,
  context: SourceContext,
  series: Pick<ResolvedSeries, 'idOf' | 'expressions'>,
  receipt: ReconciledReceipt,
  seen: Seen,
): Promise<ReconcileFinding | undefined> {
  const { day } = context;
  const published = await readPublished(ports, receipt);
  const policy = receipt.proof === 'at-least' ? 'at-least' : 'exact';
  const changesOf = (now: DayTotals) =>
    published === undefined ? undefined : findChanges(published, now, policy);
  if (changesOf(seen.now)?.length === 0) return undefined;
  const note = await readNoteOf(ports, day);
  const compared = { epoch: receipt.epoch, totalsSha256: seen.digest };
  const base = { day, compared, published: receipt.source?.rows ?? receipt.rows };
  if (note?.state === 'refused' && note.totalsSha256 === seen.digest) {
    const now = totalReadings(seen.now);
    return {
      ...base,
      now,
      changes: named(changesOf(seen.now) ?? [], series),
      state: 'refused',
      message: note.message,
    };
  }
  // A second look, as an export would take it: by the hour.
  const byHour = seriesTotals((await askDayCounts(context, { ...series, metadata: [] })).toJson());
  const found = { ...base, now: totalReadings(byHour) };
  if (published === undefined) return { ...found, ...withoutDetail(receipt, found.now) };
  const changes = findChanges(published, byHour, policy);
  const nameOf = (id: string) => series.idOf.get(id) ?? id;
  if (changes.length === 0) {
    const message = `the source contradicts itself, and the published day equals its counts by the hour: by the day ${describeChanges(changesOf(seen.now) ?? [], nameOf)}. Nothing is exported; report it to the operator of the query service`;
    return { ...found, changes: named(changesOf(seen.now) ?? [], series), state: 'disagree', message };
  }
  const state = losses(changes).length > 0 ? 'would-shrink' : 'changed';
  return { ...found, changes: named(changes, series), state, message: describeChanges(changes, nameOf) };
}

async function readPublished(
  { store }: Pick<ExportPorts, 'store'>,
  { detail }: ReconciledReceipt,
): Promise<PublishedTotals | undefined> {
  const found = await readDetail(store, { detail });
  if (found === undefined) return undefined;
  return { ours: seriesTotals(found.ours), source: found.source ? seriesTotals(found.source) : undefined };
}

/** A note that cannot be read says nothing. */
async function readNoteOf({ store }: Pick<ExportPorts, 'store'>, day: VesselDay): Promise<Note | undefined> {
  return await readNote(store, day).catch(() => undefined);
}

/** Where the detail of the published day is lost or damaged, its total is what is left. */
function withoutDetail(
  receipt: ReconciledReceipt,
  now: number,
): Pick<ReconcileFinding, 'state' | 'message' | 'changes'> {
  const before = receipt.source?.rows ?? receipt.rows;
  const message = `${before} readings published, ${now} now; its detail object is missing or damaged, so nothing is known of single series`;
  return { state: now < before ? 'would-shrink' : 'changed', message, changes: [] };
}

function named(changes: readonly SeriesChange[], series: Pick<ResolvedSeries, 'idOf'>): NamedChange[] {
  return changes.map((change) => ({ ...change, id: series.idOf.get(change.timeSeriesId) ?? null }));
}
