/** What the ledger says of a job's vessel-days: which are done, and which are to be exported. */
import type { ApiVersion, Clock, Job, Log, Receipt } from '../model/index.ts';
import { datesBetween } from '../model/index.ts';
import type { DayRange, PlannedDay, ReceiptSettings } from '../plan/due.ts';
import { planVesselDays } from '../plan/due.ts';
import { settingsHash } from '../plan/settings-hash.ts';
import type { ObjectStore } from '../store/store.ts';
import { receiptKey } from './keys.ts';
import type { LedgerAnswer } from './ledger-index.ts';
import { readLedger } from './ledger-index.ts';

/** What a vessel-day's state depends on besides the ledger: the clock, and the settings' API version. */
export interface PlanPorts {
  readonly clock: Clock;
  readonly apiVersion: ApiVersion;
  /** Knows the service's clock once it has been asked. */
  readonly client?: { serverNowMs(): number | undefined };
}

/** Every vessel-day of a range with its state, by date and then vessel. `receipts`: by receipt key. */
export function plannedDays<T extends ReceiptSettings>(
  { clock, apiVersion, client }: PlanPorts,
  job: Job,
  { from, to, vessels }: DayRange,
  receipts: ReadonlyMap<string, T>,
): PlannedDay<T>[] {
  return planVesselDays({
    job,
    from,
    to,
    vessels,
    nowMs: clock.nowMs(),
    serverNowMs: client?.serverNowMs(),
    settingsHash: settingsHash(job, apiVersion),
    receiptOf: (day) => receipts.get(receiptKey(day)),
  });
}

interface PlannedDaysOptions<T> {
  /** What is kept of each receipt. */
  readonly project: (receipt: Receipt) => T;
  /** False for callers that promise to write nothing. */
  readonly writeIndex: boolean;
  /** Dates whose receipts are read besides. */
  readonly moreDates?: readonly string[];
}

/** The vessel-days of a range, by the ledger as it is now. Throws what the store throws. */
export async function readPlannedDays<T extends ReceiptSettings>(
  ports: PlanPorts & { readonly store: ObjectStore; readonly log: Log },
  job: Job,
  range: DayRange,
  { project, writeIndex, moreDates = [] }: PlannedDaysOptions<T>,
): Promise<{ readonly days: PlannedDay<T>[] } & Pick<LedgerAnswer<T>, 'receipts' | 'damaged'>> {
  const { receipts, damaged } = await readLedger({
    store: ports.store,
    job: job.name,
    dates: [...new Set([...datesBetween(range.from, range.to), ...moreDates])].sort(),
    vessels: new Set(range.vessels),
    project,
    writeIndex,
    log: ports.log,
  });
  return { days: plannedDays(ports, job, range, receipts), receipts, damaged };
}
