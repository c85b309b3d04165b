/**
 * Vessel-days that failed for good or were refused, until they are published. That they failed says the failed set; that
 * they are no better yet says their note in the lake, which goes when they are published, whoever does that.
 */
import { forEachAtOnce } from '../concurrency.ts';
import { unlessDamaged } from '../lake/json.ts';
import { readNote } from '../lake/ledger.ts';
import type { Clock, Note, VesselDay } from '../model/index.ts';
import { formatVesselDay, isDate, VESSEL_ID } from '../model/index.ts';
import type { ToldCause } from '../notify/causes.ts';
import { MOST_MEMBERS } from '../notify/causes.ts';
import type { ObjectStore } from '../store/store.ts';
import type { FailedDays } from './failed-watch.ts';
import type { LookBack } from './look-backs.ts';

/** As `formatVesselDay` writes them, with the code of each. */
interface DayTroubles {
  readonly failed: ReadonlyMap<string, string>;
  readonly refused: ReadonlyMap<string, string>;
}

interface Seen {
  readonly inFailedSet: FailedDays;
  readonly lookBack: LookBack | undefined;
  /** What was told of the job, `failed` and `refused`. */
  readonly told: readonly ToldCause[];
}

/** A note that was there is looked at again after this. */
const LOOK_AGAIN_MS = 300_000;
const GETS_AT_ONCE = 8;

export function createDayTroubles(store: ObjectStore, clock: Clock) {
  const notes = new Map<string, { readonly note: Note | undefined; readonly untilMs: number }>();

  async function noteOf(id: string, day: VesselDay): Promise<Note | undefined> {
    const known = notes.get(id);
    if (known !== undefined && clock.monotonicMs() < known.untilMs) return known.note;
    const note = await unlessDamaged(readNote(store, day));
    notes.set(id, { note, untilMs: clock.monotonicMs() + LOOK_AGAIN_MS });
    return note;
  }

  /** Throws what the store throws. */
  return async (job: string, { inFailedSet, lookBack, told }: Seen): Promise<DayTroubles> => {
    const letters = [...inFailedSet.failed, ...inFailedSet.refused];
    const dead = new Set(letters.map(({ day }) => formatVesselDay(day)));
    const toldAs = (kind: string) =>
      new Set(told.filter((one) => one.kind === kind).flatMap((one) => one.members));
    const [toldFailed, toldRefused] = [toldAs('failed'), toldAs('refused')];
    const lost = new Set(lookBack?.refused.map(formatVesselDay));
    const ids = [...new Set([...dead, ...lost, ...toldFailed, ...toldRefused])].slice(0, MOST_MEMBERS);
    for (const id of notes.keys()) if (id.startsWith(`${job}/`) && !ids.includes(id)) notes.delete(id);
    const [failed, refused] = [new Map<string, string>(), new Map<string, string>()];
    await forEachAtOnce(ids, GETS_AT_ONCE, async (id) => {
      const day = parseVesselDay(id);
      const note = day && (await noteOf(id, day));
      if (day === undefined || note === undefined || note.state === 'waiting') return;
      // A look-back has found since that it would lose nothing.
      const isMended =
        lookBack !== undefined && day.date >= lookBack.from && day.date < lookBack.to && !lost.has(id);
      const isRefused = note.state === 'refused' || (toldRefused.has(id) && !dead.has(id));
      if (isRefused) {
        if (dead.has(id) || !isMended) refused.set(id, note.code);
      } else if (dead.has(id) || toldFailed.has(id)) failed.set(id, note.code);
    });
    return { failed, refused };
  };
}

function parseVesselDay(id: string): VesselDay | undefined {
  const [job, vessel, date] = id.split('/');
  return job !== undefined && VESSEL_ID.test(vessel ?? '') && isDate(date ?? '')
    ? { job, vessel: vessel!, date: date! }
    : undefined;
}
