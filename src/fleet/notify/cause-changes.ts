/** Causes for which somebody is told, and what of them is new. Pure. */

/** `hold`, `night`, …; with the job that it is about, if it is about one. Which there are, this folder does not know. */
interface CauseName {
  readonly kind: string;
  readonly job?: string;
}

/** Something that lasts, and that somebody has to know of. */
export interface Cause extends CauseName {
  /** What it consists of: vessel-days, dates, vessels. One that was not told before is news. */
  readonly members: readonly string[];
  readonly text: string;
}

/** What was told of a cause, until it is over. */
export interface ToldCause extends CauseName {
  /** Every member that was told, up to MAX_MEMBERS. */
  readonly members: readonly string[];
  /** How many there were at most: beyond MAX_MEMBERS only more of them is news. */
  readonly count: number;
  readonly sinceMs: number;
}

export interface Change extends CauseName {
  readonly what: 'begun' | 'more' | 'over';
  readonly text: string;
  readonly members: readonly string[];
}

export const MAX_MEMBERS = 2_000;

export function causeKey({ kind, job }: CauseName): string {
  return job === undefined ? kind : `${kind}/${job}`;
}

/** What is known about one now: the cause, or what is to be said once there is none any more. */
export type KnownCause = Cause | string;
export type KnownCauses = ReadonlyMap<string, KnownCause>;

/** What is to be told, and what then will have been told. What is not in `now` stays as it was told. */
export function compareCauses(
  told: readonly ToldCause[],
  now: KnownCauses,
  nowMs: number,
): { readonly changes: Change[]; readonly told: ToldCause[] } {
  const changes: Change[] = [];
  const next: ToldCause[] = [];
  const before = new Map(told.map((one) => [causeKey(one), one]));
  for (const [key, one] of before) {
    const cause = now.get(key);
    if (cause === undefined) next.push(one);
    else if (typeof cause === 'string')
      changes.push({ ...nameOf(one), what: 'over', text: cause, members: [] });
  }
  for (const [key, cause] of now) {
    if (typeof cause === 'string') continue;
    const known = before.get(key);
    const fresh = freshMembers(known, cause);
    const what = known === undefined ? 'begun' : 'more';
    if (what === 'begun' || fresh.length > 0)
      changes.push({ ...nameOf(cause), what, text: cause.text, members: fresh });
    next.push(remember(known, cause, fresh, nowMs));
  }
  return { changes, told: next };
}

function freshMembers(known: ToldCause | undefined, { members }: Cause): readonly string[] {
  if (known === undefined) return members;
  // Not all that was told is remembered.
  if (known.count > MAX_MEMBERS) return members.length > known.count ? members.slice(known.count) : [];
  const old = new Set(known.members);
  return members.filter((member) => !old.has(member));
}

/** A member that goes and comes back while the cause lasts was told. */
function remember(known: ToldCause | undefined, cause: Cause, fresh: readonly string[], nowMs: number) {
  const before = known?.members ?? [];
  return {
    ...nameOf(cause),
    members: [...before, ...fresh].slice(0, MAX_MEMBERS),
    count: Math.max(known?.count ?? 0, before.length + fresh.length, cause.members.length),
    sinceMs: known?.sinceMs ?? nowMs,
  };
}

function nameOf({ kind, job }: CauseName): CauseName {
  return job === undefined ? { kind } : { kind, job };
}
