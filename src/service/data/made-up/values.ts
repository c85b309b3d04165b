import type { Micros } from '../../../model/index.ts';
import { MICROS_PER_HOUR } from '../../../model/index.ts';
import type { BatchBuilder } from '../batch-builder.ts';
import type { FleetSeries } from './fleet.ts';
import { mix, mix2, unit } from './random.ts';
import type { CounterRule, JsonRule, NumberRule } from './template.ts';
import type { DriverLine, Voyage } from './voyage.ts';

const HALF_HOUR = MICROS_PER_HOUR / 2;
/**
 * Makes the readings of one series: pure in series and time. `hash` belongs to the slot; `copy` is 1 for the
 * second reading of the same instant, whose value is the same or a step higher.
 */
export interface ReadingMaker {
  append(builder: BatchBuilder, micros: Micros, code: number, hash: number, copy: number): void;
}

export function createReadingMaker(series: FleetSeries, voyage: Voyage): ReadingMaker {
  const rule = series.template.value;
  if (rule.kind === 'number') return new NumberMaker(series, rule, voyage);
  if (rule.kind === 'counter') return new CounterMaker(rule, voyage);
  return new JsonMaker(series, rule, voyage);
}

class NumberMaker implements ReadingMaker {
  readonly #line: DriverLine;
  readonly #rule: NumberRule;
  readonly #low: number;
  readonly #high: number;
  readonly #scale: number;

  constructor(series: FleetSeries, rule: NumberRule, voyage: Voyage) {
    this.#line = voyage.line(rule.driver);
    this.#rule = rule;
    this.#low = series.template.low ?? Number.NEGATIVE_INFINITY;
    this.#high = series.template.high ?? Number.POSITIVE_INFINITY;
    this.#scale = 10 ** rule.decimals;
  }

  append(builder: BatchBuilder, micros: Micros, code: number, hash: number, copy: number): void {
    const { offset, gain, noise, type } = this.#rule;
    const driven = gain * this.#line.at(micros);
    let value = offset + driven;
    // What is proportional to something at rest rests too: a stopped shaft has no power.
    if (driven !== 0 || offset !== 0 || gain === 0) value += (2 * unit(mix(hash)) - 1) * noise;
    if (value > this.#high) value = this.#high;
    if (value < this.#low) value = this.#low;
    let steps = Math.round(value * this.#scale);
    if (copy === 1) steps += (hash >>> 9) & 1;
    if (type === 'long') builder.appendSmallLong(micros, code, steps);
    // `+ 0` turns -0 into 0.
    else builder.appendDouble(micros, code, steps / this.#scale + 0);
  }
}

class CounterMaker implements ReadingMaker {
  readonly #line: DriverLine;
  readonly #rule: CounterRule;

  constructor(rule: CounterRule, voyage: Voyage) {
    this.#line = voyage.line(rule.driver);
    this.#rule = rule;
  }

  append(builder: BatchBuilder, micros: Micros, code: number): void {
    const steps = Math.floor(this.#line.at(micros) * this.#rule.gain);
    builder.appendLong(micros, code, this.#rule.base + BigInt(steps));
  }
}

class JsonMaker implements ReadingMaker {
  readonly #seed: number;
  readonly #rule: JsonRule;
  readonly #line: DriverLine;
  readonly #secondLine: DriverLine;

  constructor(series: FleetSeries, rule: JsonRule, voyage: Voyage) {
    this.#seed = series.seed;
    this.#rule = rule;
    const driver = rule.kind === 'position' ? 'latitude' : (rule.driver ?? 'constant');
    this.#line = voyage.line(driver);
    this.#secondLine = voyage.line('longitude');
  }

  append(builder: BatchBuilder, micros: Micros, code: number, hash: number): void {
    builder.appendJson(micros, code, this.#text(micros, hash));
  }

  #text(micros: Micros, hash: number): string {
    const rule = this.#rule;
    if (rule.kind === 'flag') return this.#line.at(micros) > rule.above ? 'true' : 'false';
    if (rule.kind === 'choice') {
      const index =
        rule.driver === undefined
          ? mix2(this.#seed, Math.floor(micros / HALF_HOUR)) % rule.texts.length
          : Math.round(this.#line.at(micros));
      return rule.texts[index] ?? 'null';
    }
    const latitude = this.#line.at(micros) + (unit(hash) - 0.5) * 2e-5;
    const longitude = this.#secondLine.at(micros) + (unit(mix(hash)) - 0.5) * 2e-5;
    return `{"lat":${latitude.toFixed(5)},"lon":${longitude.toFixed(5)}}`;
  }
}
