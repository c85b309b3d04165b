/**
 * The made-up fleet as a data source. Readings are a pure function of seed, series and time: a series has slots of equal length from UTC midnight on, each
 * with one reading at most (rarely the same instant twice), placed and valued by a hash. So any slice can be made alone.
 */
import type { TimeRange } from '../../../core/model/index.ts';
import { MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MILLI, microsToDate } from '../../../core/model/time.ts';
import type { MadeUpData } from '../../options.ts';
import { STEPS_PER_LOOK, type Work } from '../../turns.ts';
import { BatchBuilder } from '../batch-builder.ts';
import type { DataSource, ReadingsNeed, SeriesRecord } from '../source.ts';
import { type FleetSeries, type FleetVessel, fleetSeries, fleetVessels } from './fleet.ts';
import { mix, mix2, unit } from './random.ts';
import type { ReadingMaker } from './templates.ts';
import { FLEET_EPOCH_MINUTE } from './trip.ts';
import { createMarkStore, Voyage } from './voyage.ts';

const SLICE_READINGS = 32_768;
const SILENT_CHOICES = 28;
/** No silent days from here on, so that the newest days always have data. */
const SILENT_UNTIL = '2026-07-01';
const NEVER_SILENT: ReadonlySet<string> = new Set(['2026-01-05', '2026-01-06']);

export type MadeUpSource = ReturnType<typeof createMadeUpSource>;

/** There are no readings at or after now, which is in milliseconds since the epoch. */
export function createMadeUpSource(options: MadeUpData & { readonly nowMs: () => number }) {
  const vessels = fleetVessels(options);
  const fleet = fleetSeries(vessels, options);
  const byId = new Map(fleet.map((series) => [series.record.timeSeriesId, series]));
  const marks = createMarkStore();
  const voyages = new Map(
    vessels.map(({ identifier, particulars }) => [identifier, new Voyage(particulars, marks)]),
  );
  const seeds = new Map(vessels.map((vessel) => [vessel.identifier, vessel.particulars.seed]));
  const startDay = microsToDate(options.nowMs() * MICROS_PER_MILLI);

  /** Does the vessel send nothing on that UTC date: one day of each month before July 2026? */
  const isSilent = (vessel: string, date: string): boolean => {
    if (date >= SILENT_UNTIL || NEVER_SILENT.has(date)) return false;
    const daysOld = (Date.parse(startDay) - Date.parse(date)) / 86_400_000;
    if (daysOld >= 0 && daysOld <= 2) return false;
    const month = Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7));
    return Number(date.slice(8)) === 1 + (mix2(seeds.get(vessel) ?? 0, month) % SILENT_CHOICES);
  };

  async function resolve(records: readonly SeriesRecord[], work: Work): Promise<FleetSeries[]> {
    const found: FleetSeries[] = [];
    for (const { timeSeriesId } of records) {
      if (found.length % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
      found.push(byId.get(timeSeriesId)!);
    }
    return found;
  }

  return {
    series: fleet.map(({ record }) => record),
    vessels,
    isSilent,
    async *read(records, range, need, work) {
      const toMicros = Math.min(range.toMicros, options.nowMs() * MICROS_PER_MILLI);
      let fromMicros = Math.max(range.fromMicros, FLEET_EPOCH_MINUTE * 60 * MICROS_PER_MILLI * 1000);
      const series = await resolve(records, work);
      const perMicro = series.reduce((sum, { slotMicros }) => sum + 1 / slotMicros, 0);
      const sliceMicros = Math.max(1_000, Math.min(MICROS_PER_DAY, Math.round(SLICE_READINGS / perMicro)));
      const makers = series.map(({ template, vessel, seed }) =>
        template.value(voyages.get(vessel.identifier)!, seed),
      );
      const builder = new BatchBuilder();
      while (fromMicros < toMicros) {
        if (work.isDue()) await work.pause();
        // Slices do not cross midnight: slots are counted from there.
        const midnight = (Math.floor(fromMicros / MICROS_PER_DAY) + 1) * MICROS_PER_DAY;
        const slice = { fromMicros, toMicros: Math.min(toMicros, midnight, fromMicros + sliceMicros) };
        const date = microsToDate(fromMicros);
        const silent = new Set(
          vessels.map(({ identifier }) => identifier).filter((vessel) => isSilent(vessel, date)),
        );
        builder.reset();
        await addReadings(builder, slice, { series, makers, silent, need, work });
        yield { batch: builder.batch, toMicros: slice.toMicros };
        fromMicros = slice.toMicros;
      }
    },
  } satisfies DataSource & { vessels: readonly FleetVessel[]; isSilent: unknown };
}

