/** What expressions select: as a reference does that tries every expression, written out, on every series. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SeriesRecord } from '../../../src/service/data/source.ts';
import { parsePath, parseQueryExpression, type Selector } from '../../../src/service/query/expressions.ts';
import { selectSeries } from '../../../src/service/query/selection.ts';
import { neverDue } from '../work.ts';

const DOMAINS: Record<string, { named: string; levels: number; open?: boolean; statisticsOpen?: boolean }> = {
  jsmea: { named: 'jsmea', levels: 8, open: true },
  flat: { named: 'flat', levels: 2, statisticsOpen: true },
  parameters: { named: 'flat', levels: 2 },
  maker: { named: 'maker', levels: 3 },
  'vis-3-8a': { named: 'vis-3-8a', levels: Number.POSITIVE_INFINITY },
};

type Test = (record: SeriesRecord) => boolean;

/** Whether a series' name is one of a domain's levels; undefined where the number of levels is refused. */
function reference(name: string, given: readonly string[], statistics: boolean): Test | undefined {
  const { named, levels: wanted, open, statisticsOpen } = DOMAINS[name]!;
  const isOpen = open === true || (statistics && statisticsOpen === true);
  const levels = fold(name, given).filter((level) => name !== 'vis-3-8a' || !level.startsWith('~'));
  if (wanted < levels.length && wanted !== Number.POSITIVE_INFINITY) return undefined;
  if (levels.length < wanted && !isOpen && wanted !== Number.POSITIVE_INFINITY) return undefined;
  const alternatives = name === 'parameters' ? combine(levels.map(writtenOut)) : [levels];
  return ({ names }) => {
    const id = names.get(named);
    if (id === undefined) return false;
    const found = fold(name, id.split('/'));
    return alternatives.some((alternative) => {
      const isWhole = alternative.length >= wanted && !alternative.some((level) => level.includes('*'));
      const fits =
        isOpen && !isWhole ? found.length >= alternative.length : found.length === alternative.length;
      return fits && alternative.every((level, at) => levelMatches(level, found[at]!));
    });
  };
}

function fold(name: string, levels: readonly string[]): string[] {
  const { levels: wanted } = DOMAINS[name]!;
  if (name === 'jsmea' || levels.length <= wanted) return [...levels];
  return [...levels.slice(0, wanted - 1), levels.slice(wanted - 1).join('/')];
}

