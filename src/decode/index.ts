/** Bytes → values, pure: nothing here does I/O. */
export type { BodyFormat } from './body-scanner.ts';
export { createMetadataDecoder, decodeMetadata } from './metadata.ts';
export { parseInt64Text } from './number-lexeme.ts';
export { decodeParquetReadings, type ParquetReadingsOptions } from './parquet-readings.ts';
export {
  createReadingDecoder,
  DEFAULT_BATCH_ROWS,
  type ReadingDecoder,
  type ReadingDecoderOptions,
} from './reading-decoder.ts';
export {
  createStatisticsDecoder,
  type StatisticsDecoder,
  type StatisticsDecoderOptions,
} from './statistics.ts';
export { parseTimestampMicros, parseTimestampText } from './timestamp-text.ts';
