/** How made-up series are named, described, timed and valued: every series of a vessel, from the rows of the table. */
import { SERIES_TABLE } from './series-table.ts';
import { DRIVERS, type Driver } from './voyage.ts';

/** A number that follows a driver: offset + gain × driver ± noise, kept within the range. */
export interface NumberRule {
  readonly kind: 'number';
  readonly type: 'double' | 'long';
  readonly driver: Driver;
  readonly gain: number;
  readonly offset: number;
  /** Half width of the uniform noise. */
  readonly noise: number;
  /** Decimals kept; none for long. 0 for a double gives `5.0`. */
  readonly decimals: number;
}

/** Whole steps of a driver that only grows, on top of a base that may be beyond 2^53. */
interface CounterRule {
  readonly kind: 'counter';
  readonly driver: Driver;
  readonly gain: number;
  readonly base: bigint;
}

type JsonRule =
  | { readonly kind: 'position' }
  /** JSON texts chosen by a driver (rounded) or, without one, by chance every half hour. */
  | { readonly kind: 'choice'; readonly texts: readonly string[]; readonly driver?: Driver }
  | { readonly kind: 'flag'; readonly driver: Driver; readonly above: number };

type ValueRule = NumberRule | CounterRule | JsonRule;

/** Cadences relative to each other; `rare` is every few hours whatever `readingsPerDay` is. */
const CADENCES = ['fast', 'normal', 'slow', 'rare'] as const;
export type Cadence = (typeof CADENCES)[number];

/** What is undefined, the series does not have. */
export interface SeriesTemplate {
  /** Tag in `flat`. */
  readonly tag: string | undefined;
  /** naming rule, category, sub category, content, position, item, modifier. */
  readonly jsmea: readonly string[] | undefined;
  /** Item path, its verbose form, `meta` part, and the secondary item. */
  readonly vis:
    | {
        readonly item: string;
        readonly verboseItem: string;
        readonly meta: string;
        readonly secondary?: string | undefined;
      }
    | undefined;
  /** Code, name and text in `maker`. */
  readonly maker: { readonly code: string; readonly name: string; readonly text: string } | undefined;
  readonly source: string;
  readonly unit: string | undefined;
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly scale: number | undefined;
  readonly cadence: Cadence;
  readonly value: ValueRule;
  /** Chance that an hour has no readings. */
  readonly gaps: number | undefined;
  /** True: now and then a timestamp comes twice. */
  readonly duplicates: boolean;
  /** True: readings carry odd microseconds; false: they fall on the grid and share timestamps. */
  readonly jitter: boolean;
}

/** A cell of the table: undefined where it says that there is no such thing, empty where the line ends before it. */
type Cell = string | undefined;

const GENERATOR_SHARES = [0.5, 0.35, 0.15];

/** Every series of a vessel, in an order that is part of their ids. */
export function vesselTemplates(cylinders: number): SeriesTemplate[] {
  // No two cylinders are alike: a fixed spread around the mean.
  const spreads = Array.from({ length: cylinders }, (_, index) => (((index + 1) * 37) % 11) - 5);
  return SERIES_TABLE.trim()
    .slice(1)
    .split('\n=')
    .flatMap((section) => {
      const [group, ...rows] = section.split('\n').map(cellsOf) as [Cell[], ...Cell[][]];
      const xs = group[0] === 'cylinder' ? spreads : group[0] === 'generator' ? GENERATOR_SHARES : [0];
      return xs.flatMap((x, index) => rows.map((row) => template(group, row, index + 1, x)));
    });
}

function cellsOf(line: string): Cell[] {
  return line.split(/ \|(?: |$)/).map((cell) => (cell.trim() === '-' ? undefined : cell.trim()));
}

