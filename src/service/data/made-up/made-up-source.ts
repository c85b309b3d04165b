/**
 * The made-up fleet as a data source. The readings of any range of any series are a pure function of seed,
 * series and time: each series has slots of equal length counted from UTC midnight, and a slot holds at most
 * one reading (rarely the same instant twice), placed and valued by a hash. So any slice can be made alone.
 *
 * A slice is made in two passes: the first collects (time, series) as one sortable number each, the second
 * computes the values in that order. Nothing but the slice is held.
 */
import type { ColumnBatch, Micros, TimeRange } from '../../../model/index.ts';
import { MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MILLI, microsToDate } from '../../../model/index.ts';
import type { Work } from '../../turns.ts';
import { STEPS_PER_LOOK } from '../../turns.ts';
import { BatchBuilder } from '../batch-builder.ts';
import type { DataSource, ReadingsNeed, ReadingsSlice, SeriesRecord } from '../source.ts';
import type { FleetOptions, FleetSeries, FleetVessel } from './fleet.ts';
import { fleetSeries, fleetVessels } from './fleet.ts';
import { mix, mix2, unit } from './random.ts';
import { KeySorter } from './sort-keys.ts';
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
  const voyages = new Map(vessels.map((vessel) => [vessel.identifier, new Voyage(vessel.particulars)]));
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
    const { selected, makers } = await resolve(records, byId, voyages, work);
    const perMicro = readingsPerMicro(selected);
    const sliceMicros = sliceLength(perMicro, selected.length);
    const readings = Math.ceil(perMicro * Math.min(sliceMicros, Math.max(0, toMicros - fromMicros)));
    const writer = new SliceWriter(selected, makers, isSilent, need, work, readings);
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
): Promise<{ selected: FleetSeries[]; makers: ReadingMaker[] }> {
  const selected: FleetSeries[] = [];
  const makers: ReadingMaker[] = [];
  for (const { timeSeriesId } of records) {
    if (selected.length % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
    const series = byId.get(timeSeriesId)!;
    selected.push(series);
    makers.push(createReadingMaker(series, voyages.get(series.vessel.identifier)!));
  }
  return { selected, makers };
}

/** As many as there are at most, but for timestamps that come twice. */
function readingsPerMicro(selected: readonly FleetSeries[]): number {
  let perMicro = 0;
  for (const series of selected) perMicro += 1 / series.slotMicros;
  return perMicro;
}

function sliceLength(perMicro: number, seriesCount: number): number {
  if (perMicro === 0) return MICROS_PER_DAY;
  const longest = Math.min(MICROS_PER_DAY, Math.floor(Number.MAX_SAFE_INTEGER / keyFactor(seriesCount)));
  return Math.max(1_000, Math.min(longest, Math.round(SLICE_READINGS / perMicro)));
}

/** A sort key is `microseconds into the slice × factor + series`: a power of two comes apart without rounding. */
function keyFactor(seriesCount: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(2, seriesCount)));
}

class SliceWriter {
  readonly #series: readonly FleetSeries[];
  readonly #makers: readonly ReadingMaker[];
  /** Of the day at hand, by series. */
  readonly #dayHashes: Int32Array;
  readonly #isSilent: (vessel: string, date: string) => boolean;
  readonly #need: ReadingsNeed;
  readonly #work: Work;
  readonly #builder: BatchBuilder;
  readonly #keyFactor: number;
  readonly #sorter = new KeySorter();
  #keys: Float64Array;
  #count = 0;

  constructor(
    series: readonly FleetSeries[],
    makers: readonly ReadingMaker[],
    isSilent: (vessel: string, date: string) => boolean,
    need: ReadingsNeed,
    work: Work,
    /** That a slice has, about. */
    readings: number,
  ) {
    // Some more of each, for a series may have one reading more in a slice than another.
    const room = Math.ceil(readings * 1.05) + 2 * series.length;
    this.#builder = new BatchBuilder(room);
    this.#keys = new Float64Array(room);
    this.#series = series;
    this.#makers = makers;
    this.#work = work;
    this.#dayHashes = new Int32Array(series.length);
    this.#isSilent = isSilent;
    this.#need = need;
    this.#keyFactor = keyFactor(series.length);
  }

