/** How made-up series are named, described, timed and valued: every series of a vessel, from the rows of the table. */

import { MICROS_PER_HOUR, type Micros } from '../../../core/model/index.ts';
import type { BatchBuilder } from '../batch-builder.ts';
import { mix, mix2, unit } from './random.ts';
import { SERIES_TABLE } from './series-table.ts';
import { DRIVERS, type Voyage } from './voyage.ts';

/** Cadences relative to each other; `rare` is every few hours whatever `readingsPerDay` is. */
const CADENCES = ['fast', 'normal', 'slow', 'rare'] as const;
export type Cadence = (typeof CADENCES)[number];

/** What is undefined, the series does not have. */
export interface SeriesTemplate {
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
  const ownText = { name: fill(ownName || makerName).toUpperCase(), text: fill(text || makerText) };
  const maker = { code: fill(makerCode), ...ownText };
  const isInVis = levels !== undefined && item !== undefined;
  return {
    tag: name === undefined || notes.includes('no tag') ? undefined : fill(tag),
    jsmea: levels === undefined ? undefined : fill(`jsmea_${source}/${jsmea}/`).split('/'),
    vis: isInVis ? { id: fill(item) + behind, verboseId: fill(verboseItem) + behind } : undefined,
    maker: code === undefined ? undefined : maker,
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

const HALF_HOUR = MICROS_PER_HOUR / 2;

/** Adds the reading at an instant, whose slot has this hash; the second of an instant has the value of the first, or one a step higher. */
export type ReadingMaker = (
  builder: BatchBuilder,
  micros: Micros,
  code: number,
  hash: number,
  isSecond: boolean,
) => void;

/** The same for any vessel; the seed is the series'. */
type ValueRule = (voyage: Voyage, seed: number) => ReadingMaker;

/** `x`, and what a cell may say: see the table. A number is kept between `low` and `high`. */
function parseValue(
  text: string,
  x: number,
  low = Number.NEGATIVE_INFINITY,
  high = Number.POSITIVE_INFINITY,
): ValueRule {
  const [, kind, name, rest = ''] =
    /^(?:(position|choice|flag|counter|long)(?: |$))?(\w+)? ?(.*)$/.exec(text) ?? [];
  if (kind === 'position') return positionMaker;
  const driver = name === undefined ? undefined : oneOf(DRIVERS, name);
  const driven = (voyage: Voyage) => voyage.line(driver ?? 'constant').reader();
  if (kind === 'choice') {
    const texts = (JSON.parse(rest) as unknown[]).map((choice) => JSON.stringify(choice));
    return (voyage, seed) => {
      const at = driven(voyage);
      // By the driver or else by chance every half hour.
      const index = (micros: Micros) =>
        driver === undefined
          ? mix2(seed, Math.floor(micros / HALF_HOUR)) % texts.length
          : Math.round(at(micros));
      return (builder, micros, code) => builder.appendJson(micros, code, texts[index(micros)] ?? 'null');
    };
  }
  const [gain = 0, offset = 0, noise = 0, decimals = 0] = rest.split(' ').map((term) => parseTerm(term, x));
  if (kind === 'flag')
    return (voyage) => {
      const at = driven(voyage);
      return (builder, micros, code) => builder.appendJson(micros, code, String(at(micros) > gain));
    };
  if (kind === 'counter') {
    const base = BigInt(rest.split(' ')[1] ?? 0);
    return (voyage) => {
      const at = driven(voyage);
      return (builder, micros, code) =>
        builder.appendLong(micros, code, base + BigInt(Math.floor(at(micros) * gain)));
    };
  }
  const scale = 10 ** decimals;
  return (voyage) => {
    const at = driven(voyage);
    return (builder, micros, code, hash, isSecond) => {
      const moved = gain * at(micros);
      let value = offset + moved;
      // What is proportional to something at rest rests too: a stopped shaft has no power.
      if (moved !== 0 || offset !== 0 || gain === 0) value += (2 * unit(mix(hash)) - 1) * noise;
      const steps =
        Math.round(Math.max(low, Math.min(high, value)) * scale) + (isSecond ? (hash >>> 9) & 1 : 0);
      if (kind === 'long') builder.appendSmallLong(micros, code, steps);
      // `+ 0` turns -0 into 0.
      else builder.appendDouble(micros, code, steps / scale + 0);
    };
  };
}

function positionMaker(voyage: Voyage): ReadingMaker {
  const [latitude, longitude] = [voyage.line('latitude').reader(), voyage.line('longitude').reader()];
  return (builder, micros, code, hash) => {
    const lat = (latitude(micros) + (unit(hash) - 0.5) * 2e-5).toFixed(5);
    const lon = (longitude(micros) + (unit(mix(hash)) - 0.5) * 2e-5).toFixed(5);
    builder.appendJson(micros, code, `{"lat":${lat},"lon":${lon}}`);
  };
}

/** A number, or one with a part that goes with x: `168+1.6x`, `0.45x`. */
function parseTerm(text: string, x: number): number {
  const match = /^(-?[\d.]+(?=$|[-+]))?(?:([-+]?[\d.]+)x)?$/.exec(text);
  if (match === null) throw new RangeError(`series table: got '${text}', expected a number such as 168+1.6x`);
  return Number(match[1] ?? 0) + Number(match[2] ?? 0) * x;
}

function oneOf<Name extends string>(known: readonly Name[], found: string | undefined): Name {
  const name = known.find((one) => one === found);
  if (name === undefined)
    throw new RangeError(`series table: got '${found}', expected one of ${known.join(', ')}`);
  return name;
}
