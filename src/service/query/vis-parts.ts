/**
 * `/statistics/vis-3-8a/{imo_number}/{primary}/sec/{secondary}/meta/{metadata}`, all four optional: a part that
 * the path stops before, or names without levels (`sec/meta/…`), matches anything; a path with `meta` but
 * without `sec` matches series without a secondary item.
 */
import { compileLevel } from '../../core/model/level-pattern.ts';
import type { Pattern } from './series-matcher.ts';

type Part = (found: readonly string[] | undefined) => boolean;

/** The series that a path's levels select. */
export function compileVisParts(levels: readonly string[]): Pattern {
  const wanted = partsOf(levels);
  const vessel = wanted.vessel === undefined ? () => true : compileLevel(wanted.vessel);
  const [primary, secondary, meta] = [part(wanted.primary), part(wanted.secondary), part(wanted.meta)];
  const noSecondary = wanted.secondary === undefined && wanted.meta !== undefined;
  return {
    first: (text) => vessel(namesVessel(text) ? text : ''),
    cost: 1,
    tail: (tail, firstLevel) => {
      // Without a vessel before them, `sec` and `meta` are no first level but begin a part.
      const found = partsOf([firstLevel, ...tail]);
      return (
        !(noSecondary && found.secondary !== undefined) &&
        primary(found.primary) &&
        secondary(found.secondary) &&
        meta(found.meta)
      );
    },
  };
}

function namesVessel(firstLevel: string): boolean {
  return firstLevel !== 'sec' && firstLevel !== 'meta';
}

function part(wanted: readonly string[] | undefined): Part {
  if (wanted === undefined || wanted.length === 0) return () => true;
  const patterns = wanted.map(compileLevel);
  return (found) =>
    found?.length === patterns.length && patterns.every((matches, index) => matches(found[index]!));
}

function partsOf(levels: readonly string[]) {
  const metaAt = levels.indexOf('meta');
  const beforeMeta = metaAt < 0 ? levels : levels.slice(0, metaAt);
  const secAt = beforeMeta.indexOf('sec');
  return {
    vessel: beforeMeta[0] === 'sec' ? undefined : beforeMeta[0],
    primary: secAt < 0 ? beforeMeta.slice(1) : beforeMeta.slice(1, secAt),
    secondary: secAt < 0 ? undefined : beforeMeta.slice(secAt + 1),
    meta: metaAt < 0 ? undefined : levels.slice(metaAt + 1),
  };
}
