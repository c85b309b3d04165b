import { type EncodedRowGroup, NO_RUNS, type SeriesMetadata } from '../../core/model/index.ts';
import { METADATA_COLUMNS } from './columns.ts';
import { createEncoder, type Encoder } from './encoder.ts';
import { checkRowGroup, splitParquetFile } from './parquet-tail.ts';
import { rankSeries } from './series-ranks.ts';
import { createTable, setValue, type TableValue, tableNulls } from './table.ts';

/** One row a series, every field a column, sorted by time series id; times are 0. Throws RangeError without any series, and what the encoder throws. */
export async function encodeMetadata(
  series: readonly SeriesMetadata[],
  encoder: Encoder = createEncoder({ threads: 0 }),
): Promise<EncodedRowGroup> {
  if (series.length === 0) throw new RangeError('got no series, expected at least one');
  const table = createTable(METADATA_COLUMNS, series.length);
  for (const [row, metadata] of series.entries()) {
    // Each row has a code of its own here, so that an id that comes twice keeps both its rows.
    table.seriesCodes[row] = row;
    const values = fieldValues(metadata);
    for (const [c, column] of table.columns.entries()) setValue(column, row, values[c]!);
  }
  table.rows = series.length;
  const { ranks } = rankSeries(series.map(({ timeSeriesId: id, id: name }) => ({ id, name })));
  const nulls = tableNulls(table);
  const facts = { rows: table.rows, minMicros: undefined, maxMicros: undefined, nulls, readings: undefined };
  const { file } = await encoder.encode({ kind: 'table', gathered: table, ranks });
  const { body, tail } = splitParquetFile(file);
  checkRowGroup({ body, tail }, facts, 0);
  const runs = { ids: [], ...NO_RUNS };
  return { body, tail, rows: series.length, minMicros: 0, maxMicros: 0, runs, values: [] };
}

/** In the order of the columns after the series'. */
function fieldValues(series: SeriesMetadata): TableValue[] {
  const { jsmea, flat, maker } = series;
  return [
    ...[series.source, series.dataProvider, series.unitOfMeasure, series.scale],
    ...[series.vesselName, series.vesselImo],
    ...[jsmea.id, jsmea.namingRule, jsmea.category, jsmea.subcategory, jsmea.content, jsmea.item],
    ...[flat.id, flat.shortName],
    ...[maker.id, maker.name, maker.description, maker.rangeHigh, maker.rangeLow],
    series.domainsJson,
  ];
}