  async write(fromMicros: Micros, toMicros: Micros): Promise<ColumnBatch> {
    this.#builder.reset();
    const dayMicros = Math.floor(fromMicros / MICROS_PER_DAY) * MICROS_PER_DAY;
    const date = microsToDate(dayMicros);
    const silent = new Map<string, boolean>();
    this.#count = 0;
    let steps = 0;
    for (let code = 0; code < this.#series.length; code++) {
      const series = this.#series[code]!;
      const vessel = series.vessel.identifier;
      let isSilent = silent.get(vessel);
      if (isSilent === undefined) {
        isSilent = this.#isSilent(vessel, date);
        silent.set(vessel, isSilent);
      }
      if (isSilent) continue;
      steps += this.#collect(series, code, dayMicros, fromMicros, toMicros);
      if (steps < STEPS_PER_LOOK) continue;
      steps = 0;
      if (this.#work.isDue()) await this.#work.pause();
      if (!this.#need.interleaved) await this.#emit(dayMicros, fromMicros);
    }
    if (this.#need.interleaved)
      this.#sorter.sort(this.#keys, this.#count, (toMicros - fromMicros) * this.#keyFactor);
    await this.#emit(dayMicros, fromMicros);
    return this.#builder.batch;
  }

  /** First pass: one key per reading of a series in the slice, ascending. The steps it took. */
  #collect(
    series: FleetSeries,
    code: number,
    dayMicros: Micros,
    fromMicros: Micros,
    toMicros: Micros,
  ): number {
    const { slotMicros, template } = series;
    const dayHash = mix2(series.seed, dayMicros / MICROS_PER_DAY);
    this.#dayHashes[code] = dayHash;
    const firstSlot = Math.floor((fromMicros - dayMicros) / slotMicros);
    const lastSlot = Math.floor((toMicros - 1 - dayMicros) / slotMicros);
    const gaps = template.gaps === undefined ? 0 : template.gaps * 2 ** 32;
    const dayEnd = Math.min(toMicros, dayMicros + MICROS_PER_DAY);
    this.#reserve((lastSlot - firstSlot + 1) * 2);
    for (let slot = firstSlot; slot <= lastSlot; slot++) {
      const hash = slotHash(dayHash, slot);
      const micros =
        dayMicros + slot * slotMicros + (template.jitter ? Math.floor(unit(hash) * slotMicros) : 0);
      if (micros < fromMicros || micros >= dayEnd) continue;
      if (gaps > 0 && mix2(dayHash, Math.floor((micros - dayMicros) / MICROS_PER_HOUR)) < gaps) continue;
      const key = (micros - fromMicros) * this.#keyFactor + code;
      this.#keys[this.#count++] = key;
      if (template.duplicates && isDuplicated(hash)) this.#keys[this.#count++] = key;
    }
    return lastSlot - firstSlot + 2;
  }

  #reserve(more: number): void {
    if (this.#count + more <= this.#keys.length) return;
    const grown = new Float64Array(Math.max(this.#count + more, this.#keys.length * 2));
    grown.set(this.#keys);
    this.#keys = grown;
  }

  /** Second pass: the keys, in order, become rows; those written are forgotten. */
  async #emit(dayMicros: Micros, fromMicros: Micros): Promise<void> {
    this.#builder.reserve(this.#count);
    for (let i = 0; i < this.#count; i += STEPS_PER_LOOK) {
      if (i > 0 && this.#work.isDue()) await this.#work.pause();
      this.#emitSome(i, Math.min(this.#count, i + STEPS_PER_LOOK), dayMicros, fromMicros);
    }
    this.#count = 0;
  }

  /** The rows of keys `[from, to)`. */
  #emitSome(from: number, to: number, dayMicros: Micros, fromMicros: Micros): void {
    const builder = this.#builder;
    let before = from === 0 ? -1 : this.#keys[from - 1]!;
    for (let i = from; i < to; i++) {
      const key = this.#keys[i]!;
      const offset = Math.floor(key / this.#keyFactor);
      const code = key - offset * this.#keyFactor;
      const micros = fromMicros + offset;
      if (!this.#need.values) builder.appendTime(micros, code);
      else {
        const slot = Math.floor((micros - dayMicros) / this.#series[code]!.slotMicros);
        const hash = slotHash(this.#dayHashes[code]!, slot);
        this.#makers[code]!.append(builder, micros, code, hash, key === before ? 1 : 0);
      }
      before = key;
    }
  }
}

function slotHash(dayHash: number, slot: number): number {
  return mix(dayHash + Math.imul(slot, 0x9e3779b1));
}

function isDuplicated(hash: number): boolean {
  return (hash & 0x1ff) === 7;
}
