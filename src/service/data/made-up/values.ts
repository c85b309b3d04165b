/** The values of made-up readings, each by the rule of its series. */
import { MICROS_PER_HOUR, type Micros } from '../../../core/model/index.ts';
import type { BatchBuilder } from '../batch-builder.ts';
import type { FleetSeries } from './fleet.ts';
import { mix, mix2, unit } from './random.ts';
import type { NumberRule } from './templates.ts';
import type { Voyage } from './voyage.ts';

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

export function createReadingMaker(series: FleetSeries, voyage: Voyage): ReadingMaker {
  const rule = series.template.value;
  if (rule.kind === 'number') return numberMaker(series, rule, voyage);
  if (rule.kind === 'position') {
    const [latitude, longitude] = [voyage.line('latitude').reader(), voyage.line('longitude').reader()];
    return (builder, micros, code, hash) => {
      const lat = (latitude(micros) + (unit(hash) - 0.5) * 2e-5).toFixed(5);
      const lon = (longitude(micros) + (unit(mix(hash)) - 0.5) * 2e-5).toFixed(5);
      builder.appendJson(micros, code, `{"lat":${lat},"lon":${lon}}`);
    };
  }
  const driven = voyage.line(rule.driver ?? 'constant').reader();
  switch (rule.kind) {
    case 'counter':
      return (builder, micros, code) =>
        builder.appendLong(micros, code, rule.base + BigInt(Math.floor(driven(micros) * rule.gain)));
    case 'flag':
      return (builder, micros, code) => builder.appendJson(micros, code, String(driven(micros) > rule.above));
    case 'choice':
      return (builder, micros, code) => {
        const index =
          rule.driver === undefined
            ? mix2(series.seed, Math.floor(micros / HALF_HOUR)) % rule.texts.length
            : Math.round(driven(micros));
        builder.appendJson(micros, code, rule.texts[index] ?? 'null');
      };
  }
}

function numberMaker({ template }: FleetSeries, rule: NumberRule, voyage: Voyage): ReadingMaker {
  const { offset, gain, noise, type, decimals } = rule;
  const { low = Number.NEGATIVE_INFINITY, high = Number.POSITIVE_INFINITY } = template;
  const scale = 10 ** decimals;
  const driver = voyage.line(rule.driver).reader();
  return (builder, micros, code, hash, isSecond) => {
    const driven = gain * driver(micros);
    let value = offset + driven;
    // What is proportional to something at rest rests too: a stopped shaft has no power.
    if (driven !== 0 || offset !== 0 || gain === 0) value += (2 * unit(mix(hash)) - 1) * noise;
    const steps =
      Math.round(Math.max(low, Math.min(high, value)) * scale) + (isSecond ? (hash >>> 9) & 1 : 0);
    if (type === 'long') builder.appendSmallLong(micros, code, steps);
    // `+ 0` turns -0 into 0.
    else builder.appendDouble(micros, code, steps / scale + 0);
  };
}
