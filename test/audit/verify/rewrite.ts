/** Forgery: a published day with other rows in it, whose receipt names the new bytes. Only a deep verify can tell. */

import { join } from 'node:path';
import {
  type Aggregation,
  createSeriesDictionary,
  microsToIso,
  type StatisticsRow,
  type VesselDay,
} from '../../../src/core/model/index.ts';
import { objectKey } from '../../../src/lake/keys.ts';
import {
  createEncoder,
  createMeasurementRowGroups,
  createStatisticsRowGroups,
  encodeMetadata,
} from '../../../src/parquet/write/index.ts';
import { duckRows } from '../../helpers/lake.ts';
import { bareSeries, batchOf, fileOf, type Reading, sealAll } from '../../parquet/write/lake-file.ts';
import { editReceipt, replaceObject } from './audit-lake.ts';

/** Change the readings of a published day. */
export async function forgeReadings(
  dir: string,
  day: VesselDay,
  change: (readings: Reading[]) => Reading[],
): Promise<void> {
  const path = join(dir, objectKey(day));
  const rows = await duckRows(
    `SELECT epoch_us(timestamp), time_series_id, id, long_value, double_value, json_value FROM '${path}'`,
  );
  const names = new Map(rows.map(([, id, name]) => [String(id), name as string | null]));
  const readings = rows.map(([micros, series, , long, double, json]) => ({
    micros: Number(micros),
    series: String(series),
    value: (long ?? double ?? json) as Reading['value'],
  }));
  const changed = change(readings).sort((a, b) => a.micros - b.micros);
  const dictionary = createSeriesDictionary();
  const builder = createMeasurementRowGroups({
    rowGroupRows: 1_000,
    dictionary,
    idOf: (id) => names.get(id) ?? null,
    encoder: createEncoder({ threads: 0 }),
  });
  builder.append(batchOf(changed, dictionary), 0, changed.length);
  await replaceObject(dir, day, fileOf('measurements', await sealAll(builder)));
}

/** Change the windows of a published day of statistics. */
export async function forgeWindows(
  dir: string,
  day: VesselDay,
  aggregations: readonly Aggregation[],
  change: (row: Map<string, string>, index: number) => void,
): Promise<void> {
  const path = join(dir, objectKey(day));
  const columns = aggregations.flatMap((name) => (name.endsWith('_val') ? [name, `${name}_json`] : [name]));
  const sql = columns.map((name) => (name.endsWith('_time') ? `epoch_us(${name})` : `"${name}"`));
  const rows = await duckRows(
    `SELECT epoch_us(timestamp), time_series_id, id, ${sql.join(', ')} FROM '${path}' ORDER BY timestamp, time_series_id`,
  );
  const names = new Map(rows.map(([, id, name]) => [String(id), name as string | null]));
  const windows = rows.map(([micros, id, , ...cells], index): StatisticsRow => {
    const values = new Map<string, string>();
    for (const [c, name] of columns.entries()) {
      const cell = cells[c] ?? null;
      if (cell === null) continue;
      const text = name.endsWith('_time') ? `"${microsToIso(Number(cell))}"` : String(cell);
      values.set(name.replace(/_json$/, ''), text);
    }
    change(values, index);
    return { timestampMicros: Number(micros), id: String(id), values };
  });
  const builder = createStatisticsRowGroups({
    rowGroupRows: 10_000,
    aggregations,
    idOf: (id) => names.get(id) ?? null,
    encoder: createEncoder({ threads: 0 }),
  });
  builder.append(windows, 0, windows.length);
  await replaceObject(dir, day, fileOf('statistics', await sealAll(builder)));
}

/** A snapshot in which the same series stands `rows` times. */
export async function forgeSnapshot(dir: string, day: VesselDay, rows: number): Promise<void> {
  const series = bareSeries('IMO9321483/Speed', '00000000-0000-4000-8000-000000000000');
  const group = await encodeMetadata(Array.from({ length: rows }, () => series));
  await replaceObject(dir, day, fileOf('metadata', [group]));
  await editReceipt(dir, day, ({ source }) => ({ rows, series: rows, source: { ...source, rows } }));
}