function template(group: readonly Cell[], row: readonly Cell[], number: number, x: number): SeriesTemplate {
  const [groupName, source = '', tag, jsmea, item, verboseItem, groupMeta, makerCode, makerName, makerText] =
    group;
  const [name, levels, code, unit, range, scale, cadence, value = '', notes = '', text, meta, ownName] = row;
  const fill = namesOf(row, number);
  const [low, high] = range?.split('..').map(Number) ?? [];
  const noted = (note: RegExp) => note.exec(notes)?.[1];
  const gaps = noted(/gaps (\S+)/);
  return {
    tag: name === undefined || notes.includes('no tag') ? undefined : fill(tag),
    jsmea: levels === undefined ? undefined : fill(`jsmea_${source}/${jsmea}/`).split('/'),
    vis:
      levels === undefined || item === undefined
        ? undefined
        : {
            item: fill(item),
            verboseItem: fill(verboseItem),
            meta: fill(meta || groupMeta).replace(/\/pos-$/, ''),
            secondary: notes.includes('with') ? fill(noted(/with (\S+)/)) : undefined,
          },
    maker:
      code === undefined
        ? undefined
        : {
            code: fill(makerCode),
            name: fill(ownName || makerName).toUpperCase(),
            text: fill(text || makerText),
          },
    source,
    unit,
    low,
    high,
    scale: scale === undefined ? undefined : Number(scale),
    cadence: oneOf(CADENCES, cadence),
    value: parseValue(value, x),
    gaps: gaps === undefined ? undefined : Number(gaps),
    duplicates: notes.includes('twice'),
    jitter: groupName === 'generator' ? number === 2 : !notes.includes('grid'),
  };
}

/** Fills a group's or row's pattern with the names of one series. */
function namesOf([name = '', levels = '', code = '']: readonly Cell[], number: number) {
  const [item = '', position = '', content = ''] = levels.toLowerCase().split('/').reverse();
  const values: Readonly<Record<string, string>> = {
    name,
    lower: name.toLowerCase(),
    levels,
    code,
    item,
    position,
    content: content || 'engine',
  };
  return (pattern = ''): string =>
    pattern
      .replaceAll(/\{(\w+)\}/g, (_, key: string) => values[key]!)
      .replaceAll('##', String(number).padStart(2, '0'))
      .replaceAll('#', String(number));
}

function parseValue(text: string, x: number): ValueRule {
  const [kind, ...rest] = text.split(' ');
  const [driver, ...terms] =
    kind === 'long' || kind === 'counter' || kind === 'flag' ? rest : [kind, ...rest];
  const term = (index: number) => parseTerm(terms[index] ?? '0', x);
  if (kind === 'position') return { kind };
  if (kind === 'choice') {
    const [, by, json = ''] = /^choice (\w+)? ?(\[.*)$/.exec(text) ?? [];
    const texts = (JSON.parse(json) as unknown[]).map((choice) => JSON.stringify(choice));
    return { kind, texts, ...(by === undefined ? {} : { driver: oneOf(DRIVERS, by) }) };
  }
  if (kind === 'flag') return { kind, driver: oneOf(DRIVERS, driver), above: term(0) };
  if (kind === 'counter')
    return { kind, driver: oneOf(DRIVERS, driver), gain: term(0), base: BigInt(terms[1] ?? 0) };
  return {
    kind: 'number',
    type: kind === 'long' ? 'long' : 'double',
    driver: oneOf(DRIVERS, driver),
    gain: term(0),
    offset: term(1),
    noise: term(2),
    decimals: term(3),
  };
}

/** A number, or one with a part that goes with x: `168+1.6x`, `0.45x`. */
function parseTerm(text: string, x: number): number {
  const match = /^(-?[\d.]+(?=$|[-+]))?(?:([-+]?[\d.]+)x)?$/.exec(text);
  if (match === null) throw new RangeError(`series table: got '${text}', expected a number such as 168+1.6x`);
  return Number(match[1] ?? 0) + Number(match[2] ?? 0) * x;
}

function oneOf<Name extends string>(known: readonly Name[], found: Cell): Name {
  const name = known.find((one) => one === found);
  if (name === undefined)
    throw new RangeError(`series table: got '${found}', expected one of ${known.join(', ')}`);
  return name;
}
