import type { SeriesDictionary, WireShape } from '../../core/model/index.ts';
import { AGGREGATIONS, createSeriesDictionary, timestampMicros } from '../../core/model/index.ts';
import { type CountedRow, ID_RULE, isSeriesId, type StatisticsRow } from '../../core/model/series.ts';
import { type BodyDecoder, type BodyFormat, BodyScanner, type RecordParser } from './body-scanner.ts';
import { INCOMPLETE } from './body-window.ts';
import { CountedRowReader, OTHER_ROW } from './counted-row.ts';
import { ObjectFields } from './object-fields.ts';

export interface StatisticsDecoderOptions {
  readonly shape: WireShape;
  readonly format: BodyFormat;
  /** Takes each row as it is decoded; rows may be kept. */
  readonly onRow: (row: StatisticsRow) => void;
  /** Takes rows of count, first and last time that are spelled as the contract spells them; the row is used again. Others go to `onRow`. */
  readonly onCounted?: ((row: CountedRow) => void) | undefined;
  readonly dictionary?: SeriesDictionary;
  /** For tests: how many bytes are gathered before they are parsed. */
  readonly slabBytes?: number;
}

const AGGREGATION_NAMES: ReadonlySet<string> = new Set(AGGREGATIONS);

/**
 * A decoder of statistics, row by row; in the keyed shape each row has one value. Memory: the longest record.
 *
 * Throws DataError: `malformed-json`, `missing-field`, `bad-field`, `bad-id`, `bad-statistics`, `duplicate-key`, `bad-timestamp`,
 * `timestamp-too-fine`, `invalid-utf8`, `record-too-long`, `body-truncated`; RetriableError: `error-in-body`.
 */
export function createStatisticsDecoder(options: StatisticsDecoderOptions): BodyDecoder {
  const { shape, format, onRow, onCounted, slabBytes, dictionary = createSeriesDictionary() } = options;
  const readRow = shape === 'keyed' ? keyedRow : arrayRow;
  const fields = new ObjectFields();
  const counted = shape === 'array' && onCounted ? new CountedRowReader(dictionary) : undefined;
  const parseRecord: RecordParser['parseRecord'] = (window, start) => {
    const countedEnd = counted?.read(window, start) ?? OTHER_ROW;
    if (countedEnd !== OTHER_ROW) {
      onCounted!(counted!.row);
      return countedEnd;
    }
    const end = fields.read(window, start);
    if (end !== INCOMPLETE) onRow(readRow(fields));
    return end;
  };
  return new BodyScanner(format, { parseRecord }, slabBytes);
}

function keyedRow(fields: ObjectFields): StatisticsRow {
  const timestampMicros = windowStart(fields);
  const keys = [...fields.names()].filter((name) => name !== 'timestamp');
  const key = keys[0];
  if (key === undefined || keys.length > 1)
    throw fields.objectFault('bad-statistics', `one property beside 'timestamp', not ${keys.length}`);
  const split = Math.max(key.lastIndexOf(':'), key.lastIndexOf('/'));
  const aggregation = key.slice(split + 1).toLowerCase();
  if (split < 0 || !AGGREGATION_NAMES.has(aggregation))
    throw fields.objectFault('bad-statistics', "a key '<id>:<aggregation>' or '<id>/<Aggregation>'");
  return {
    timestampMicros,
    id: checkedId(fields, key.slice(0, split)),
    values: new Map([[aggregation, fields.requiredJson(key)]]),
  };
}

function arrayRow(fields: ObjectFields): StatisticsRow {
  const timestampMicros = windowStart(fields);
  const id = checkedId(fields, fields.requiredText('id'));
  fields.requiredJson('aggregations');
  const aggregations = fields.object('aggregations');
  const values = new Map<string, string>();
  for (const name of aggregations.names()) {
    const aggregation = name.toLowerCase();
    if (values.has(aggregation)) throw aggregations.objectFault('duplicate-key', `one '${aggregation}'`);
    values.set(aggregation, aggregations.requiredJson(name));
  }
  return { timestampMicros, id, values };
}

function checkedId(fields: ObjectFields, id: string): string {
  if (isSeriesId(id)) return id;
  throw fields.objectFault('bad-id', ID_RULE);
}

function windowStart(fields: ObjectFields): number {
  const micros = timestampMicros(fields.requiredText('timestamp'));
  if (typeof micros === 'number') return micros;
  throw fields.fault('timestamp', micros.expected, micros.code);
}
