/** Bytes → values, pure: nothing here does I/O. Parquet stands beside, for most vessel-days need none of it. */
export type { BodyFormat } from './body-scanner.ts';
export { createMetadataDecoder, type MetadataElement, namesByDomain } from './metadata.ts';
export { parseInt64Text } from './number-lexeme.ts';
export {
  createReadingDecoder,
  type ReadingDecoderOptions,
} from './reading-decoder.ts';
export {
  createStatisticsDecoder,
  parseTimestampText,
  type StatisticsDecoderOptions,
} from './statistics.ts';
