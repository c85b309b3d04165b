/**
 * The object's own footer against the receipt, and its columns against those that are promised to readers, in Parquet's own
 * terms. They are written here anew, but for the names that the model gives aggregations: the encoder's own table is not what
 * its work is checked by.
 */
import type { FileMetaData, RowGroup, SchemaElement } from 'hyparquet';
import type { Aggregation, Dataset, Receipt } from '../../core/model/index.ts';
import { AGGREGATIONS, aggregationColumns, dayRange, microsToIso } from '../../core/model/index.ts';
import { readFooter } from '../../lake/table/file-footer.ts';
import { type Difference, difference } from './findings.ts';
import type { ReadableStore } from './object-check.ts';
import type { CheckedTable } from './table-check.ts';

interface FooterExpectation {
  readonly receipt: Receipt;
  /** Those of a statistics job, where its settings are still those of the receipt. */
  readonly aggregations: readonly Aggregation[] | undefined;
  readonly table: CheckedTable | undefined;
}

/** Rows, columns and times of the footer in a sound object's last bytes, and what its table says of it; every difference. */
export async function checkFooter(
  store: ReadableStore,
  tail: Uint8Array,
  expectation: FooterExpectation,
): Promise<Difference[]> {
  const { receipt } = expectation;
  const object = receipt.object!;
  const footer = await readFooter(store, object, tail);
  if (typeof footer === 'string')
    return [difference('footer-unreadable', object.key, footer, 'a Parquet footer')];
  const found = compareFooter(footer, expectation);
  return found.length > 0 ? found : (expectation.table?.compareStatistics(object.key, footer) ?? []);
}

function compareFooter(footer: FileMetaData, { receipt, aggregations }: FooterExpectation): Difference[] {
  const where = receipt.object!.key;
  const columns = footer.schema.slice(1).map(describeColumn);
  const schema = schemaDifference(columns, receipt.dataset, aggregations);
  if (schema !== undefined) return [{ name: 'schema-differs', where, ...schema }];
  const rows = rowsOf(footer);
  const found: Difference[] = [];
  if (rows.some((count) => count !== receipt.rows))
    found.push(
      difference(
        'rows-differ',
        where,
        `${rows.join(' or ')} in the footer`,
        `${receipt.rows} in the receipt`,
      ),
    );
  if (receipt.dataset !== 'metadata') found.push(...compareTimes(footer.row_groups, receipt));
  return found;
}

/** Rows as the file says, and as its row groups add up; one number when they agree. */
function rowsOf(footer: FileMetaData): number[] {
  const sum = footer.row_groups.reduce((total, group) => total + Number(group.num_rows), 0);
  return [...new Set([Number(footer.num_rows), sum])];
}

function compareTimes(groups: readonly RowGroup[], receipt: Receipt): Difference[] {
  if (groups.length === 0) return [];
  const where = receipt.object!.key;
  const spans = groups.map(timesOf);
  const blind = spans.indexOf(undefined);
  if (blind >= 0) {
    const expected = 'smallest and largest timestamp in each row group';
    return [
      difference('schema-differs', where, `row group ${blind} without statistics of timestamp`, expected),
    ];
  }
  const first = Math.min(...spans.map((span) => span!.minMicros));
  const last = Math.max(...spans.map((span) => span!.maxMicros));
  const found = `${microsToIso(first)} to ${microsToIso(last)}`;
  const day = dayRange(receipt.date);
  if (first < day.fromMicros || last >= day.toMicros)
    return [difference('outside-day', where, found, `times inside ${receipt.date}`)];
  const expected = `${receipt.firstTimestamp} to ${receipt.lastTimestamp}`;
  return found === expected ? [] : [difference('times-differ', where, found, `${expected} in the receipt`)];
}

function timesOf(group: RowGroup): { minMicros: number; maxMicros: number } | undefined {
  const chunk = group.columns.find(({ meta_data: meta }) => meta?.path_in_schema.join('.') === 'timestamp');
  const { min_value: min, max_value: max } = chunk?.meta_data?.statistics ?? {};
  if (typeof min !== 'bigint' || typeof max !== 'bigint') return undefined;
  return { minMicros: Number(min), maxMicros: Number(max) };
}

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

function describeColumn(element: SchemaElement): string {
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
function schemaDifference(
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