function levelMatches(level: string, text: string): boolean {
  const pieces = level.split('*').map((piece) => piece.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${pieces.join('[^]*')}$`).test(text);
}

/** Innermost braces first, until none is left. */
function writtenOut(level: string): string[] {
  const match = /\{([^{}]*)\}/.exec(level);
  if (match === null) return [level];
  return match[1]!
    .split(',')
    .flatMap((choice) =>
      writtenOut(level.slice(0, match.index) + choice.trim() + level.slice(match.index + match[0].length)),
    );
}

function combine(choices: readonly string[][]): string[][] {
  return choices.reduce<string[][]>(
    (before, level) => before.flatMap((levels) => level.map((choice) => [...levels, choice])),
    [[]],
  );
}

/** As the reference does it: the first expression that matches gives the domain. */
function selectByReference(
  series: readonly SeriesRecord[],
  tests: readonly { domain: string; test: Test }[],
) {
  return series.flatMap((record) => {
    const first = tests.find(({ test: matches }) => matches(record));
    return first === undefined ? [] : [[record.timeSeriesId, first.domain]];
  });
}

async function select(
  series: readonly SeriesRecord[],
  selectors: readonly Selector[],
  mayRead: (vessel: string) => boolean = () => true,
) {
  try {
    const options = { outputDomain: undefined, verbose: false, mayRead };
    const selected = await selectSeries(series, selectors, options, neverDue);
    return selected.map(({ record, domain }) => [record.timeSeriesId, domain]);
  } catch (error) {
    if ((error as { status?: number }).status === 404) return [];
    throw error;
  }
}

const uuid = (at: number) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`;
const letters = (alphabet: string, maxLength: number) =>
  fc.array(fc.constantFrom(...alphabet), { maxLength }).map((parts) => parts.join(''));
const idLevel = fc.oneof(letters('ab', 3), letters('aB .{}~,*ø', 4), fc.constantFrom('sec', 'meta'));
const expressionLevel = fc.oneof(
  fc.constantFrom('*', '**', 'a', 'b', '', 'sec', 'meta', '~a'),
  letters('ab*', 4),
  letters('ab*{}, ', 9),
);
const anId = fc.array(idLevel, { minLength: 1, maxLength: 9 }).map((levels) => levels.join('/'));
const someSeries = fc
  .array(fc.record({ jsmea: anId, flat: anId, maker: anId, 'vis-3-8a': anId }, { requiredKeys: [] }), {
    maxLength: 12,
  })
  .map((all) => all.map((names, at) => record(at, names as Record<string, string>)));

function record(at: number, names: Record<string, string>, vessel = ''): SeriesRecord {
  const timeSeriesId = uuid(at);
  const all = new Map([['id', timeSeriesId], ...Object.entries(names)]);
  return { timeSeriesId, vessel, names: all, verboseNames: new Map() } as unknown as SeriesRecord;
}

const anExpression = fc.oneof(
  fc.record({
    domain: fc.constantFrom(...Object.keys(DOMAINS)),
    levels: fc.array(expressionLevel, { minLength: 1, maxLength: 9 }),
  }),
  fc.record({
    domain: fc.constantFrom('flat', 'parameters', 'maker'),
    levels: fc.array(expressionLevel, { minLength: 2, maxLength: 3 }),
  }),
);

describe('expressions of a body', () => {
  test('select what the reference selects, by the first that matches', async () => {
    const query = fc.array(fc.oneof(anExpression, fc.array(fc.nat(14), { minLength: 1, maxLength: 3 })), {
      minLength: 1,
      maxLength: 6,
    });
    let selected = 0;
    await fc.assert(
      fc.asyncProperty(someSeries, query, async (series, wanted) => {
        const selectors: Selector[] = [];
        const tests: { domain: string; test: Test }[] = [];
        for (const one of wanted) {
          if (Array.isArray(one)) {
            selectors.push(parseQueryExpression(`id/${one.map(uuid).join(', ')}`));
            tests.push({ domain: 'id', test: ({ timeSeriesId }) => one.map(uuid).includes(timeSeriesId) });
            continue;
          }
          const text = `${one.domain}/${one.levels.join('/')}`;
          const expected = reference(one.domain, one.levels, false);
          if (expected === undefined) expect(() => parseQueryExpression(text)).toThrow('levels');
          else {
            selectors.push(parseQueryExpression(text));
            tests.push({ domain: one.domain, test: expected });
          }
        }
        const found = await select(series, selectors);
        expect(found).toEqual(selectByReference(series, tests));
        selected += found.length;
      }),
      { numRuns: 1500 },
    );
    expect(selected).toBeGreaterThan(200);
  });

  test('select a series by its own id, whatever letters it has', async () => {
    await fc.assert(
      fc.asyncProperty(someSeries, fc.constantFrom('flat', 'maker', 'vis-3-8a'), async (series, domain) => {
        for (const { names, timeSeriesId } of series) {
          const id = names.get(domain);
          const { levels } = DOMAINS[domain]!;
          if (id === undefined || /[*]|(^|\/)~/.test(id)) continue;
          if (Number.isFinite(levels) && id.split('/').length < levels) continue;
          const found = await select(series, [parseQueryExpression(`${domain}/${id}`)]);
          expect(found).toContainEqual([timeSeriesId, domain]);
        }
      }),
    );
  });
});

test('expressions of one vessel or of all select what the reference selects in a fleet', async () => {
  const [vessels, tags] = [40, 8];
  // The series of a vessel do not lie together, as those of a real fleet do not.
  const fleet = Array.from({ length: vessels * tags }, (_, at) => {
    const [vessel, tag] = [`IMO${at % vessels}`, `tag${Math.floor(at / vessels)}`];
    return record(at, { flat: `${vessel}/${tag}`, maker: `${vessel}/plc/${tag}` }, vessel);
  });
  const level = (prefix: string, count: number) =>
    fc.oneof(
      fc.nat(count).map((at) => `${prefix}${at}`),
      fc.constantFrom('*', `${prefix}1*`),
    );
  const byName = fc
    .tuple(fc.constantFrom('flat', 'maker'), level('IMO', vessels), level('tag', tags))
    .map(([domain, ...levels]) => ({
      domain,
      levels: domain === 'maker' ? levels.toSpliced(1, 0, '*') : levels,
    }));
  const byId = fc.array(fc.nat(fleet.length), { minLength: 1, maxLength: 15 });
  const query = fc.array(fc.oneof(byName, byId), { minLength: 1, maxLength: 4 });
  const counts = { few: 0, many: 0 };
  await fc.assert(
    fc.asyncProperty(query, fc.subarray(fleet.slice(0, vessels)), async (wanted, denied) => {
      const hidden = new Set(denied.map(({ vessel }) => vessel));
      const mayRead = (vessel: string) => !hidden.has(vessel);
      const selectors = wanted.map((one) =>
        parseQueryExpression(
          'domain' in one ? `${one.domain}/${one.levels.join('/')}` : `id/${one.map(uuid).join()}`,
        ),
      );
      const tests = wanted.map((one) =>
        'domain' in one
          ? { domain: one.domain, test: reference(one.domain, one.levels, false)! }
          : { domain: 'id', test: (series: SeriesRecord) => one.map(uuid).includes(series.timeSeriesId) },
      );
      const found = await select(fleet, selectors, mayRead);
      const readable = fleet.filter(({ vessel }) => mayRead(vessel));
      expect(found).toEqual(selectByReference(readable, tests));
      counts[found.length > fleet.length / 10 ? 'many' : 'few'] += found.length;
    }),
    { numRuns: 500 },
  );
  expect(counts.few).toBeGreaterThan(200);
  expect(counts.many).toBeGreaterThan(200);
});

describe('expressions of a path', () => {
  test.each(['metadata', 'statistics'] as const)('select what the reference selects: %s', async (family) => {
    const path = fc.record({
      domain: fc.constantFrom('jsmea', 'flat', 'parameters', 'maker'),
      // A slash inside a level is percent-encoded, and so no end of the level.
      levels: fc.array(fc.oneof(expressionLevel, letters('a/*', 3)), { maxLength: 9 }),
    });
    await fc.assert(
      fc.asyncProperty(someSeries, path, async (series, { domain, levels }) => {
        const text = [domain, ...levels.map(encodeURIComponent)].join('/');
        const expected = levels.includes('') ? undefined : reference(domain, levels, family === 'statistics');
        if (expected === undefined) expect(() => parsePath(family, text)).toThrow(/level/);
        else
          expect(await select(series, [parsePath(family, text)])).toEqual(
            selectByReference(series, [{ domain, test: expected }]),
          );
      }),
      { numRuns: 1000 },
    );
  });

  test('of vis-3-8a select by parts', async () => {
    const levels = fc.array(fc.constantFrom('*', 'a', 'b*', 'sec', 'meta'), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(someSeries, levels, async (series, wanted) => {
        const path = ['vis-3-8a', ...wanted].join('/');
        const expected = series.flatMap(({ names, timeSeriesId }) => {
          const id = names.get('vis-3-8a');
          return id !== undefined && partsAgree(wanted, id.split('/')) ? [[timeSeriesId, 'vis-3-8a']] : [];
        });
        expect(await select(series, [parsePath('statistics', path)])).toEqual(expected);
      }),
      { numRuns: 1000 },
    );
  });
});

/** The parts of vis-3-8a one after the other: vessel, primary, `sec` secondary, `meta` metadata. */
function partsAgree(wanted: readonly string[], found: readonly string[]): boolean {
  const parts = (levels: readonly string[]) => {
    const meta = levels.indexOf('meta');
    const before = meta < 0 ? levels : levels.slice(0, meta);
    const sec = before.indexOf('sec');
    return {
      vessel: before[0] === 'sec' ? undefined : before[0],
      primary: before.slice(1, sec < 0 ? undefined : sec),
      secondary: sec < 0 ? undefined : before.slice(sec + 1),
      meta: meta < 0 ? undefined : levels.slice(meta + 1),
    };
  };
  const [want, have] = [parts(wanted), parts(found)];
  const agree = (one: readonly string[] | undefined, other: readonly string[] | undefined) =>
    !one?.length ||
    (other?.length === one.length && one.every((level, at) => levelMatches(level, other[at]!)));
  if (want.vessel !== undefined && !levelMatches(want.vessel, have.vessel ?? '')) return false;
  if (want.secondary === undefined && want.meta !== undefined && have.secondary !== undefined) return false;
  return (
    agree(want.primary, have.primary) && agree(want.secondary, have.secondary) && agree(want.meta, have.meta)
  );
}
