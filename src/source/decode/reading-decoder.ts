import type { ColumnBatch, SeriesDictionary } from '../../core/model/index.ts';
import { type BodyDecoder, type BodyFormat, BodyScanner } from './body-scanner.ts';
import { DEFAULT_BATCH_ROWS, ReadingParser } from './reading-record.ts';

export interface ReadingDecoderOptions {
  readonly format: BodyFormat;
  /** Where ids get their codes; shared by all requests of a vessel-day. */
  readonly dictionary: SeriesDictionary;
  /** Takes the rows; the batch's arrays are used again when it returns. */
  readonly onBatch: (batch: ColumnBatch) => void;
  readonly batchRows?: number;
  /** For tests: how many bytes are gathered before they are parsed. */
  readonly slabBytes?: number;
}

/**
 * Before an error leaves any of its functions, `onBatch` has had every record before the faulty one; it is thrown again by the next.
 * Memory: one batch, its JSON text (8 MiB and one record), and the longest record (at most 64 MiB).
 *
 * Throws DataError: `malformed-json`, `missing-field`, `duplicate-key`, `bad-id`, `bad-timestamp`,
 * `timestamp-too-fine`, `out-of-order`, `invalid-utf8`, `record-too-long`, `body-truncated`; RetriableError:
 * `error-in-body`.
 */
export function createReadingDecoder(options: ReadingDecoderOptions) {
  const { format, dictionary, onBatch, batchRows = DEFAULT_BATCH_ROWS, slabBytes } = options;
  const parser = new ReadingParser(dictionary, batchRows, onBatch);
  const scanner = new BodyScanner(format, parser, slabBytes);
  let failure: { readonly error: unknown } | undefined;

  const attempt = (step: () => void): void => {
    if (failure !== undefined) throw failure.error;
    try {
      step();
    } catch (error) {
      failure = { error };
      parser.emit();
      throw error;
    }
  };
  const finish = (step: () => void): void => {
    attempt(step);
    attempt(() => parser.emit());
  };
  return {
    push: (chunk: Uint8Array) => attempt(() => scanner.push(chunk)),
    /** The body broke off: hand over the records that are whole. Does nothing after an error. */
    flush: () => {
      if (failure === undefined) finish(() => scanner.scan());
    },
    end: () => finish(() => scanner.end()),
  } satisfies BodyDecoder & { flush: unknown };
}
