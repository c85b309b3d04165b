/** The claims of a lake that is converted: those alive are waited for, and of the dead nothing is left. */
import { FencedError } from '../../core/errors.ts';
import type { Clock, Log, ProcessId, VesselDay } from '../../core/model/index.ts';
import { formatVesselDay } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { orDamaged } from '../json.ts';
import { readReceipt } from '../ledger/ledger.ts';
import { acknowledgePublished } from '../publish/publish.ts';
import { claimedDays, findClaims, isLive } from './claims.ts';
import { takeClaim } from './take-claim.ts';

/** Between looks at claims of others. */
export const WAIT_MS = 5_000;

export interface ConvertPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: ProcessId;
  readonly signal: AbortSignal;
  /** Told what it does. */
  readonly say: (text: string) => void;
}

/**
 * Until there is none, but for those of vessel-days whose receipt cannot be read: nobody can own these, and whatever their
 * attempts still write becomes no part of a table. A claim that comes now is withdrawn by whoever put it; until then it
 * looks alive.
 */
export async function endClaims(ports: ConvertPorts): Promise<void> {
  const { store, clock, signal, say } = ports;
  const unreadable = new Set<string>();
  for (let said = ''; ; ) {
    const live: string[] = [];
    const days = (await claimedDays(store)).filter((day) => !unreadable.has(formatVesselDay(day)));
    for (const day of days) {
      signal.throwIfAborted();
      if ((await orDamaged(readReceipt(store, day))) !== 'damaged') {
        const alive = await endClaim(ports, day);
        if (alive !== undefined) live.push(alive.message);
      } else if ((await findClaims(store, day)).some(({ file }) => file && isLive(file, ports)))
        live.push(`${formatVesselDay(day)} is running elsewhere`);
      else unreadable.add(formatVesselDay(day));
    }
    if (live.length === 0 && days.length === 0) return;
    const text = live.length === 0 ? '' : `waiting for ${live.length} under way: ${live[0]}`;
    if (text !== '' && text !== said) say(text);
    said = text;
    if (live.length > 0) await clock.sleep(WAIT_MS, signal);
  }
}

/** Take over a dead claim and leave nothing of it; why a live one is alive. */
async function endClaim(ports: ConvertPorts, day: VesselDay): Promise<FencedError | undefined> {
  try {
    const { claim, inheritance } = await takeClaim(ports, day, { settingsHash: '', takeover: false });
    const { sealedBefore } = inheritance;
    if (sealedBefore !== undefined)
      await acknowledgePublished({ ...ports, onStep: () => {} }, claim, sealedBefore);
    await claim.startClean();
    await claim.finish();
    return undefined;
  } catch (error) {
    if (error instanceof FencedError && error.code === 'running-elsewhere') return error;
    throw error;
  }
}
