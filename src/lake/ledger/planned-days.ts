/** Derives from the ledger which vessel-days of a job are done, and which have to be exported. */
import type { ApiVersion, Clock, Job, Log, VesselDay } from '../../core/model/index.ts';
import { datesBetween } from '../../core/model/index.ts';
import { type DayRange, type PlannedDay, planVesselDays, type ReceiptSettings } from '../../core/plan/due.ts';
import { settingsHash } from '../../core/plan/settings-hash.ts';
import type { ObjectStore } from '../../store/store.ts';
import type { IndexedMember } from './indexed-receipt.ts';
import { readLedger } from './ledger-index.ts';

/** What a vessel-day's state depends on besides the ledger: the clock, and the settings' API version. */
export interface PlanPorts {
  readonly clock: Clock;
  readonly apiVersion: ApiVersion;
  /** It has the service's clock after the first request. */
  readonly client?: { serverNowMs(): number | undefined };
}

/** Every vessel-day of a range with its state, by date and then vessel. */
export function plannedDays<T extends ReceiptSettings>(
  { clock, apiVersion, client }: PlanPorts,
  job: Job,
  { from, to, vessels }: DayRange,
  receipts: { get(day: VesselDay): T | undefined },
): Generator<PlannedDay<T>> {
  return planVesselDays({
    ...{ job, from, to, vessels, nowMs: clock.nowMs(), serverNowMs: client?.serverNowMs() },
    settingsHash: settingsHash(job, apiVersion),
    receiptOf: (day) => receipts.get(day),
  });
}

interface PlannedDaysOptions<M extends IndexedMember> {
  /** Further members to read of each receipt. */
  readonly members: readonly M[];
  /** False for callers that promise to write nothing. */
  readonly writeIndex: boolean;
  /** Further dates whose receipts are read. */
  readonly moreDates?: readonly string[];
}

/** The vessel-days of a range, by the ledger as it is now. Throws what the store throws. */
export async function readPlannedDays<M extends IndexedMember>(
  ports: PlanPorts & { readonly store: ObjectStore; readonly log: Log },
  job: Job,
  range: DayRange,
  { members, writeIndex, moreDates = [] }: PlannedDaysOptions<M>,
) {
  const { store, log } = ports;
  const { receipts, damaged } = await readLedger({
    ...{ store, log, job: job.name, vessels: new Set(range.vessels), writeIndex },
    dates: [...new Set([...datesBetween(range.from, range.to), ...moreDates])].sort(),
    members: ['settingsHash', 'proof', ...members],
  });
  return { days: [...plannedDays(ports, job, range, receipts)], receipts, damaged };
}
