/**
 * The words of this project as types, pure; docs/glossary.md says what each means. Ranges are half-open, `[from, to)`. Instants are whole microseconds since
 * 1970-01-01T00:00Z in a JavaScript number: exact for the years this project accepts (1970 to 2199).
 */
export * from './claim.ts';
export * from './column-batch.ts';
export * from './counts.ts';
export * from './foreign-text.ts';
export * from './job.ts';
export * from './ports.ts';
export * from './query.ts';
export * from './receipt.ts';
export * from './row-group.ts';
export * from './series.ts';
export * from './time.ts';
export type { Moment } from './timestamp-text.ts';
export {
  instantMicros,
  isWithinYears,
  momentText,
  parseTimestamp,
  timestampMicros,
  toMoment,
} from './timestamp-text.ts';
export * from './vessel-day.ts';
