/** The object's own footer against the receipt, read back by another engine than the one that encoded the rows. */
import type { FileMetaData, RowGroup } from 'hyparquet';
import { parquetMetadata } from 'hyparquet';
import { messageOf } from '../../core/errors.ts';
import type { Aggregation, Receipt } from '../../core/model/index.ts';
import { dayRange, microsToIso } from '../../core/model/index.ts';
import { footerLength } from '../../lake/publish/footer-length.ts';
import { describeColumn, schemaDifference } from './dataset-schema.ts';
import type { Difference } from './findings.ts';
import type { ReadableStore } from './object-check.ts';
import type { CheckedTable } from './table-check.ts';

interface FooterExpectation {
  readonly receipt: Receipt;
  /** Of a statistics job, where its settings are still those of the receipt. */
  readonly aggregations: readonly Aggregation[] | undefined;
  /** In a delta lake. */
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
    return [{ name: 'footer-unreadable', where: object.key, found: footer, expected: 'a Parquet footer' }];
  const found = compareFooter(footer, expectation);
  return found.length > 0 ? found : (expectation.table?.compareStatistics(object.key, footer) ?? []);
}

/** The metadata of an object whose last bytes are known, or what is wrong with it. */
async function readFooter(
  store: ReadableStore,
  { key, sizeBytes }: NonNullable<Receipt['object']>,
  tail: Uint8Array,
): Promise<FileMetaData | string> {
  const footerBytes = footerLength(tail, sizeBytes);
  if (typeof footerBytes === 'string') return footerBytes;
  const footer =
    footerBytes <= tail.length ? tail : await store.getRange(key, sizeBytes - footerBytes, sizeBytes);
  if (footer?.length !== Math.max(footerBytes, tail.length)) return 'an end that is being replaced';
  try {
    return parquetMetadata(Uint8Array.from(footer).buffer, {
      geoparquet: false,
      // Exact: a Date would lose three digits of a timestamp.
      parsers: { stringFromBytes: (text) => text, timestampFromMicroseconds: (micros) => micros },
    });
  } catch (error) {
    return messageOf(error);
  }
}

function compareFooter(footer: FileMetaData, { receipt, aggregations }: FooterExpectation): Difference[] {
  const where = receipt.object!.key;
  const columns = footer.schema.slice(1).map(describeColumn);
  const schema = schemaDifference(columns, receipt.dataset, aggregations);
  if (schema !== undefined) return [{ name: 'schema-differs', where, ...schema }];
  const rows = rowsOf(footer);
  const found: Difference[] = [];
  if (rows.some((count) => count !== receipt.rows))
    found.push({
      name: 'rows-differ',
      where,
      found: `${rows.join(' or ')} in the footer`,
      expected: `${receipt.rows} in the receipt`,
    });
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
  if (blind >= 0)
    return [
      {
        name: 'schema-differs',
        where,
        found: `row group ${blind} without statistics of timestamp`,
        expected: 'smallest and largest timestamp in each row group',
      },
    ];
  const first = Math.min(...spans.map((span) => span!.minMicros));
  const last = Math.max(...spans.map((span) => span!.maxMicros));
  const found = `${microsToIso(first)} to ${microsToIso(last)}`;
  const day = dayRange(receipt.date);
  if (first < day.fromMicros || last >= day.toMicros)
    return [{ name: 'outside-day', where, found, expected: `times inside ${receipt.date}` }];
  const expected = `${receipt.firstTimestamp} to ${receipt.lastTimestamp}`;
  return found === expected
    ? []
    : [{ name: 'times-differ', where, found, expected: `${expected} in the receipt` }];
}

function timesOf(group: RowGroup): { minMicros: number; maxMicros: number } | undefined {
  const chunk = group.columns.find(({ meta_data: meta }) => meta?.path_in_schema.join('.') === 'timestamp');
  const { min_value: min, max_value: max } = chunk?.meta_data?.statistics ?? {};
  if (typeof min !== 'bigint' || typeof max !== 'bigint') return undefined;
  return { minMicros: Number(min), maxMicros: Number(max) };
}
