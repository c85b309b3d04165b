import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RefusedError } from '../../../src/core/errors.ts';
import { type DayTotals, findChanges } from '../../../src/core/proof/day-totals.ts';
import { guardAgainstShrinking, lossesAmong } from '../../../src/core/proof/shrink-guard.ts';

const totals = (counts: Record<string, number>): DayTotals =>
  new Map(
    Object.entries(counts).map(([id, count]) => [
      id,
      { count, firstMicros: undefined, lastMicros: undefined },
    ]),
  );
const amount = (counts: Record<string, number>) => ({
  total: Object.values(counts).reduce((sum, count) => sum + count, 0),
  bySeries: totals(counts),
});
type Replacement = Parameters<typeof guardAgainstShrinking>[0];

const DAY: Replacement = {
  day: { job: 'm', vessel: 'IMO9321483', date: '2026-01-05' },
  counted: 'readings',
  published: amount({ a: 5, b: 5 }),
  candidate: amount({ a: 5, b: 5 }),
  idOf: new Map([
    ['a', 'Speed'],
    ['b', 'Draft'],
  ]),
  change: { select: 'same' },
};

/** The refusal of a replacement; undefined where it may take place. */
function refusal(more: Partial<Replacement>): RefusedError | undefined {
  try {
    guardAgainstShrinking({ ...DAY, ...more });
    return undefined;
  } catch (error) {
    if (error instanceof RefusedError) return error;
    throw error;
  }
}

test('a series that would lose readings is named although the total grows', () => {
  const refused = refusal({ candidate: amount({ a: 100, b: 4 }), totalsSha256: 'digest' });
  expect(refused).toMatchObject({ code: 'would-shrink', totalsSha256: 'digest' });
  expect(refused!.message).toBe(
    'm/IMO9321483/2026-01-05: refused to replace the published day by one with fewer readings: 1 series would lose 1 reading: Draft: 5 published, 4 now. The published day stays; if the source is right, run again with --allow-shrink',
  );
  expect(refusal({})).toBeUndefined();
});

const onlyA = new Map([['a', 'Speed']]);
const NARROWED = { candidate: amount({ a: 5 }), idOf: onlyA };

test('series that are no longer selected are lost too, unless that is accepted of them', () => {
  const names = { b: 'Draft' };
  const published = { ...DAY.published, names };
  const refused = refusal({ ...NARROWED, published, change: { select: 'changed' } });
  expect(refused?.message).toContain('Draft: 5 published, 0 now. The published day stays');
  expect(refused?.message).toContain("'vessel-export accept m' accepts that once for the job");
  expect(refused?.message).toContain('--allow-shrink');
  const accepted = (ids: string[]) => ({ select: 'accepted', notMeant: new Set(ids) }) as const;
  expect(refusal({ ...NARROWED, change: accepted(['b']) })).toBeUndefined();
  const unknown = refusal({ ...NARROWED, published, change: accepted([]) });
  expect(unknown?.message).toContain('but it still covers these, or that is unknown');
});

test('a series that is still selected is no matter of what select has become', () => {
  const refused = refusal({ candidate: amount({ a: 4, b: 5, c: 100 }), change: { select: 'changed' } });
  expect(refused?.message).toContain('Speed: 5 published, 4 now');
  expect(refused?.message).not.toContain('vessel-export accept');
});

test('where single series are not known, the total decides, and nothing once select has changed', () => {
  const published = { total: 10 };
  expect(refusal({ published, candidate: amount({ a: 10 }) })).toBeUndefined();
  expect(refusal({ published, candidate: amount({ a: 9 }) })?.message).toContain(
    '10 published, 9 now (its detail object is missing or damaged)',
  );
  const changed = { published, change: { select: 'changed' } } as const;
  expect(refusal({ ...changed, candidate: amount({ a: 99 }) })?.message).toContain(
    "10 published, 99 now (its detail object is missing or damaged, and 'select' has changed since: it is unknown",
  );
  expect(refusal({ ...changed, published: { total: 0 } })).toBeUndefined();
});

test('a snapshot does not give way to one without a series that it has', () => {
  const snapshot = { counted: 'series', published: amount({ a: 1, b: 1 }) } as const;
  expect(refusal({ ...snapshot, candidate: amount({ a: 1, b: 1, c: 1 }) })).toBeUndefined();
  expect(refusal({ ...snapshot, candidate: amount({ a: 1, c: 1, d: 1 }) })?.message).toContain(
    'refused to replace the published snapshot by one with fewer series: 1 series would be lost: Draft. The published snapshot stays',
  );
});

const anyTotals = fc.dictionary(fc.string({ maxLength: 3 }), fc.integer({ min: 1, max: 4 }), { maxKeys: 5 });

test('losses are the series with fewer readings, and just those', () => {
  fc.assert(
    fc.property(anyTotals.map(totals), anyTotals.map(totals), (a, b) => {
      const lost = lossesAmong(findChanges({ ours: a, source: a }, b, 'exact'));
      const fewer = [...a].filter(([id, { count }]) => (b.get(id)?.count ?? 0) < count);
      expect(lost.map(({ timeSeriesId }) => timeSeriesId)).toEqual(fewer.map(([id]) => id).sort());
    }),
  );
});
