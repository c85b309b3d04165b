/** A file of readings as a data source: it is read whole when the service starts, and what is written to it later is not seen. */
import type { ColumnBatch, Log, Micros } from '../../../core/model/index.ts';
import { DOUBLE, firstRowFrom, JSON_TEXT, jsonTextAt, LONG } from '../../../core/model/index.ts';
import { STEPS_PER_LOOK } from '../../turns.ts';
import { BatchBuilder } from '../batch-builder.ts';
import type { DataSource } from '../source.ts';
import { readReplayFile } from './replay-file.ts';

/** Readings looked at for one slice, about: one never ends among readings of the same instant. */
const SLICE_READINGS = 32_768;

/** Throws ConfigError when the file cannot be served, and the signal's reason when it is aborted. */
export async function openReplaySource(path: string, log: Log, signal?: AbortSignal): Promise<DataSource> {
  const { series, readings } = await readReplayFile(path, signal);
  log.info({ path, series: series.length, readings: readings.rows }, 'replaying a file');
  const sorted = [...series].sort((a, b) => (a.timeSeriesId < b.timeSeriesId ? -1 : 1));
  const ranks = new Map(sorted.map(({ timeSeriesId }, rank) => [timeSeriesId, rank]));
  const rankOf = Int32Array.from(series, ({ timeSeriesId }) => ranks.get(timeSeriesId)!);
  const rows = sortedRows(readings, rankOf);
  const codes = new Map(series.map(({ timeSeriesId }, code) => [timeSeriesId, code]));

  return {
    series: sorted,
    async *read(records, range, { values }, work) {
      const positions = new Int32Array(series.length).fill(-1);
      for (const [at, { timeSeriesId }] of records.entries()) positions[codes.get(timeSeriesId)!] = at;
      const end = rows.firstFrom(range.toMicros);
      const builder = new BatchBuilder(SLICE_READINGS);
      let row = rows.firstFrom(range.fromMicros);
      while (row < end) {
        const sliceEnd = rows.endOfInstant(Math.min(end, row + SLICE_READINGS), end);
        builder.reset();
        for (; row < sliceEnd; row++) {
          if (row % STEPS_PER_LOOK === 0 && work.isDue()) await work.pause();
          const from = rows.order[row]!;
          const position = positions[readings.seriesCodes[from]!]!;
          if (position >= 0) appendRow(builder, readings, from, position, values);
        }
        yield { batch: builder.batch, toMicros: row < end ? rows.microsAt(row) : range.toMicros };
      }
    },
  };
}

/** The rows of a batch by time, then series, then value: the service's one order, as callers name series by ascending id. */
function sortedRows(readings: ColumnBatch, rankOf: Int32Array) {
  const { rows, timestampMicros, seriesCodes } = readings;
  const rank = (row: number) => rankOf[seriesCodes[row]!]!;
  const compare = (a: number, b: number) =>
    timestampMicros[a]! - timestampMicros[b]! || rank(a) - rank(b) || compareValues(readings, a, b);
  const order = Uint32Array.from({ length: rows }, (_, row) => row);
  // Recorded files mostly are in order already, and comparing is far cheaper than sorting.
  for (let row = 1; row < rows; row++)
    if (compare(row - 1, row) > 0) {
      order.sort(compare);
      break;
    }
  const times = Float64Array.from(order, (row) => timestampMicros[row]!);
  return {
    order,
    microsAt: (row: number): Micros => times[row]!,
    firstFrom: (micros: Micros) => firstRowFrom({ timestampMicros: times, rows }, micros),
    /** `row`, or the first after it that is of another instant than the one before. */
    endOfInstant(row: number, end: number): number {
      let at = row;
      while (at > 0 && at < end && times[at] === times[at - 1]) at++;
      return at;
    },
  };
}

function compareValues(batch: ColumnBatch, a: number, b: number): number {
  const kind = batch.kinds[a]!;
  const byKind = kind - batch.kinds[b]!;
  if (byKind !== 0) return byKind;
  if (kind === LONG) return Number(batch.longs[a]! - batch.longs[b]!);
  if (kind === DOUBLE) return batch.doubles[a]! - batch.doubles[b]!;
  return Buffer.compare(textOf(batch, a), textOf(batch, b));
}

function textOf({ jsonText, words }: ColumnBatch, row: number): Uint8Array {
  return jsonTextAt(jsonText, words[2 * row]!);
}

function appendRow(
  builder: BatchBuilder,
  readings: ColumnBatch,
  row: number,
  position: number,
  values: boolean,
): void {
  const micros = readings.timestampMicros[row]!;
  const kind = readings.kinds[row]!;
  if (!values) builder.appendTime(micros, position);
  else if (kind === DOUBLE) builder.appendDouble(micros, position, readings.doubles[row]!);
  else if (kind === JSON_TEXT) builder.appendJson(micros, position, textOf(readings, row));
  else builder.appendLong(micros, position, readings.longs[row]!);
}
