/** What makes the readings of a day fast, against the same readings made one by one. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TimeRange } from '../../src/core/model/index.ts';
import { MICROS_PER_DAY, MICROS_PER_HOUR, systemClock } from '../../src/core/model/index.ts';
import { MeasurementTextWriter } from '../../src/service/bodies/measurement-text.ts';
import { DriverLine, MarkStore } from '../../src/service/data/made-up/driver-line.ts';
import type { FleetSeries } from '../../src/service/data/made-up/fleet.ts';
import { fleetSeries, fleetVessels } from '../../src/service/data/made-up/fleet.ts';
import { createMadeUpSource } from '../../src/service/data/made-up/made-up-source.ts';
import { mix, mix2, unit } from '../../src/service/data/made-up/random.ts';
import { TimeSorter } from '../../src/service/data/made-up/time-sorter.ts';
import type { Driver } from '../../src/service/data/made-up/voyage.ts';
import { Voyage } from '../../src/service/data/made-up/voyage.ts';
import type { SeriesRecord } from '../../src/service/data/source.ts';
import { floatText } from '../../src/service/query/formats.ts';
import { Turns } from '../../src/service/turns.ts';
import { NOW_MS } from './running-service.ts';

const WORK = new Turns(systemClock).begin();
const MICROS_PER_MINUTE = 60_000_000;
const STEPPED = ['heading', 'windDirection', 'atSea'];

type DriverAt = (series: FleetSeries, driver: Driver, micros: number) => number;

/** A driver at an instant, of voyages that are asked one minute mark at a time. */
function plainDrivers(): DriverAt {
  const voyages = new Map<string, Voyage>();
  const known = new Map<string, number>();
  const markOf = ({ vessel: { identifier, particulars } }: FleetSeries, driver: Driver, minute: number) => {
    const key = `${identifier} ${driver} ${minute}`;
    let mark = known.get(key);
    if (mark !== undefined) return mark;
    const voyage = voyages.get(identifier) ?? new Voyage(particulars, new MarkStore());
    voyages.set(identifier, voyage);
    const out = new Float64Array(1);
    voyage.line(driver).fill(Float64Array.of(minute * MICROS_PER_MINUTE), 0, 1, out);
    mark = out[0]!;
    known.set(key, mark);
    return mark;
  };
  return (series, driver, micros) => {
    const mark = (minute: number) => markOf(series, driver, minute);
    const minutes = (micros % MICROS_PER_HOUR) / MICROS_PER_MINUTE;
    const minute = Math.floor(micros / MICROS_PER_MINUTE);
    const value = mark(minute);
    if (STEPPED.includes(driver)) return value;
    return value + (mark(minute + 1) - value) * (minutes - Math.floor(minutes));
  };
}

/** The value of one reading as JSON; `copy` is 1 for the second of an instant. */
function jsonOf(series: FleetSeries, drivenAt: DriverAt, micros: number, hash: number, copy: number): string {
  const rule = series.template.value;
  const at = (driver: Driver) => drivenAt(series, driver, micros);
  switch (rule.kind) {
    case 'counter':
      return (rule.base + BigInt(Math.floor(at(rule.driver) * rule.gain))).toString();
    case 'flag':
      return String(at(rule.driver) > rule.above);
    case 'choice': {
      const halfHour = Math.floor(micros / (MICROS_PER_HOUR / 2));
      const byChance = mix2(series.seed, halfHour) % rule.texts.length;
      return rule.texts[rule.driver === undefined ? byChance : Math.round(at(rule.driver))] ?? 'null';
    }
    case 'position': {
      const [north, east] = [unit(hash) - 0.5, unit(mix(hash)) - 0.5];
      const [latitude, longitude] = [at('latitude') + north * 2e-5, at('longitude') + east * 2e-5];
      return `{"lat":${latitude.toFixed(5)},"lon":${longitude.toFixed(5)}}`;
    }
    case 'number': {
      const { offset, gain, noise, type } = rule;
      const driven = gain * at(rule.driver);
      let value = offset + driven;
      if (driven !== 0 || offset !== 0 || gain === 0) value += (2 * unit(mix(hash)) - 1) * noise;
      if (series.template.high !== undefined) value = Math.min(value, series.template.high);
      if (series.template.low !== undefined) value = Math.max(value, series.template.low);
      const scale = 10 ** rule.decimals;
      const steps = Math.round(value * scale) + (copy === 1 ? (hash >>> 9) & 1 : 0);
      return type === 'long' ? String(steps + 0) : floatText(steps / scale + 0);
    }
  }
}

