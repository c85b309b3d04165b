/** Compares the causes of notices with what was reported, and returns what is new. Pure. */

/** `hold`, `night`, …, and the job that it concerns, if any. This folder does not know which causes there are. */
interface CauseName {
  readonly kind: string;
  readonly job?: string;
}

/** A lasting condition that people have to know of. */
export interface Cause extends CauseName {
  /** What it consists of: vessel-days, dates, vessels. A member that was not reported before is reported. */
  readonly members: readonly string[];
  readonly text: string;
}

/** What was reported of a cause, until it is over. */
export interface ToldCause extends CauseName {
  /** Every member that was reported, up to MAX_MEMBERS. */
  readonly members: readonly string[];
  /** The highest number of members: beyond MAX_MEMBERS only a higher number is reported. */
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

/** What is known of a cause now: the cause itself, or the text that reports its end. */
export type KnownCause = Cause | string;
export type KnownCauses = ReadonlyMap<string, KnownCause>;

/** The changes to report, and the record after they are reported. A cause that is not in `now` stays as it was reported. */
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
  // The record does not have every member that was reported.
  if (known.count > MAX_MEMBERS) return members.length > known.count ? members.slice(known.count) : [];
  const old = new Set(known.members);
  return members.filter((member) => !old.has(member));
}

/** A member that goes and comes back while the cause lasts is not reported again. */
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
