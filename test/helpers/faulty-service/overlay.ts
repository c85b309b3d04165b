/**
 * Changes to the served data, made by tests and faults: readings added and removed on top of a data source.
 * Slices that no change touches pass as they are.
 */
import type { ColumnBatch, Micros, TimeRange } from '../../../src/core/model/index.ts';
import { DOUBLE, JSON_TEXT, jsonTextAt, LONG } from '../../../src/core/model/index.ts';
import { BatchBuilder } from '../../../src/service/data/batch-builder.ts';
import type {
  DataSource,
  ReadingsNeed,
  ReadingsSlice,
  SeriesRecord,
} from '../../../src/service/data/source.ts';
import type { Work } from '../../../src/service/turns.ts';

/** A reading as a test writes it: `5` is long, `5.0` double, anything else JSON. */
export interface AddedReading {
  readonly timestampMicros: Micros;
  readonly valueText: string;
}

interface Added extends AddedReading {
  readonly timeSeriesId: string;
}

interface Removed {
  /** Undefined: of every series. */
  readonly timeSeriesId: string | undefined;
  readonly range: TimeRange;
  /** One reading in `every`, by a fixed choice; 1 is all. */
  readonly every: number;
}

const ALL_TIME: TimeRange = { fromMicros: Number.NEGATIVE_INFINITY, toMicros: Number.POSITIVE_INFINITY };

/** Readings added and removed so far. What was removed stays so; readings added later are not touched by it. */
export class Overlay {
  #added: Added[] = [];
  #removed: Removed[] = [];

  addReadings(timeSeriesId: string, readings: readonly AddedReading[]): void {
    for (const reading of readings) this.#added.push({ timeSeriesId, ...reading });
  }

  removeReadings(timeSeriesId: string | undefined, range: TimeRange = ALL_TIME, every = 1): void {
    this.#removed.push({ timeSeriesId, range, every });
    if (every !== 1) return;
    this.#added = this.#added.filter(
      (reading) =>
        (timeSeriesId !== undefined && reading.timeSeriesId !== timeSeriesId) ||
        reading.timestampMicros < range.fromMicros ||
        reading.timestampMicros >= range.toMicros,
    );
  }

  /** The data are as they were made up. */
  reset(): void {
    [this.#added, this.#removed] = [[], []];
  }

  get isEmpty(): boolean {
    return this.#added.length === 0 && this.#removed.length === 0;
  }

  /** Additions to the series in a range, with their position in `records`. */
  addedIn(records: readonly SeriesRecord[], range: TimeRange): { code: number; reading: AddedReading }[] {
    if (this.#added.length === 0) return [];
    const codes = new Map(records.map((record, code) => [record.timeSeriesId, code]));
    return this.#added.flatMap((reading) => {
      const code = codes.get(reading.timeSeriesId);
      const inside = reading.timestampMicros >= range.fromMicros && reading.timestampMicros < range.toMicros;
      return code !== undefined && inside ? [{ code, reading }] : [];
    });
  }

  removalsIn(range: TimeRange): readonly Removed[] {
    return this.#removed.filter(
      ({ range: gone }) => gone.fromMicros < range.toMicros && gone.toMicros > range.fromMicros,
    );
  }
}

/** A source whose readings are changed by an overlay, as it is at the time of reading. */
export function withOverlay(source: DataSource, overlay: Overlay): DataSource {
  async function* read(
    records: readonly SeriesRecord[],
    range: TimeRange,
    need: ReadingsNeed,
    work: Work,
  ): AsyncGenerator<ReadingsSlice, void, void> {
    if (overlay.isEmpty) return yield* source.read(records, range, need, work);
    let fromMicros = range.fromMicros;
    // Additions need values to be put in order.
    for await (const slice of source.read(records, range, { ...need, values: true }, work)) {
      yield { batch: applied(slice.batch, records, fromMicros, slice.toMicros), toMicros: slice.toMicros };
      fromMicros = slice.toMicros;
    }
    // The source may end before the range does (now, or the end of its data).
    if (fromMicros < range.toMicros) {
      const batch = applied(new BatchBuilder(1).batch, records, fromMicros, range.toMicros);
      yield { batch, toMicros: range.toMicros };
    }
  }

  function applied(
    batch: ColumnBatch,
    records: readonly SeriesRecord[],
    fromMicros: Micros,
    toMicros: Micros,
  ): ColumnBatch {
    const range = { fromMicros, toMicros };
    const added = overlay.addedIn(records, range);
    const removals = overlay.removalsIn(range);
    if (added.length === 0 && removals.length === 0) return batch;
    const kept = removals.length === 0 ? batch : without(batch, records, removals);
    return added.length === 0 ? kept : merged(kept, added);
  }

  return { series: source.series, read };
}

