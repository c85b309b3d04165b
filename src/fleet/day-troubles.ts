/**
 * Vessel-days that failed for good or were refused, until they are published. That they failed says the failed set; that
 * they are no better yet says their note in the lake, which goes when they are published, whoever does that. Pure.
 */
import { formatVesselDay } from '../core/model/index.ts';
import type { FailedDays } from './events.ts';
import type { ToldCause } from './notify/causes.ts';

/** As `formatVesselDay` writes them, with the code of each. */
export interface DayTroubles {
  readonly failed: ReadonlyMap<string, string>;
  readonly refused: ReadonlyMap<string, string>;
}

/** `told`: what was told of the job. */
export function dayTroubles({ letters, notes }: FailedDays, told: readonly ToldCause[]): DayTroubles {
  const dead = new Set(letters.map(({ day }) => formatVesselDay(day)));
  const toldAs = (kind: string) =>
    new Set(told.filter((one) => one.kind === kind).flatMap((one) => one.members));
  const [toldFailed, toldRefused] = [toldAs('failed'), toldAs('refused')];
  const [failed, refused] = [new Map<string, string>(), new Map<string, string>()];
  for (const { note } of notes.values()) {
    const id = formatVesselDay(note);
    // A try that failed meanwhile takes nothing back.
    if (note.state === 'refused' || (note.state === 'failed' && toldRefused.has(id) && !dead.has(id)))
      refused.set(id, note.code);
    else if (note.state === 'failed' && (dead.has(id) || toldFailed.has(id))) failed.set(id, note.code);
  }
  return { failed, refused };
}
