/**
 * The published object against its receipt. First its bytes: there, as long as it says, and with the digests it says. Then
 * its own footer, and its columns against those that are promised to readers, in Parquet's own terms: they are written here
 * anew, but for the names that the model gives aggregations, for the encoder's own table is not what its work is checked by.
 */
import { createHash } from 'node:crypto';
import type { FileMetaData, RowGroup, SchemaElement } from 'hyparquet';
import type { Aggregation, Dataset, Receipt } from '../../core/model/index.ts';
import { AGGREGATIONS, aggregationColumns, dayRange, microsToIso } from '../../core/model/index.ts';
import { readFooter } from '../../lake/table/file-footer.ts';
import { type Difference, difference, differenceOf, type Sides } from './findings.ts';
import type { ReadableStore } from './lake-walk.ts';
import type { CheckedTable } from './table-check.ts';

/** Bytes asked for at once: times the vessel-days at work, the memory that reading takes. */
const READ_BYTES = 4 << 20;

export interface ObjectReading {
  readonly store: ReadableStore;
  readonly signal: AbortSignal;
  /** Told of bytes as they are read, in order; they may be kept. */
  readonly onBytes?: (bytes: Uint8Array, atByte: number) => void | Promise<void>;
}

type Published = NonNullable<Receipt['object']>;

/** Bytes at the end of an object that are handed on: they hold the footer of hundreds of row groups. */
const TAIL_BYTES = 128 << 10;

export type CheckedObject =
  | { readonly difference: Difference; readonly tail?: undefined }
  /** The last TAIL_BYTES of a sound object, or all of it. */
  | { readonly difference?: undefined; readonly tail: Uint8Array };

/** Read an object once, a range at a time, and compare every part. */
export async function checkObject(reading: ObjectReading, object: Published): Promise<CheckedObject> {
  const wrong: Sides[] = [];
  const tail = new Uint8Array(Math.min(TAIL_BYTES, object.sizeBytes));
  const tailFrom = object.sizeBytes - tail.length;
  const keepTail: ObjectReading = {
    ...reading,
    async onBytes(bytes, atByte) {
      const from = Math.max(atByte, tailFrom);
      if (from < atByte + bytes.length) tail.set(bytes.subarray(from - atByte), from - tailFrom);
      await reading.onBytes?.(bytes, atByte);
    },
  };
  let atByte = 0;
  for (const [index, part] of object.parts.entries()) {
    const toByte = atByte + part.sizeBytes;
    const sha256 = await hashRange(keepTail, object, atByte, toByte);
    if (sha256 === undefined) return { difference: await otherSize(reading.store, object) };
    const name = `part ${index + 1} of ${object.parts.length}`;
    if (sha256 !== part.sha256)
      wrong.push({ found: `${name}: ${sha256}`, expected: `${name}: ${part.sha256}` });
    atByte = toByte;
  }
  const [difference] = differenceOf('checksum-differs', object.key, wrong);
  return difference === undefined ? { tail } : { difference };
}

/** SHA-256 of `[fromByte, toByte)`, or undefined when the object ends before that, or not where it should. */
async function hashRange(
  { store, signal, onBytes }: ObjectReading,
  object: Published,
  fromByte: number,
  toByte: number,
): Promise<string | undefined> {
  const digest = createHash('sha256');
  for (let at = fromByte; at < toByte; ) {
    signal.throwIfAborted();
    const until = Math.min(toByte, at + READ_BYTES);
    // One byte more at the end tells whether there is more: no request of its own for the size.
    const read = await store.getRange(object.key, at, until === object.sizeBytes ? until + 1 : until);
    if (read === undefined || read.length === 0 || at + read.length > until) return undefined;
    digest.update(read);
    await onBytes?.(read, at);
    at += read.length;
  }
  return digest.digest('hex');
}

async function otherSize(store: ReadableStore, object: Published): Promise<Difference> {
  const where = object.key;
  const head = await store.head(where);
  const expected = `${object.sizeBytes} bytes`;
  if (head === undefined) return difference('object-missing', where, 'no object', expected);
  return difference('size-differs', where, `${head.sizeBytes} bytes`, expected);
}

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
  // As the file says, and as its row groups add up; one number when they agree.
  const sum = footer.row_groups.reduce((total, group) => total + Number(group.num_rows), 0);
  const rows = [...new Set([Number(footer.num_rows), sum])];
  const [said, expected] = [`${rows.join(' or ')} in the footer`, `${receipt.rows} in the receipt`];
  const isSame = rows.every((count) => count === receipt.rows);
  const differing = isSame ? [] : [difference('rows-differ', where, said, expected)];
  return receipt.dataset === 'metadata'
    ? differing
    : [...differing, ...compareTimes(footer.row_groups, receipt)];
}

function compareTimes(groups: readonly RowGroup[], receipt: Receipt): Difference[] {
  if (groups.length === 0) return [];
  const where = receipt.object!.key;
  const spans = groups.map(timesOf);
  const blind = spans.indexOf(undefined);
  if (blind >= 0) {
    const [said, expected] = [
      `row group ${blind} without`,
      'smallest and largest timestamp in each row group',
    ];
    return [difference('schema-differs', where, `${said} statistics of timestamp`, expected)];
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

const METADATA_NAMES =
  'source data_provider unit_of_measure scale vessel_name vessel_imo jsmea_id jsmea_naming_rule jsmea_category ' +
  'jsmea_subcategory jsmea_content jsmea_item flat_id flat_short_name maker_id maker_name maker_description ' +
  'maker_range_high maker_range_low domains_json';
const METADATA_NUMBERS = new Set(['scale', 'maker_range_high', 'maker_range_low']);
const METADATA = [
  ...SERIES,
  ...METADATA_NAMES.split(' ').map((name) => optional(name, METADATA_NUMBERS.has(name) ? 'double' : 'text')),
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

/** How columns differ from the dataset's. Where `aggregations` are not known, each column must be one that there can be. */
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
