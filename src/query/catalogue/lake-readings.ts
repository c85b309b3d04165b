/** When each series was last read, as the lake knows it: by the counts of the newest exported day of each vessel. */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { DataError, messageOf } from '../../core/errors.ts';
import { DayCounts, dateToMicros, type Job, type Log, type VesselDay } from '../../core/model/index.ts';
import { readDetail, readReceipt } from '../../lake/ledger/ledger.ts';
import type { ObjectStore } from '../../store/store.ts';

/** Of one series on the newest day that a job selected it; null: none that day. */
export interface LakeReading {
  readonly lastMicros: number | null;
  readonly readings: number;
}

/** Details are small, and each is a request of its own. */
const DETAILS_AT_ONCE = 8;

/**
 * Time series id → its last reading. `lastDates`: of each job, vessel → date of its newest receipt. Windows of statistics
 * are no readings. Of series in several jobs the newest counts.
 */
export async function lastLakeReadings(
  ports: { readonly store: ObjectStore; readonly log: Log },
  lastDates: ReadonlyMap<Job, ReadonlyMap<string, string>>,
  vessel: string | undefined,
): Promise<Map<string, LakeReading>> {
  const days = [...lastDates].flatMap(([job, dates]) =>
    job.dataset !== 'measurements'
      ? []
      : [...dates]
          .filter(([of]) => vessel === undefined || of === vessel)
          .map(([of, date]) => ({ job: job.name, vessel: of, date })),
  );
  const found = new Map<string, LakeReading>();
  await forEachAtOnce(days, DETAILS_AT_ONCE, async (day) => {
    for (const [id, reading] of await readingsOf(ports, day)) {
      const known = found.get(id);
      if (known === undefined || isNewer(reading, known)) found.set(id, reading);
    }
  });
  return found;
}

/** At the same time, the one that knows of more. */
function isNewer(one: LakeReading, other: LakeReading): boolean {
  const [a, b] = [one.lastMicros ?? -1, other.lastMicros ?? -1];
  return a === b ? one.readings > other.readings : a > b;
}

/** A receipt or detail that is damaged or gone is said, and hides no other. Older receipts have no detail. */
async function readingsOf(
  { store, log }: { readonly store: ObjectStore; readonly log: Log },
  day: VesselDay,
): Promise<Map<string, LakeReading>> {
  const found = new Map<string, LakeReading>();
  try {
    const receipt = await readReceipt(store, day);
    const detail = receipt && (await readDetail(store, receipt));
    if (detail === undefined) {
      if (receipt?.detail)
        log.warn({ ...day }, 'the last readings are not known: the detail is not that of the receipt');
      return found;
    }
    const counts = DayCounts.fromJson(dateToMicros(day.date), detail.ours);
    for (const id of Object.keys(detail.series ?? {})) found.set(id, { lastMicros: null, readings: 0 });
    for (const id of counts.ids())
      found.set(id, { lastMicros: counts.seriesSpan(id)!.lastMicros, readings: counts.seriesTotal(id) });
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    log.warn({ ...day }, `the last readings are not known: ${messageOf(error)}`);
  }
  return found;
}
