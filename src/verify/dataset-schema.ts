/**
 * The columns of each dataset as the README promises them to readers, in Parquet's own terms. Written here anew:
 * what the encoder believes of itself is not what it is checked by.
 */
import type { SchemaElement } from 'hyparquet';
import type { Aggregation, Dataset } from '../model/index.ts';
import { AGGREGATIONS } from '../model/index.ts';

const TIMESTAMP = 'INT64 TIMESTAMP(MICROS, UTC)';
const STRING = 'BYTE_ARRAY STRING';
const LONG = 'INT64';
const DOUBLE = 'DOUBLE';

type Column = readonly [name: string, type: string];

const SERIES: readonly Column[] = [
  ['time_series_id', `required ${STRING}`],
  ['id', `optional ${STRING}`],
];

const MEASUREMENTS: readonly Column[] = [
  ['timestamp', `required ${TIMESTAMP}`],
  ...SERIES,
  ['long_value', `optional ${LONG}`],
  ['double_value', `optional ${DOUBLE}`],
  ['json_value', `optional ${STRING}`],
];

const METADATA_NUMBERS = new Set(['scale', 'maker_range_high', 'maker_range_low']);
const METADATA: readonly Column[] = [
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
  ].map((name): Column => [name, `optional ${METADATA_NUMBERS.has(name) ? DOUBLE : STRING}`]),
];

function aggregationColumns(aggregation: Aggregation): Column[] {
  switch (aggregation) {
    case 'count':
      return [['count', `optional ${LONG}`]];
    case 'first_time':
    case 'last_time':
      return [[aggregation, `optional ${TIMESTAMP}`]];
    case 'first_val':
    case 'last_val':
      return [
        [aggregation, `optional ${DOUBLE}`],
        [`${aggregation}_json`, `optional ${STRING}`],
      ];
    default:
      return [[aggregation, `optional ${DOUBLE}`]];
  }
}

/** A column as text, such as `timestamp required INT64 TIMESTAMP(MICROS, UTC)`. */
function columnText([name, type]: Column): string {
  return `${name} ${type}`;
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
  const expected = expectedColumns(found, dataset, aggregations).map(columnText);
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
): readonly Column[] {
  if (dataset === 'measurements') return MEASUREMENTS;
  if (dataset === 'metadata') return METADATA;
  const fixed: readonly Column[] = [MEASUREMENTS[0]!, ...SERIES];
  return [...fixed, ...(aggregations ?? aggregationsOf(found)).flatMap(aggregationColumns)];
}

/** The aggregations that columns speak of, in their order; `count` is always among them. */
function aggregationsOf(found: readonly string[]): Aggregation[] {
  const names = found.map((text) => text.split(' ')[0]!);
  const present = AGGREGATIONS.filter(
    (aggregation) => aggregation === 'count' || names.includes(aggregation),
  );
  return present.sort((a, b) => names.indexOf(a) - names.indexOf(b));
}
