/**
 * Which days are missing where nothing is in the lake, and which nobody has asked for. Asked for is
 *
 * - what the job exports by itself (`askedFrom`), of the vessels that it exports now: a vessel that discovery names no more
 *   has left once its last published day is as old as the ledger knows vessels by, and others have been published since;
 * - what a backfill that is defined is about;
 * - elsewhere a hole of at most a month between two published days of a vessel: a longer one lies between two exports.
 *
 * A job whose days are all asked for costs no request here; else it costs one or two, and lists of the days beside the
 * range where a hole may reach beyond it.
 */
import { createTurns } from '../core/concurrency.ts';
import type { Clock, Job, VesselDay } from '../core/model/index.ts';
import { addDays, datesBetween, dateToMicros, MICROS_PER_DAY, microsToDate } from '../core/model/index.ts';
import { askedFrom } from '../core/plan/asked.ts';
import type { AskedState, DayRange, DayState } from '../core/plan/due.ts';
import { lastFiringMs } from '../core/plan/firings.ts';
import type { ObjectStore } from '../store/store.ts';
import { belongsTo, listBackfills } from './backfills.ts';
import { keyPrefix, parseNoteKey } from './keys.ts';
import { DayMap } from './ledger/day-map.ts';
import { listVessels } from './ledger/ledger.ts';
import { firstReceiptDate, knownDays, lastReceiptDates } from './ledger/newest-days.ts';
import { lastSnapshotDate, readRegularFrom, readSnapshotDates } from './marks.ts';

/** What a vessel-day without receipt is called; `planned`: `missing` or `not-due`. */
type NameOpenDay = (day: VesselDay, planned: DayState) => AskedState;

interface AskedPorts {
  readonly store: ObjectStore;
  readonly clock: Pick<Clock, 'nowMs'>;
}

interface AskedRange extends DayRange {
  readonly isPublished: (day: Pick<VesselDay, 'vessel' | 'date'>) => boolean;
  /** True: these are the vessels that the job exports now, as the service lists them. */
  readonly isCurrent?: boolean;
}

/** Longest hole between two published days that is one of what was asked for. */
const MAX_HOLE_DAYS = 31;
const LISTS_AT_ONCE = 8;
/** Later than every date of a lake. */
const NEVER = '9999-12-31';

export async function readAskedDays(ports: AskedPorts, job: Job, range: AskedRange): Promise<NameOpenDay> {
  const today = microsToDate(ports.clock.nowMs() * 1_000);
  if (job.dataset === 'metadata') return await readAskedSnapshots(ports, job, today);
  const start = await startOf(ports.store, job, today);
  const to = range.to <= today ? range.to : addDays(today, 1);
  const left = await leftVessels(ports.store, job, { ...range, to }, today, start);
  if (start <= range.from && left.size === 0) return (_day, planned) => planned;
  const backfills = (await listBackfills(ports.store, () => {})).filter((each) => each.job === job.name);
  const startOfVessel = (vessel: string) => (left.has(vessel) ? NEVER : start);
  const holes = await readHoles(ports.store, job.name, { ...range, to }, startOfVessel, addDays(today, 1));
  return (day, planned) => {
    if (planned !== 'missing' || (day.date >= start && !left.has(day.vessel)) || holes.get(day) === true)
      return planned;
    return backfills.some((backfill) => belongsTo(backfill, day)) ? planned : 'not-asked-for';
  };
}

/** NEVER: the job asks for nothing by itself. Reads only what that depends on. */
async function startOf(store: ObjectStore, job: Job, today: string): Promise<string> {
  if (job.since !== undefined) return job.since;
  const history =
    job.schedule === undefined
      ? { regularFrom: await readRegularFrom(store, job.name) }
      : { firstDate: await firstReceiptDate(store, job.name) };
  return askedFrom(job, today, history) ?? NEVER;
}

/** Vessels with a day that the job would ask for, if they had not left. */
async function leftVessels(
  store: ObjectStore,
  job: Job,
  { from, to, vessels, isPublished, isCurrent = false }: AskedRange,
  today: string,
  start: string,
): Promise<ReadonlySet<string>> {
  if (isCurrent || !('discover' in job.vessels)) return new Set();
  if (start >= to) return new Set();
  const asked = datesBetween(start > from ? start : from, to);
  const turn = createTurns();
  const unseen = new Set<string>();
  for (const vessel of vessels) {
    if (asked.some((date) => !isPublished({ vessel, date }))) unseen.add(vessel);
    await turn();
  }
  const recent = datesBetween(addDays(today, 1 - knownDays(job.dataset)), addDays(today, 1)).reverse();
  const isInRange = (date: string) => date >= from && date < to;
  const inRange = recent.filter(isInRange);
  for (const vessel of unseen)
    if (inRange.some((date) => isPublished({ vessel, date }))) unseen.delete(vessel);
  let isAnyKnown = inRange.some((date) => vessels.some((vessel) => isPublished({ vessel, date })));
  for (const date of recent) {
    if (unseen.size === 0 || (isAnyKnown && isInRange(date))) continue;
    const published = await listVessels(store, job.name, date);
    isAnyKnown ||= published.length > 0;
    for (const { vessel } of published) unseen.delete(vessel);
  }
  // Where nothing is published any more, everything has stopped, and nobody has left.
  if (unseen.size === 0 || !isAnyKnown) return new Set();
  // Nor has who is tried, and fails.
  for await (const { key } of store.list(keyPrefix('note', job.name))) {
    const day = parseNoteKey(key);
    if (day !== undefined && recent.includes(day.date)) unseen.delete(day.vessel);
  }
  return unseen;
}

