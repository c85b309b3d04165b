/** The object's own footer against the receipt, read back by another engine than the one that encoded the rows. */
import type { FileMetaData, RowGroup } from 'hyparquet';
import { type Aggregation, dayRange, microsToIso, type Receipt } from '../../core/model/index.ts';
import { readFooter } from '../../lake/table/file-footer.ts';
import { describeColumn, schemaDifference } from './dataset-schema.ts';
import { type Difference, difference } from './findings.ts';
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
