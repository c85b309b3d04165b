/** What the detail of a vessel-day says of its hours and series, with names and units as the lake knows them. */
import type { CountsJson, Receipt, VesselDay } from '../core/model/index.ts';
import {
  addDays,
  DayCounts,
  dateToMicros,
  formatVesselDay,
  microsToDate,
  microsToIso,
} from '../core/model/index.ts';
import { parseDetailKey } from '../lake/keys.ts';
import { type Detail, findDetail } from '../lake/ledger/ledger.ts';
import { lastReceiptDates } from '../lake/ledger/newest-days.ts';
import { readSeriesOf } from '../query/catalogue/from-lake.ts';
import type { DaySeries, VesselDayAnswer } from './answers.ts';
import type { WebPorts } from './ports.ts';

/** Time series id → what the newest snapshot says of it. */
type KnownSeries = ReadonlyMap<string, { readonly name: string | null; readonly unit: string | null }>;

/** For so long a look at the snapshots is kept: a page that is walked from day to day asks for the same. */
const LOOK_MS = 60_000;
/** Vessels whose series are kept. */
const MAX_VESSELS = 20;

/** Series by the newest snapshots of the lake's metadata jobs, kept for a while. Throws what the store throws. */
export function createKnownSeries({ store, jobs, clock, log }: WebPorts) {
  const looks = new Map<string, { readonly atMs: number; readonly known: Promise<KnownSeries> }>();

  async function look(vessel: string): Promise<KnownSeries> {
    const known = new Map<string, { name: string | null; unit: string | null }>();
    const tomorrow = addDays(microsToDate(clock.nowMs() * 1_000), 1);
    for (const { name: job } of jobs.filter(({ dataset }) => dataset === 'metadata')) {
      const date = (await lastReceiptDates(store, job, tomorrow)).get(vessel);
      if (date === undefined) continue;
      await readSeriesOf({ store, log }, { job, vessel, date }, ({ timeSeriesId, name, names, unit }) => {
        known.set(timeSeriesId, { name: name ?? [...names.values()][0] ?? null, unit: unit || null });
      });
    }
    return known;
  }

  return (vessel: string): Promise<KnownSeries> => {
    const kept = looks.get(vessel);
    if (kept !== undefined && clock.monotonicMs() - kept.atMs < LOOK_MS) return kept.known;
    const known = look(vessel);
    looks.delete(vessel);
    looks.set(vessel, { atMs: clock.monotonicMs(), known });
    known.catch(() => looks.delete(vessel));
    for (const oldest of looks.keys()) if (looks.size > MAX_VESSELS) looks.delete(oldest);
    return known;
  };
}

/** The detail that a receipt names, or why there is none. Throws what the store throws. */
export async function dayDetail(
  store: WebPorts['store'],
  day: VesselDay,
  receipt: Receipt,
): Promise<{ readonly detail?: Detail; readonly problem?: string }> {
  if (receipt.detail === null) return {};
  const { key } = receipt.detail;
  const named = parseDetailKey(key);
  if (named === undefined || formatVesselDay(named) !== formatVesselDay(day))
    return { problem: `the receipt names ${key} as its detail, which is not of this vessel-day` };
  const found = await findDetail(store, receipt);
  if (found.version === null)
    return { problem: `${key}: the detail is gone; 'vessel-export verify' says more` };
  const { detail } = found;
  if (detail === undefined)
    return {
      problem: `${key}: the detail is not the one that the receipt names; 'vessel-export verify' says more`,
    };
  return { detail };
}

/** Readings of each hour over all series: ours and the source's. */
export function hoursOf({ ours, source }: Detail): NonNullable<VesselDayAnswer['hours']> {
  return { ours: hourTotals(ours), source: source === null ? null : hourTotals(source) };
}

function hourTotals(counts: CountsJson): number[] {
  const totals = new Array<number>(24).fill(0);
  for (const rows of Object.values(counts)) for (const [hour, count] of rows) totals[hour]! += count;
  return totals;
}

/** Most rows first; those that were selected and had none are last. */
export function seriesOf(date: string, { ours, series = {} }: Detail, known: KnownSeries): DaySeries[] {
  const counts = DayCounts.fromJson(dateToMicros(date), ours);
  const names = new Map(Object.entries(series));
  const ids = new Set([...counts.ids(), ...names.keys()]);
  const found = [...ids].map((id): DaySeries => {
    const span = counts.seriesSpan(id);
    return {
      id,
      name: textOrNull(names.get(id)) ?? known.get(id)?.name ?? null,
      unit: known.get(id)?.unit ?? null,
      rows: counts.seriesTotal(id),
      firstTimestamp: span === undefined ? null : microsToIso(span.firstMicros),
      lastTimestamp: span === undefined ? null : microsToIso(span.lastMicros),
    };
  });
  return found.sort((a, b) => b.rows - a.rows || ((a.name ?? a.id) < (b.name ?? b.id) ? -1 : 1));
}

const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null);
