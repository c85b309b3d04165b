/**
 * The query service of a simulated world: what it has of each vessel-day, and what it had. Every change is one that counts by
 * the hour tell: in even hours readings only come, in odd ones they only go, and series leave and return whole. So a day that
 * an export has counted is, reading by reading, a day that the source had.
 */
import { hash } from 'node:crypto';
import { dateToMicros, MICROS_PER_HOUR, microsToIso, type TimeRange } from '../../src/core/model/index.ts';
import { type Draw, pick } from './random.ts';

export interface Reading {
  readonly micros: number;
  /** JSON text. */
  readonly value: string;
}

export interface Series {
  readonly id: string;
  readonly vessel: string;
  readonly name: string;
  /** By time. */
  readings: readonly Reading[];
  isThere: boolean;
}

/** What a vessel-day was, from one moment to the next. */
export interface Truth {
  readonly sinceMs: number;
  /** `<micros>\t<series>\t<value>`, sorted. */
  readonly lines: readonly string[];
  readonly digest: string;
}

export type Source = ReturnType<typeof createSource>;

export const CHANGES = ['comes', 'goes', 'leaves', 'returns'] as const;
/** `at`: which series, and which of its readings. */
export interface SourceChange {
  readonly atMs: number;
  readonly kind: (typeof CHANGES)[number];
  readonly series: number;
  readonly date: string;
  readonly at: number;
}

export function createSource(seed: number, vessels: readonly string[], dates: readonly string[], draw: Draw) {
  const series: Series[] = vessels.flatMap((vessel, v) =>
    Array.from({ length: 1 + draw(3) }, (_, s) => {
      const id = `0000000${v}-000${s}-4000-8000-${hash('sha256', `${seed}`).slice(0, 12)}`;
      const readings = dates.flatMap((date) => drawReadings(date, draw));
      return { id, vessel, name: `${vessel}/S${s}`, readings, isThere: true };
    }),
  );
  const history = new Map<string, Truth[]>();

  function linesOf(vessel: string, date: string): string[] {
    const fromMicros = dateToMicros(date);
    const range = { fromMicros, toMicros: fromMicros + 24 * MICROS_PER_HOUR };
    return series
      .filter((one) => one.vessel === vessel && one.isThere)
      .flatMap((one) => within(one, range).map(({ micros, value }) => `${micros}\t${one.id}\t${value}`))
      .sort();
  }

  /** The vessel-days that are others now. */
  function remember(atMs: number): string[] {
    const changed: string[] = [];
    for (const vessel of vessels)
      for (const date of dates) {
        const [lines, name] = [linesOf(vessel, date), `${vessel} ${date}`];
        const digest = hash('sha256', lines.join('\n'));
        const before = history.get(name) ?? [];
        if (before.at(-1)?.digest === digest) continue;
        history.set(name, [...before, { sinceMs: atMs, lines, digest }]);
        changed.push(name);
      }
    return changed;
  }
  remember(Number.NEGATIVE_INFINITY);

  return {
    series,
    truths: (vessel: string, date: string): readonly Truth[] => history.get(`${vessel} ${date}`)!,
    /** The vessel-days that it has changed; none where there is nothing to change so. */
    change({ atMs, kind, series: which, date, at }: SourceChange): readonly string[] {
      const one = series[which % series.length]!;
      const isOfDay = ({ micros }: Reading) => microsToIso(micros).startsWith(date);
      if (kind === 'leaves' || kind === 'returns') {
        if (one.isThere === (kind === 'returns')) return [];
        one.isThere = kind === 'returns';
      } else if (kind === 'comes') {
        const hour = 2 * (at % 12);
        const micros = dateToMicros(date) + hour * MICROS_PER_HOUR + 1_000_000 * (1 + (at % 3_000)) + 7;
        if (one.readings.some((reading) => reading.micros === micros)) return [];
        const readings = [...one.readings, { micros, value: `${at}.25` }];
        one.readings = readings.sort((a, b) => a.micros - b.micros);
      } else {
        const going = one.readings.filter(
          (reading) => isOfDay(reading) && Math.floor(reading.micros / MICROS_PER_HOUR) % 2 === 1,
        );
        if (going.length === 0) return [];
        const gone = going[at % going.length];
        one.readings = one.readings.filter((reading) => reading !== gone);
      }
      return remember(atMs);
    },
  };
}

function drawReadings(date: string, draw: Draw): Reading[] {
  const count = pick(draw, [0, 1, 3, 6, 12]);
  const readings = Array.from({ length: count }, (_, at) => {
    const micros = dateToMicros(date) + Math.floor(((at + 0.5) * 24 * MICROS_PER_HOUR) / count);
    return { micros, value: draw(2) === 0 ? `${draw(1_000)}` : `${draw(1_000)}.5` };
  });
  return readings;
}

export function within(
  { readings }: Pick<Series, 'readings'>,
  { fromMicros, toMicros }: TimeRange,
): Reading[] {
  return readings.filter(({ micros }) => micros >= fromMicros && micros < toMicros);
}
