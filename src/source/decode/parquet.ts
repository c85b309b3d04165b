/** Parquet → values: beside index.ts, for most vessel-days need none of it. */
export { decodeParquetReadings } from './parquet-readings.ts';
export { readSeriesNames, readSnapshot, type SnapshotSeries } from './series-names.ts';