function without(
  batch: ColumnBatch,
  records: readonly SeriesRecord[],
  removals: readonly Removed[],
): ColumnBatch {
  const builder = new BatchBuilder(batch.rows);
  for (let row = 0; row < batch.rows; row++) {
    const micros = batch.timestampMicros[row]!;
    const id = records[batch.seriesCodes[row]!]!.timeSeriesId;
    const gone = removals.some(
      ({ timeSeriesId, range, every }) =>
        (timeSeriesId === undefined || timeSeriesId === id) &&
        micros >= range.fromMicros &&
        micros < range.toMicros &&
        Math.floor(micros / 7) % every === 0,
    );
    if (!gone) copyRow(builder, batch, row);
  }
  return builder.batch;
}

function merged(batch: ColumnBatch, added: readonly { code: number; reading: AddedReading }[]): ColumnBatch {
  const unsorted = new BatchBuilder(batch.rows + added.length);
  for (let row = 0; row < batch.rows; row++) copyRow(unsorted, batch, row);
  for (const { code, reading } of added) appendText(unsorted, reading, code);
  const order = Array.from({ length: unsorted.rows }, (_, row) => row);
  order.sort((a, b) => compareRows(unsorted.batch, a, b));
  const sorted = new BatchBuilder(unsorted.rows);
  for (const row of order) copyRow(sorted, unsorted.batch, row);
  return sorted.batch;
}

function appendText(builder: BatchBuilder, { timestampMicros, valueText }: AddedReading, code: number): void {
  const text = valueText.trim();
  if (/^-?\d+$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text))
    builder.appendLong(timestampMicros, code, BigInt(text));
  else if (/^-?\d+(\.\d+([eE][+-]?\d+)?|[eE][+-]?\d+)$/.test(text) && Number.isFinite(Number(text)))
    builder.appendDouble(timestampMicros, code, Number(text));
  else builder.appendJson(timestampMicros, code, valueText);
}

function copyRow(builder: BatchBuilder, batch: ColumnBatch, row: number): void {
  const micros = batch.timestampMicros[row]!;
  const code = batch.seriesCodes[row]!;
  const kind = batch.kinds[row]!;
  if (kind === DOUBLE) builder.appendDouble(micros, code, batch.doubles[row]!);
  else if (kind === LONG) builder.appendLong(micros, code, batch.longs[row]!);
  else builder.appendJson(micros, code, jsonBytes(batch, row));
}

function jsonBytes(batch: ColumnBatch, row: number): Uint8Array {
  return jsonTextAt(batch.jsonText, batch.words[2 * row]!);
}

/** The service's order: timestamp, series, then long before double before JSON, each ascending. */
function compareRows(batch: ColumnBatch, a: number, b: number): number {
  return (
    batch.timestampMicros[a]! - batch.timestampMicros[b]! ||
    batch.seriesCodes[a]! - batch.seriesCodes[b]! ||
    batch.kinds[a]! - batch.kinds[b]! ||
    compareValues(batch, a, b)
  );
}

function compareValues(batch: ColumnBatch, a: number, b: number): number {
  if (batch.kinds[a] === DOUBLE) return batch.doubles[a]! - batch.doubles[b]!;
  if (batch.kinds[a] === JSON_TEXT) return Buffer.compare(jsonBytes(batch, a), jsonBytes(batch, b));
  const [left, right] = [batch.longs[a]!, batch.longs[b]!];
  return left < right ? -1 : left > right ? 1 : 0;
}
