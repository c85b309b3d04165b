/** Attempts and uploads that are under way or were left: no damage, and to be told apart from it. */
import type { VesselDay } from '../../core/model/index.ts';
import { isEnded } from '../../lake/claims/claim.ts';
import { claimedDays, type FoundClaim, findClaims } from '../../lake/claims/claims.ts';
import { unlessDamaged } from '../../lake/json.ts';
import { dayPrefix, parseDayFileKey } from '../../lake/keys.ts';
import { readReceipt } from '../../lake/ledger/ledger.ts';
import { isWanted, objectPrefixes, type WalkRange } from './lake-walk.ts';
import type { ReadableStore } from './object-check.ts';

/** Every vessel-day of the range with a claim, or with an open upload that no claim explains, in one sentence. */
export async function* describeUnfinished(
  store: ReadableStore,
  range: WalkRange,
): AsyncGenerator<{ day: VesselDay; text: string }> {
  const claimed = new Set<string>();
  for (const day of await claimedDays(store, range.job)) {
    const newest = isWanted(range, day) ? (await findClaims(store, day))[0] : undefined;
    if (newest === undefined || isEnded(newest, await unlessDamaged(readReceipt(store, day)))) continue;
    claimed.add(dayPrefix(day));
    yield { day, text: describeClaim(newest) };
  }
  for (const prefix of objectPrefixes(range)) {
    for await (const { key, startedMs } of store.listUploads(prefix)) {
      const day = parseDayFileKey(key);
      if (day === undefined || !isWanted(range, day) || claimed.has(dayPrefix(day))) continue;
      const begun = new Date(startedMs).toISOString();
      yield { day, text: `an upload without a claim, begun at ${begun}; gc removes it` };
    }
  }
}

/** `attempt 3 was last alive at 2026-01-06T06:20:00.000Z` */
function describeClaim({ epoch, file }: FoundClaim): string {
  if (file?.heartbeatMs === undefined) return `attempt ${epoch} has a claim that cannot be read`;
  const alive =
    file.heartbeatMs === 0
      ? 'gave the day back; the next run goes on'
      : `was last alive at ${new Date(file.heartbeatMs).toISOString()}`;
  return `attempt ${epoch} ${alive}${file.sealed ? '; it has verified the day and publishes it' : ''}`;
}
