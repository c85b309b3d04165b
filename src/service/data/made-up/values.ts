/** The values of made-up readings, each by the rule of its series: a cell of the table of series. */
import { MICROS_PER_HOUR, type Micros } from '../../../core/model/index.ts';
import type { BatchBuilder } from '../batch-builder.ts';
import { mix, mix2, unit } from './random.ts';
import { DRIVERS, type Voyage } from './voyage.ts';

const HALF_HOUR = MICROS_PER_HOUR / 2;

/**
 * Adds the reading of one series at an instant, whose slot has this hash. The second of an instant has the value of the first,
 * or one a step higher.
 */
export type ReadingMaker = (
  builder: BatchBuilder,
  micros: Micros,
  code: number,
  hash: number,
  isSecond: boolean,
) => void;

/** The same for any vessel; the seed is the series'. */
export type ValueRule = (voyage: Voyage, seed: number) => ReadingMaker;

/** `x`, and what a cell may say: see the table. A number is kept between `low` and `high`. */
export function parseValue(
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
  switch (kind) {
    case 'flag':
      return (voyage) => {
        const at = driven(voyage);
        return (builder, micros, code) => builder.appendJson(micros, code, String(at(micros) > gain));
      };
    case 'counter': {
      const base = BigInt(rest.split(' ')[1] ?? 0);
      return (voyage) => {
        const at = driven(voyage);
        return (builder, micros, code) =>
          builder.appendLong(micros, code, base + BigInt(Math.floor(at(micros) * gain)));
      };
    }
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
export function parseTerm(text: string, x: number): number {
  const match = /^(-?[\d.]+(?=$|[-+]))?(?:([-+]?[\d.]+)x)?$/.exec(text);
  if (match === null) throw new RangeError(`series table: got '${text}', expected a number such as 168+1.6x`);
  return Number(match[1] ?? 0) + Number(match[2] ?? 0) * x;
}

export function oneOf<Name extends string>(known: readonly Name[], found: string | undefined): Name {
  const name = known.find((one) => one === found);
  if (name === undefined)
    throw new RangeError(`series table: got '${found}', expected one of ${known.join(', ')}`);
  return name;
}