/** Holes before the day from which on a vessel's days are asked for anyway. */
async function readHoles(
  store: ObjectStore,
  job: string,
  range: AskedRange,
  startOfVessel: (vessel: string) => string,
  tomorrow: string,
): Promise<DayMap<true>> {
  const { vessels, isPublished } = range;
  const dates = datesBetween(range.from, range.to);
  const holes = new DayMap<true>();
  const ends = vessels.map((vessel) => {
    const start = startOfVessel(vessel);
    return dates.filter((date) => date < start).length;
  });
  const openAt = (index: (row: number) => number) =>
    new Set(
      vessels.filter((vessel, row) => {
        const date = dates[index(row)];
        return ends[row]! > 0 && date !== undefined && !isPublished({ vessel, date });
      }),
    );
  const before = openAt(() => 0);
  const beyond = openAt((row) => (ends[row] === dates.length ? dates.length - 1 : dates.length));
  const ago = await distances(store, job, before, (days) => addDays(range.from, -days));
  const until = (vessel: string) => (startOfVessel(vessel) < tomorrow ? startOfVessel(vessel) : tomorrow);
  const ahead = await distances(store, job, beyond, (days) => addDays(range.to, days - 1), until);
  const turn = createTurns();
  for (const [row, vessel] of vessels.entries()) {
    await turn();
    const end = ends[row]!;
    let last = ago.has(vessel) ? -ago.get(vessel)! : Number.NEGATIVE_INFINITY;
    const close = (next: number) => {
      const hole = next - last - 1;
      if (hole <= MAX_HOLE_DAYS)
        for (const date of dates.slice(Math.max(0, last + 1), Math.min(next, end)))
          holes.set({ vessel, date }, true);
      last = next;
    };
    for (let index = 0; index < end; index++) if (isPublished({ vessel, date: dates[index]! })) close(index);
    if (ahead.has(vessel)) close(dates.length - 1 + ahead.get(vessel)!);
  }
  return holes;
}

/** How many days from the range each vessel's nearest published day is, as far as a hole may reach; none from its `limit` on. */
async function distances(
  store: ObjectStore,
  job: string,
  vessels: ReadonlySet<string>,
  dateAt: (days: number) => string,
  limitOf: (vessel: string) => string = () => NEVER,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const wanted = new Set([...vessels].filter((vessel) => dateAt(1) < limitOf(vessel)));
  for (let days = 1; days <= MAX_HOLE_DAYS && wanted.size > 0; days += LISTS_AT_ONCE) {
    const chunk = Array.from({ length: LISTS_AT_ONCE }, (_, index) => days + index);
    const listed = await Promise.all(chunk.map((each) => listVessels(store, job, dateAt(each))));
    for (const [index, published] of listed.entries())
      for (const { vessel } of published)
        if (dateAt(chunk[index]!) < limitOf(vessel) && wanted.delete(vessel))
          found.set(vessel, chunk[index]!);
  }
  return found;
}

/** Missing are those asked for since the last that is known to have been taken: an equal one leaves no receipt. */
async function readAskedSnapshots(
  { store, clock }: AskedPorts,
  job: Job,
  today: string,
): Promise<NameOpenDay> {
  const [published, snapshots] = [
    await lastReceiptDates(store, job.name, addDays(today, 1)),
    await readSnapshotDates(store, job.name),
  ];
  const { schedule } = job;
  const regularFrom = schedule === undefined ? await readRegularFrom(store, job.name) : undefined;
  const nowMs = clock.nowMs();
  const asked = new Map<string, boolean>();
  const isAsked = (date: string) => {
    const dayMs = dateToMicros(date) / 1_000;
    const untilMs = Math.min(nowMs, dayMs + MICROS_PER_DAY / 1_000 - 1);
    const known =
      asked.get(date) ??
      (schedule === undefined ? date >= (regularFrom ?? NEVER) : lastFiringMs(schedule, untilMs) >= dayMs);
    asked.set(date, known);
    return known;
  };
  return ({ vessel, date }, planned) => {
    const [receipt, mark] = [published.get(vessel), lastSnapshotDate(snapshots, vessel, today)];
    // Older versions left no mark.
    if (mark === undefined) return receipt === undefined ? planned : 'not-due';
    const last = receipt !== undefined && receipt > mark ? receipt : mark;
    return date > last && date <= today && isAsked(date) ? 'missing' : 'not-due';
  };
}