/** Lines of all readings of a day in a range, one by one, in their order. */
function plainLines(all: readonly FleetSeries[], { fromMicros, toMicros }: TimeRange): string[] {
  const dayMicros = Math.floor(fromMicros / MICROS_PER_DAY) * MICROS_PER_DAY;
  const drivenAt = plainDrivers();
  const found = all.flatMap((series, code) => {
    const { slotMicros, template, seed, record } = series;
    const dayHash = mix2(seed, dayMicros / MICROS_PER_DAY);
    const hasGap = (micros: number) =>
      template.gaps !== undefined &&
      mix2(dayHash, Math.floor((micros - dayMicros) / MICROS_PER_HOUR)) < template.gaps * 2 ** 32;
    const readings: { micros: number; code: number; line: string }[] = [];
    for (let slot = 0; slot * slotMicros < MICROS_PER_DAY; slot++) {
      const hash = mix(dayHash + Math.imul(slot, 0x9e3779b1));
      const odd = template.jitter ? Math.floor(unit(hash) * slotMicros) : 0;
      const micros = dayMicros + slot * slotMicros + odd;
      if (micros < fromMicros || micros >= toMicros || hasGap(micros)) continue;
      const time =
        new Date(micros / 1000).toISOString().slice(0, -1) + String(micros % 1000).padStart(3, '0');
      const copies = template.duplicates && (hash & 0x1ff) === 7 ? 2 : 1;
      for (let copy = 0; copy < copies; copy++) {
        const value = jsonOf(series, drivenAt, micros, hash, copy);
        const line = `{"id":"${record.timeSeriesId}","timestamp":"${time}Z","value":${value}}`;
        readings.push({ micros, code, line });
      }
    }
    return readings;
  });
  return found.sort((a, b) => a.micros - b.micros || a.code - b.code).map(({ line }) => line);
}

describe('readings of a made-up day', () => {
  test.each([
    [3, 4_000, 24 * MICROS_PER_HOUR],
    [8, 40_000, 3 * MICROS_PER_HOUR],
    [1, 3_000_000, MICROS_PER_MINUTE],
  ])('of seed %i and %i a day are those made one by one', async (seed, readingsPerDay, micros) => {
    const options = { seed, vessels: 2, readingsPerDay };
    const source = createMadeUpSource({ ...options, nowMs: () => NOW_MS });
    const all = fleetSeries(fleetVessels(options), options);
    const dayMicros = Date.UTC(2026, 0, 5) * 1000;
    const fromMicros = dayMicros + (micros === MICROS_PER_DAY ? 0 : 5 * MICROS_PER_HOUR);
    const range = { fromMicros, toMicros: fromMicros + micros };
    const records = all.map(({ record }) => record);
    // What was asked before leaves marks behind, also those of one series alone.
    for (const need of [false, true]) await linesOf(source, records.slice(0, 30), range, need);
    const found = await linesOf(source, records, range, true);
    const expected = plainLines(all, range);
    expect(found.length).toBeGreaterThan(1_000);
    expect(found).toEqual(expected);
    expect((await linesOf(source, records, range, false)).sort()).toEqual(expected.sort());
  });

  test('a mark is the same, whoever has had its memory meanwhile', () => {
    const store = new MarkStore();
    const lines = Array.from(
      { length: 1_500 },
      (_, n) => new DriverLine(store, (minute) => minute * (n + 1), false),
    );
    const hours = 24;
    const [day, out] = [20_000 * MICROS_PER_DAY, new Float64Array(hours)];
    const times = Float64Array.from({ length: hours }, (_, hour) => day + (hour + 0.375) * MICROS_PER_HOUR);
    for (let round = 0; round < 2; round++)
      for (const [n, line] of lines.entries()) {
        line.fill(times, 0, hours, out);
        expect(Array.from(out)).toEqual(Array.from(times, (t) => (t / MICROS_PER_MINUTE) * (n + 1)));
      }
  });
});

async function linesOf(
  source: ReturnType<typeof createMadeUpSource>,
  records: readonly SeriesRecord[],
  range: TimeRange,
  interleaved: boolean,
): Promise<string[]> {
  const writer = new MeasurementTextWriter(
    records.map(({ timeSeriesId }) => timeSeriesId),
    'newline',
  );
  let text = '';
  for await (const { batch } of source.read(records, range, { values: true, interleaved }, WORK))
    text += Buffer.from(writer.write(batch)).toString();
  return text.split('\n').slice(0, -1);
}

test('times come out in order, however they are spread, and equal ones as they were', () => {
  const limit = fc.constantFrom(1, 7, 1_000, 2 ** 40);
  fc.assert(
    fc.property(
      limit,
      fc.array(fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }))),
      (most, batches) => {
        // One sorter for all: what is left of a larger batch must not show up in a smaller one.
        const sorter = new TimeSorter();
        for (const batch of batches) {
          const times = Float64Array.from(batch, (share) => 5 + Math.floor(share * most));
          const [sorted, order] = [new Float64Array(times.length), new Uint32Array(times.length)];
          sorter.sort(times, times.length, 5, 5 + most, sorted, order);
          const expected = Array.from(times.keys()).sort((a, b) => times[a]! - times[b]! || a - b);
          expect(Array.from(order)).toEqual(expected);
          expect(Array.from(sorted)).toEqual(expected.map((at) => times[at]!));
        }
      },
    ),
  );
});
