/**
 * A slice of made-up readings: the series one after the other, each by loops over its columns, and then, where all are
 * wanted in one order, the rows sorted by time. Nothing but the slice is held, in the same memory from slice to slice.
 */
import type { ColumnBatch, Micros } from '../../../core/model/index.ts';
import {
  createColumnBatch,
  MICROS_PER_DAY,
  MICROS_PER_HOUR,
  microsToDate,
  moveRows,
} from '../../../core/model/index.ts';
import type { Work } from '../../turns.ts';
import { STEPS_PER_LOOK } from '../../turns.ts';
import type { ReadingsNeed } from '../source.ts';
import type { FleetSeries } from './fleet.ts';
import { mix, mix2, unit } from './random.ts';
import { TimeSorter } from './time-sorter.ts';
import type { ReadingMaker, ReadingRows } from './values.ts';

interface SliceOptions {
  readonly series: readonly FleetSeries[];
  /** One a series. */
  readonly makers: readonly ReadingMaker[];
  readonly isSilent: (vessel: string, date: string) => boolean;
  readonly need: ReadingsNeed;
  readonly work: Work;
  /** That a slice has, about. */
  readonly readings: number;
}

/** Rows as they are made, series by series. */
interface SeriesRows extends ReadingRows, ColumnBatch {}

export class SliceWriter {
  readonly #options: SliceOptions;
  readonly #sorter = new TimeSorter();
  #rows: SeriesRows;
  /** Of all series in one order. */
  #sorted: ColumnBatch;
  #order = new Uint32Array(0);

  constructor(options: SliceOptions) {
    this.#options = options;
    // Some more, for a series may have one reading more in a slice than another.
    this.#rows = seriesRows(Math.ceil(options.readings * 1.05) + 2 * options.series.length);
    this.#sorted = createColumnBatch(0);
  }

  /** The readings of `[fromMicros, toMicros)`, which is within one day. The batch is valid until the next. */
  async write(fromMicros: Micros, toMicros: Micros): Promise<ColumnBatch> {
    const { series, isSilent, need, work } = this.#options;
    const dayMicros = Math.floor(fromMicros / MICROS_PER_DAY) * MICROS_PER_DAY;
    const date = microsToDate(dayMicros);
    const silent = new Map<string, boolean>();
    this.#rows.rows = 0;
    this.#rows.jsonText.count = 0;
    let steps = 0;
    for (let code = 0; code < series.length; code++) {
      const vessel = series[code]!.vessel.identifier;
      let isVesselSilent = silent.get(vessel);
      if (isVesselSilent === undefined) {
        isVesselSilent = isSilent(vessel, date);
        silent.set(vessel, isVesselSilent);
      }
      if (isVesselSilent) continue;
      steps += this.#append(code, dayMicros, fromMicros, toMicros);
      if (steps < STEPS_PER_LOOK) continue;
      steps = 0;
      if (work.isDue()) await work.pause();
    }
    return need.interleaved ? this.#sort(fromMicros, toMicros) : this.#rows;
  }

  /** The readings of one series. The steps it took. */
  #append(code: number, dayMicros: Micros, fromMicros: Micros, toMicros: Micros): number {
    const { series, makers, need } = this.#options;
    const { slotMicros, template } = series[code]!;
    const dayEnd = Math.min(toMicros, dayMicros + MICROS_PER_DAY);
    const slots = {
      first: Math.floor((fromMicros - dayMicros) / slotMicros),
      last: Math.floor((toMicros - 1 - dayMicros) / slotMicros),
    };
    const count = slots.last - slots.first + 1;
    this.#reserve(template.duplicates ? 2 * count : count);
    const rows = this.#rows;
    const from = rows.rows;
    rows.rows = placeReadings(rows, series[code]!, slots, { dayMicros, fromMicros, dayEnd });
    rows.seriesCodes.fill(code, from, rows.rows);
    if (need.values) makers[code]!.fill(rows, from, rows.rows);
    return count + 1;
  }

  #reserve(more: number): void {
    const old = this.#rows;
    const wanted = old.rows + more;
    if (wanted <= old.timestampMicros.length) return;
    const grown = seriesRows(Math.max(wanted, Math.ceil(old.timestampMicros.length * 1.5)));
    moveRows(old, grown);
    this.#rows = grown;
  }

  /** All rows by time; rows of one instant by series, as they were made. */
  #sort(fromMicros: Micros, toMicros: Micros): ColumnBatch {
    const rows = this.#rows;
    if (this.#order.length < rows.rows) {
      const capacity = rows.timestampMicros.length;
      this.#sorted = createColumnBatch(capacity);
      this.#order = new Uint32Array(capacity);
    }
    const [sorted, order] = [this.#sorted, this.#order];
    this.#sorter.sort(rows.timestampMicros, rows.rows, fromMicros, toMicros, sorted.timestampMicros, order);
    gather(rows, order, sorted);
    Object.assign(sorted.jsonText, rows.jsonText);
    sorted.rows = rows.rows;
    return sorted;
  }
}

function seriesRows(capacity: number): SeriesRows {
  return {
    ...createColumnBatch(capacity),
    hashes: new Int32Array(capacity),
    driven: new Float64Array(capacity),
    secondDriven: new Float64Array(capacity),
  };
}

interface SliceTimes {
  readonly dayMicros: Micros;
  readonly fromMicros: Micros;
  readonly dayEnd: Micros;
}

/** Times and hashes of a series' readings in its slots, behind the rows that are there; how many rows there are then. */
function placeReadings(
  { rows, timestampMicros, hashes }: SeriesRows,
  { seed, slotMicros, template }: FleetSeries,
  slots: { readonly first: number; readonly last: number },
  { dayMicros, fromMicros, dayEnd }: SliceTimes,
): number {
  const { jitter, duplicates } = template;
  const dayHash = mix2(seed, dayMicros / MICROS_PER_DAY);
  const gaps = template.gaps === undefined ? 0 : template.gaps * 2 ** 32;
  let at = rows;
  for (let slot = slots.first; slot <= slots.last; slot++) {
    const hash = mix(dayHash + Math.imul(slot, 0x9e3779b1));
    const micros = dayMicros + slot * slotMicros + (jitter ? Math.floor(unit(hash) * slotMicros) : 0);
    if (micros < fromMicros || micros >= dayEnd) continue;
    if (gaps > 0 && mix2(dayHash, Math.floor((micros - dayMicros) / MICROS_PER_HOUR)) < gaps) continue;
    timestampMicros[at] = micros;
    hashes[at++] = hash;
    if (!duplicates || !isDuplicated(hash)) continue;
    timestampMicros[at] = micros;
    hashes[at++] = hash;
  }
  return at;
}

function isDuplicated(hash: number): boolean {
  return (hash & 0x1ff) === 7;
}

/** What stands beside the times. */
function gather(rows: ColumnBatch, order: Uint32Array, sorted: ColumnBatch): void {
  const count = rows.rows;
  const [codes, kinds, words] = [rows.seriesCodes, rows.kinds, rows.words];
  const [toCodes, toKinds, toWords] = [sorted.seriesCodes, sorted.kinds, sorted.words];
  for (let row = 0; row < count; row++) {
    const from = order[row]!;
    toCodes[row] = codes[from]!;
    toKinds[row] = kinds[from]!;
    // Not the double of both words: that might change bits that are no number.
    toWords[2 * row] = words[2 * from]!;
    toWords[2 * row + 1] = words[2 * from + 1]!;
  }
}
