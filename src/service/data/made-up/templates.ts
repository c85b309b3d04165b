/** How made-up series are named, described, timed and valued: every series of a vessel, from the rows of the table. */
import { SERIES_TABLE } from './series-table.ts';
import { oneOf, parseTerm, parseValue, type ValueRule } from './values.ts';

/** Cadences relative to each other; `rare` is every few hours whatever `readingsPerDay` is. */
const CADENCES = ['fast', 'normal', 'slow', 'rare'] as const;
export type Cadence = (typeof CADENCES)[number];

/** What is undefined, the series does not have. */
export interface SeriesTemplate {
  /** Tag in `flat`. */
  readonly tag: string | undefined;
  /** naming rule, category, sub category, content, position, item, modifier. */
  readonly jsmea: readonly string[] | undefined;
  /** Without the vessel. */
  readonly vis: { readonly id: string; readonly verboseId: string } | undefined;
  readonly maker: { readonly code: string; readonly name: string; readonly text: string } | undefined;
  readonly source: string;
  readonly unit: string | undefined;
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly scale: number | undefined;
  readonly cadence: Cadence;
  readonly value: ValueRule;
  /** Chance that an hour has no readings. */
  readonly gaps: number;
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
  const secondary = noted(/with (\S+)/);
  const behind = `${secondary ? `/sec/${fill(secondary)}` : ''}/meta/${fill(meta || groupMeta).replace(/\/pos-$/, '')}`;
  const isInVis = levels !== undefined && item !== undefined;
  return {
    tag: name === undefined || notes.includes('no tag') ? undefined : fill(tag),
    jsmea: levels === undefined ? undefined : fill(`jsmea_${source}/${jsmea}/`).split('/'),
    vis: isInVis ? { id: fill(item) + behind, verboseId: fill(verboseItem) + behind } : undefined,
    maker:
      code === undefined
        ? undefined
        : {
            code: fill(makerCode),
            name: fill(ownName || makerName).toUpperCase(),
            text: fill(text || makerText),
          },
    ...{ source, unit, low, high },
    scale: scale === undefined ? undefined : Number(scale),
    cadence: oneOf(CADENCES, cadence),
    value: parseValue(value, x, low, high),
    gaps: parseTerm(noted(/gaps (\S+)/) ?? '0', x),
    duplicates: notes.includes('twice'),
    jitter: groupName === 'generator' ? number === 2 : !notes.includes('grid'),
  };
}

/** Fills a group's or row's pattern with the names of one series. */
function namesOf([name = '', levels = '', code = '']: readonly Cell[], number: number) {
  const [item = '', position = '', content = ''] = levels.toLowerCase().split('/').reverse();
  const values: Readonly<Record<string, string>> = {
    ...{ name, levels, code, item, position },
    lower: name.toLowerCase(),
    content: content || 'engine',
  };
  return (pattern = ''): string =>
    pattern
      .replaceAll(/\{(\w+)\}/g, (_, key: string) => values[key]!)
      .replaceAll('##', String(number).padStart(2, '0'))
      .replaceAll('#', String(number));
}
