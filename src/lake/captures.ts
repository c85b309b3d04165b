/**
 * On which days snapshots of metadata were taken. One that equals the last leaves no receipt: these marks alone say that it
 * was taken, and so since when none is. Of each vessel the newest stays: `_captures/<job>/date=…/vessel=….json`.
 */
import type { VesselDay } from '../core/model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { jsonBytes } from './json.ts';
import { captureKey, keyPrefix, parseCaptureKey } from './keys.ts';

/** Dates by vessel, ascending. */
type Captures = ReadonlyMap<string, readonly string[]>;

/** Throws what the store throws. */
export async function readCaptures(store: Pick<ObjectStore, 'list'>, job: string): Promise<Captures> {
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

/** The newest one of a vessel until today, where any is known. Later ones are those of a clock that was wrong. */
export function lastCapture(captures: Captures, vessel: string, today: string): string | undefined {
  return captures.get(vessel)?.findLast((date) => date <= today);
}

/** What stands in `_captures/`: the key says the rest. */
interface Capture {
  readonly captureVersion: 1;
}

const CAPTURE: Capture = { captureVersion: 1 };

/** The snapshot of a day was taken; `before`: the marks of the vessel that were there, which this one replaces. */
export async function markCaptured(
  store: Pick<ObjectStore, 'put' | 'removeAll'>,
  day: VesselDay,
  before: readonly string[],
): Promise<void> {
  await store.put(captureKey(day), jsonBytes(CAPTURE));
  const older = before.filter((date) => date < day.date);
  if (older.length > 0) await store.removeAll(older.map((date) => captureKey({ ...day, date })));
}
