/**
 * Marks for what leaves no receipt, so that the lake shows what was asked for and taken.
 *
 * `_captures/<job>/date=…/vessel=….json`: the snapshot of a day was taken. One that equals the last leaves no receipt: the mark
 * alone says that it was taken, and so since when none is. Of each vessel the newest stays.
 * `_asked/<job>.json`: since when a job is run without dates.
 */
import type { Job, VesselDay } from '../core/model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { jsonBytes, unlessDamaged } from './json.ts';
import { captureKey, keyPrefix, parseCaptureKey, regularRunsKey } from './keys.ts';
import { REGULAR_RUNS_FILE, readFile } from './shapes.ts';

type SnapshotDates = ReadonlyMap<string, readonly string[]>;

export async function readSnapshotDates(
  store: Pick<ObjectStore, 'list'>,
  job: string,
): Promise<SnapshotDates> {
  const dates = new Map<string, string[]>();
  for await (const { key } of store.list(keyPrefix('capture', job))) {
    const day = parseCaptureKey(key);
    if (day === undefined) continue;
    const ofVessel = dates.get(day.vessel) ?? [];
    dates.set(day.vessel, ofVessel);
    ofVessel.push(day.date);
  }
  return dates;
}

/** The newest mark of a vessel until today, if any. Later ones come from a wrong clock. */
export function lastSnapshotDate(dates: SnapshotDates, vessel: string, today: string): string | undefined {
  return dates.get(vessel)?.findLast((date) => date <= today);
}

/** The content of a mark: the key has the rest. */
const SNAPSHOT_MARK: { readonly captureVersion: 1 } = { captureVersion: 1 };

/** Record that the snapshot of a day was taken; `before`: earlier marks of the vessel, which this one replaces. */
export async function markSnapshot(
  store: Pick<ObjectStore, 'put' | 'removeAll'>,
  day: VesselDay,
  before: readonly string[],
): Promise<void> {
  await store.put(captureKey(day), jsonBytes(SNAPSHOT_MARK));
  const older = before.filter((date) => date < day.date);
  if (older.length > 0) await store.removeAll(older.map((date) => captureKey({ ...day, date })));
}

interface RegularRuns {
  readonly regularRunsVersion: 1;
  readonly from: string;
}

/** The first day of a `run` without dates; undefined: there was none. An invalid file is ignored. */
export async function readRegularFrom(
  store: Pick<ObjectStore, 'get'>,
  job: string,
): Promise<string | undefined> {
  const read = readFile<RegularRuns>(store, regularRunsKey(job), REGULAR_RUNS_FILE);
  return (await unlessDamaged(read))?.file.from;
}

/** Record that a job is run without dates, as by cron: from this day on its days are asked for, unless the job has `since`. */
export async function markRegularRun(
  store: Pick<ObjectStore, 'get' | 'putIfAbsent'>,
  job: Job,
  from: string,
): Promise<void> {
  if (job.schedule !== undefined || job.since !== undefined) return;
  if ((await readRegularFrom(store, job.name)) !== undefined) return;
  const file: RegularRuns = { regularRunsVersion: 1, from };
  await store.putIfAbsent(regularRunsKey(job.name), jsonBytes(file));
}
