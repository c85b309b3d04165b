export { datasetColumns } from './columns.ts';
export { createEncoder, type Encoder, encoderThreadsFor, SMALL_ROW_GROUP_ROWS } from './encoder.ts';
export { emptyParquetFooter, parquetFooter } from './footer.ts';
export { createMeasurementRowGroups } from './measurement-row-groups.ts';
export { encodeMetadata } from './metadata-row-group.ts';
export { PARQUET_MAGIC } from './parquet-thrift.ts';
export type { RowGroupBuilder } from './row-group-builder.ts';
export { createStatisticsRowGroups } from './statistics-row-groups.ts';
