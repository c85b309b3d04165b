/** The claims of a lake that is converted: those alive are waited for, and of the dead nothing is left. */
import { FencedError } from '../errors.ts';
import type { Clock, Log, ProcessId, VesselDay } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { claimedDays } from './claims.ts';
import { acknowledgePublished } from './publish.ts';
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

/** Until there is none. A claim that comes now is withdrawn by whoever put it; until then it looks alive. */
export async function endClaims(ports: ConvertPorts): Promise<void> {
  const { store, clock, signal, say } = ports;
  for (let said = ''; ; ) {
    const live: FencedError[] = [];
    const days = await claimedDays(store);
    for (const day of days) {
      signal.throwIfAborted();
      const alive = await endClaim(ports, day);
      if (alive !== undefined) live.push(alive);
    }
    if (live.length === 0 && days.length === 0) return;
    const text = live.length === 0 ? '' : `waiting for ${live.length} under way: ${live[0]!.message}`;
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
