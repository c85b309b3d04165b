/**
 * The columns of each dataset as they are promised to readers, in Parquet's own terms. Written here anew, but for
 * the names that the model gives aggregations: the encoder's own table is not what its work is checked by.
 */
import type { SchemaElement } from 'hyparquet';
import { AGGREGATIONS, type Aggregation, aggregationColumns, type Dataset } from '../../core/model/index.ts';

const TYPES = {
  timestamp: 'INT64 TIMESTAMP(MICROS, UTC)',
  text: 'BYTE_ARRAY STRING',
  long: 'INT64',
  double: 'DOUBLE',
} as const;

const TIMESTAMP = `timestamp required ${TYPES.timestamp}`;
const SERIES = [`time_series_id required ${TYPES.text}`, optional('id', 'text')];
const MEASUREMENTS = [
  TIMESTAMP,
  ...SERIES,
  optional('long_value', 'long'),
  optional('double_value', 'double'),
  optional('json_value', 'text'),
];

const METADATA_NUMBERS = new Set(['scale', 'maker_range_high', 'maker_range_low']);
const METADATA = [
  ...SERIES,
  ...[
    'source',
    'data_provider',
    'unit_of_measure',
    'scale',
    'vessel_name',
    'vessel_imo',
    'jsmea_id',
    'jsmea_naming_rule',
    'jsmea_category',
    'jsmea_subcategory',
    'jsmea_content',
    'jsmea_item',
    'flat_id',
    'flat_short_name',
    'maker_id',
    'maker_name',
    'maker_description',
    'maker_range_high',
    'maker_range_low',
    'domains_json',
  ].map((name) => optional(name, METADATA_NUMBERS.has(name) ? 'double' : 'text')),
];

/** A column as text, such as `scale optional DOUBLE`. */
function optional(name: string, type: keyof typeof TYPES): string {
  return `${name} optional ${TYPES[type]}`;
}

/** A column of a footer as such text. */
export function describeColumn(element: SchemaElement): string {
  const logical = element.logical_type;
  const words = [element.name, element.repetition_type?.toLowerCase() ?? '', element.type ?? 'group'];
  if (logical?.type === 'TIMESTAMP')
    words.push(`TIMESTAMP(${logical.unit}, ${logical.isAdjustedToUTC ? 'UTC' : 'local'})`);
  else if (logical !== undefined) words.push(logical.type);
  return words.join(' ');
}

/**
 * How the columns that were found differ from the dataset's; undefined when they do not. `aggregations` of a
 * statistics job; undefined where it is not known which were asked: then each column must be one there can be.
 */
export function schemaDifference(
  found: readonly string[],
  dataset: Dataset,
  aggregations: readonly Aggregation[] | undefined,
): { found: string; expected: string } | undefined {
  const expected = expectedColumns(found, dataset, aggregations);
  const unexpected = found.filter((text) => !expected.includes(text));
  const missing = expected.filter((text) => !found.includes(text));
  if (unexpected.length > 0 || missing.length > 0)
    return {
      found: unexpected.join(', ') || 'no such column',
      expected: missing.join(', ') || 'no such column',
    };
  const inOrder = found.length === expected.length && found.every((text, index) => text === expected[index]);
  return inOrder ? undefined : { found: `the order ${found.join(', ')}`, expected: expected.join(', ') };
}

function expectedColumns(
  found: readonly string[],
  dataset: Dataset,
  aggregations: readonly Aggregation[] | undefined,
): readonly string[] {
  if (dataset === 'measurements') return MEASUREMENTS;
  if (dataset === 'metadata') return METADATA;
  const aggregated = (aggregations ?? aggregationsOf(found)).flatMap(aggregationColumns);
  return [TIMESTAMP, ...SERIES, ...aggregated.map(({ name, type }) => optional(name, type))];
}

/** The aggregations that columns speak of, in their order; `count` is always among them. */
function aggregationsOf(found: readonly string[]): Aggregation[] {
  const names = found.map((text) => text.split(' ')[0]!);
  const present = AGGREGATIONS.filter((name) => name === 'count' || names.includes(name));
  return present.sort((a, b) => names.indexOf(a) - names.indexOf(b));
}
