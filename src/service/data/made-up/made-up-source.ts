/**
 * The made-up fleet as a data source. The readings of any range of any series are a pure function of seed,
 * series and time: each series has slots of equal length counted from UTC midnight, and a slot holds at most
 * one reading (rarely the same instant twice), placed and valued by a hash. So any slice can be made alone.
 */
import type { TimeRange } from '../../../core/model/index.ts';
import { MICROS_PER_DAY, MICROS_PER_MILLI, microsToDate } from '../../../core/model/index.ts';
import type { Work } from '../../turns.ts';
import { STEPS_PER_LOOK } from '../../turns.ts';
import type { DataSource, ReadingsNeed, ReadingsSlice, SeriesRecord } from '../source.ts';
import { MarkStore } from './driver-line.ts';
import type { FleetOptions, FleetSeries, FleetVessel } from './fleet.ts';
import { fleetSeries, fleetVessels } from './fleet.ts';
import { mix2 } from './random.ts';
import { SliceWriter } from './slice-writer.ts';
import { FLEET_EPOCH_MINUTE } from './trip.ts';
import type { ReadingMaker } from './values.ts';
import { createReadingMaker } from './values.ts';
import { Voyage } from './voyage.ts';

/** Readings aimed at in one slice. */
const SLICE_READINGS = 32_768;
const SILENT_CHOICES = 28;
/** No silent days from here on, so that the newest days always have data. */
const SILENT_UNTIL = '2026-07-01';
const NEVER_SILENT: ReadonlySet<string> = new Set(['2026-01-05', '2026-01-06']);

interface MadeUpOptions extends FleetOptions {
  /** Milliseconds since the epoch now; there are no readings at or after it. */
  readonly nowMs: () => number;
}

export interface MadeUpSource extends DataSource {
  readonly vessels: readonly FleetVessel[];
  /** True when the vessel sends nothing on that UTC date: one day of each month before July 2026. */
  isSilent(vessel: string, date: string): boolean;
}

export function createMadeUpSource(options: MadeUpOptions): MadeUpSource {
  const vessels = fleetVessels(options);
  const fleet = fleetSeries(vessels, options);
  const byId = new Map(fleet.map((series) => [series.record.timeSeriesId, series]));
  const marks = new MarkStore();
  const voyages = new Map(
    vessels.map(({ identifier, particulars }) => [identifier, new Voyage(particulars, marks)]),
  );
  const seeds = new Map(vessels.map((vessel) => [vessel.identifier, vessel.particulars.seed]));
  const startDay = microsToDate(options.nowMs() * MICROS_PER_MILLI);

  const isSilent = (vessel: string, date: string): boolean => {
    if (date >= SILENT_UNTIL || NEVER_SILENT.has(date)) return false;
    const daysOld = (Date.parse(startDay) - Date.parse(date)) / 86_400_000;
    if (daysOld >= 0 && daysOld <= 2) return false;
    const month = Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7));
    return Number(date.slice(8)) === 1 + (mix2(seeds.get(vessel) ?? 0, month) % SILENT_CHOICES);
  };

  async function* read(
    records: readonly SeriesRecord[],
    range: TimeRange,
    need: ReadingsNeed,
    work: Work,
  ): AsyncGenerator<ReadingsSlice, void, void> {
    const toMicros = Math.min(range.toMicros, options.nowMs() * MICROS_PER_MILLI);
    let fromMicros = Math.max(range.fromMicros, FLEET_EPOCH_MINUTE * 60 * MICROS_PER_MILLI * 1000);
    const { series, makers } = await resolve(records, byId, voyages, work);
    const perMicro = readingsPerMicro(series);
    const sliceMicros = sliceLength(perMicro);
    const readings = Math.ceil(perMicro * Math.min(sliceMicros, Math.max(0, toMicros - fromMicros)));
    const writer = new SliceWriter({ series, makers, isSilent, need, work, readings });
    while (fromMicros < toMicros) {
      if (work.isDue()) await work.pause();
      // Slices do not cross midnight: slots are counted from there.
      const midnight = (Math.floor(fromMicros / MICROS_PER_DAY) + 1) * MICROS_PER_DAY;
      const sliceTo = Math.min(toMicros, midnight, fromMicros + sliceMicros);
      yield { batch: await writer.write(fromMicros, sliceTo), toMicros: sliceTo };
      fromMicros = sliceTo;
    }
  }

  return { series: fleet.map((series) => series.record), vessels, isSilent, read };
}

/** The series that are meant, and who makes their readings. */
async function resolve(
  records: readonly SeriesRecord[],
  byId: ReadonlyMap<string, FleetSeries>,
  voyages: ReadonlyMap<string, Voyage>,
  work: Work,
): Promise<{ series: FleetSeries[]; makers: ReadingMaker[] }> {
  const found: FleetSeries[] = [];
  const makers: ReadingMaker[] = [];
  for (const { timeSeriesId } of records) {
    if (found.length % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
    const series = byId.get(timeSeriesId)!;
    found.push(series);
    makers.push(createReadingMaker(series, voyages.get(series.vessel.identifier)!));
  }
  return { series: found, makers };
}

/** As many as there are at most, but for timestamps that come twice. */
function readingsPerMicro(selected: readonly FleetSeries[]): number {
  let perMicro = 0;
  for (const series of selected) perMicro += 1 / series.slotMicros;
  return perMicro;
}

function sliceLength(perMicro: number): number {
  if (perMicro === 0) return MICROS_PER_DAY;
  return Math.max(1_000, Math.min(MICROS_PER_DAY, Math.round(SLICE_READINGS / perMicro)));
}