interface Wanted {
  readonly series: readonly FleetSeries[];
  readonly makers: readonly ReadingMaker[];
  readonly silent: ReadonlySet<string>;
  readonly need: ReadingsNeed;
  readonly work: Work;
}

/** Readings that are to be made: when, of which series, and the hashes of their slots. */
interface Places {
  count: number;
  readonly micros: Float64Array;
  readonly codes: Uint32Array;
  readonly hashes: Uint32Array;
}

/** Add the readings of a range within one day: series by series, or all by time and then by series. */
async function addReadings(builder: BatchBuilder, range: TimeRange, wanted: Wanted): Promise<void> {
  const { series, makers, silent, need, work } = wanted;
  const lengthMicros = range.toMicros - range.fromMicros;
  const room = series.reduce(
    (sum, { slotMicros }) => sum + 2 * (Math.ceil(lengthMicros / slotMicros) + 1),
    0,
  );
  const [micros, codes, hashes] = [new Float64Array(room), new Uint32Array(room), new Uint32Array(room)];
  const places: Places = { count: 0, micros, codes, hashes };
  let steps = 0;
  for (const [code, one] of series.entries()) {
    if (silent.has(one.vessel.identifier)) continue;
    steps += place(one, code, range, places);
    if (steps < STEPS_PER_LOOK) continue;
    steps = 0;
    if (work.isDue()) await work.pause();
  }
  const { count } = places;
  const order = need.interleaved ? inOrder(micros.subarray(0, count), range) : undefined;
  builder.reserve(count);
  let before = -1;
  for (let n = 0; n < count; n++) {
    if (n % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
    const at = order === undefined ? n : order[n]!;
    const [time, code] = [micros[at]!, codes[at]!];
    // The second of an instant follows the first.
    const isSecond = n > 0 && codes[before] === code && micros[before] === time;
    if (need.values) makers[code]!(builder, time, code, hashes[at]!, isSecond);
    else builder.appendTime(time, code);
    before = at;
  }
}

/** Add the places of one series' readings in a range; how many slots it has there. */
function place(
  { seed, slotMicros, template }: FleetSeries,
  code: number,
  { fromMicros, toMicros }: TimeRange,
  places: Places,
): number {
  const { jitter, duplicates, gaps } = template;
  const dayMicros = Math.floor(fromMicros / MICROS_PER_DAY) * MICROS_PER_DAY;
  const dayHash = mix2(seed, dayMicros / MICROS_PER_DAY);
  const first = Math.floor((fromMicros - dayMicros) / slotMicros);
  const last = Math.floor((toMicros - 1 - dayMicros) / slotMicros);
  for (let slot = first; slot <= last; slot++) {
    const hash = mix(dayHash + Math.imul(slot, 0x9e3779b1));
    const at = dayMicros + slot * slotMicros + (jitter ? Math.floor(unit(hash) * slotMicros) : 0);
    if (at < fromMicros || at >= toMicros) continue;
    if (gaps > 0 && unit(mix2(dayHash, Math.floor((at - dayMicros) / MICROS_PER_HOUR))) < gaps) continue;
    // Now and then a timestamp comes twice.
    for (let left = duplicates && (hash & 0x1ff) === 7 ? 2 : 1; left > 0; left--) {
      places.micros[places.count] = at;
      places.codes[places.count] = code;
      places.hashes[places.count++] = hash;
    }
  }
  return last - first + 1;
}

/** Positions by time; those of one instant stay in their order. */
function inOrder(micros: Float64Array, { fromMicros }: TimeRange): Float64Array {
  const count = micros.length;
  // An instant of a slice and a position together fit a double: numbers are sorted without calling back.
  const keys = micros.map((time, at) => (time - fromMicros) * count + at).sort();
  return keys.map((key) => key % count);
}
