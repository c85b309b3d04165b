/** Names that somebody wrote: which jobs they mean, and what may have been meant by one that does not exist. */
import { ConfigError, shortName } from './errors.ts';
import type { Job } from './model/index.ts';

/** The jobs with these names, all where none is named. `place`: where they are. Throws ConfigError `unknown-job`. */
export function pickJobs(jobs: readonly Job[], names: readonly string[], place = 'here'): Job[] {
  const known = jobs.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  const found = `no job '${unknown.map(shortName).join("', '")}' ${place}; there are: ${known.join(', ') || 'none'}`;
  const hints = unknown.map((name) => didYouMean(name, known)).join('');
  if (unknown.length > 0) throw new ConfigError('unknown-job', found + hints);
  return jobs.filter((job) => names.length === 0 || names.includes(job.name));
}

export function jobNamed(jobs: readonly Job[], name: string, place?: string): Job {
  return pickJobs(jobs, [name], place)[0]!;
}

/** Of `names`, the one nearest to `written`, at most `edits` away; undefined when none is. Case does not count. */
export function nearestName(written: string, names: Iterable<string>, edits: number): string | undefined {
  let nearest: { readonly name: string; readonly away: number } | undefined;
  for (const name of names) {
    const away = editsBetween(written.toLowerCase(), name.toLowerCase());
    if (away <= edits && away < (nearest?.away ?? Number.POSITIVE_INFINITY)) nearest = { name, away };
  }
  return nearest?.name;
}

/** `; did you mean 'x'?`, or nothing: up to a third of a name may be wrong. */
export function didYouMean(written: string, names: Iterable<string>): string {
  const nearest = nearestName(written, names, Math.ceil(written.length / 3));
  return nearest === undefined ? '' : `; did you mean '${nearest}'?`;
}

/** Letters to add, drop, replace, or swap with their neighbour, to make `b` of `a`. */
function editsBetween(a: string, b: string): number {
  let [beforeLast, last]: number[][] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = last![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(replaced, last![j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j]!, beforeLast![j - 2]! + 1);
    }
    [beforeLast, last] = [last, row];
  }
  return last![b.length]!;
}
