/** The detail against the receipt that names it: the same text, counts that add up, a proof that holds. */
import type { CountsJson, Receipt } from '../../core/model/index.ts';
import { DayCounts, dayRange, microsToIso, shortName } from '../../core/model/index.ts';
import type { Disagreement, Precision } from '../../core/proof/compare-counts.ts';
import { compareCounts, describeSpan } from '../../core/proof/compare-counts.ts';
import { countsDigest } from '../../core/proof/day-totals.ts';
import { parseDetail, unpackDetail } from '../../lake/ledger/ledger.ts';
import { type Difference, difference, type FindingName, firstFew } from './findings.ts';
import type { ReadableStore } from './lake-walk.ts';

/** Counts per series and hour: of the object, and as the source said. */
export interface DetailCounts {
  readonly ours: DayCounts;
  readonly source: DayCounts | undefined;
}

interface CheckedDetail {
  readonly counts: DetailCounts | undefined;
  readonly differences: Difference[];
}

/** Read the detail of a receipt that names one. `precision`: how finely its two sides can be compared. */
export async function checkDetail(
  store: ReadableStore,
  receipt: Receipt,
  precision: Precision,
): Promise<CheckedDetail> {
  const { key: where, sha256: expected } = receipt.detail!;
  const wrong = (name: FindingName, found: string): CheckedDetail => ({
    counts: undefined,
    differences: [difference(name, where, found, `SHA-256 ${expected}`)],
  });
  const object = await store.get(where);
  if (object === undefined) return wrong('detail-missing', 'no detail');
  const detail = unpackDetail(object.bytes);
  if (detail === undefined) return wrong('detail-differs', `${object.bytes.length} bytes that are no gzip`);
  if (detail.sha256 !== expected) return wrong('detail-differs', `SHA-256 ${detail.sha256}`);
  const said = parseDetail(detail.text, where);
  if (said === undefined) return wrong('detail-differs', 'no counts per series and hour');
  const countsOf = (json: CountsJson) => DayCounts.fromJson(dayRange(receipt.date).fromMicros, json);
  const counts = { ours: countsOf(said.ours), source: said.source ? countsOf(said.source) : undefined };
  return { counts, differences: compareDetail(counts, receipt, precision) };
}

/** What the receipt says of the day, and what its detail adds up to. */
function compareDetail(counts: DetailCounts, receipt: Receipt, precision: Precision): Difference[] {
  const { ours } = counts;
  const where = receipt.detail!.key;
  const differences: Difference[] = [];
  const compare = (name: FindingName, found: string, expected: string) => {
    if (found !== expected)
      differences.push(difference(name, where, `${found} in the detail`, `${expected} in the receipt`));
  };
  // Rows of statistics are windows; what is counted are the readings in them.
  const windows = receipt.dataset === 'statistics';
  const rows = windows ? receipt.rows : ours.total();
  compare(
    'rows-differ',
    `${rows} rows of ${ours.seriesCount()} series`,
    `${receipt.rows} rows of ${receipt.series} series`,
  );
  const span = ours.span();
  if (span !== undefined && receipt.firstTimestamp !== null)
    compare(
      'times-differ',
      `${microsToIso(span.firstMicros)} to ${microsToIso(span.lastMicros)}`,
      `${receipt.firstTimestamp} to ${receipt.lastTimestamp}`,
    );
  return differences.length > 0 ? differences : proofDifferences(counts, receipt, precision);
}

function proofDifferences(
  { ours, source }: DetailCounts,
  receipt: Receipt,
  precision: Precision,
): Difference[] {
  const differs = (found: string, expected: string) => [
    difference('proof-differs', receipt.detail!.key, found, expected),
  ];
  if (receipt.proof === 'unproven')
    return source === undefined ? [] : differs('counts of the source', 'none: unproven');
  if (source === undefined) return differs('no counts of the source', `them: ${receipt.proof}`);
  if (source.total() !== receipt.source?.rows)
    return differs(
      `${source.total()} readings of the source in the detail`,
      `${receipt.source?.rows} in the receipt`,
    );
  const digest = countsDigest(source);
  const named = receipt.source.totalsSha256 ?? digest;
  if (digest !== named) return differs(`totals of SHA-256 ${digest}`, `${named} in the receipt`);
  const broken = compareCounts(ours, source, { policy: receipt.proof, precision });
  if (broken.length === 0) return [];
  return differs(
    `${describeSide(broken, 'ours')} published`,
    `${receipt.proof}: ${describeSide(broken, 'source')} ${broken[0]!.times ? 'as the source said' : 'counted by the source'}`,
  );
}

/** One side of what differs: `series 3f… in hour 5: 60` or its first and last times, of the first few. */
export function describeSide(differing: readonly Disagreement[], side: 'ours' | 'source'): string {
  const texts = differing.map(({ timeSeriesId, hour, times, [side]: count }) => {
    const where = `series ${shortName(timeSeriesId)}${hour === null ? '' : ` in hour ${hour}`}`;
    return `${where}: ${times === undefined ? count : describeSpan(times[side])}`;
  });
  return firstFew(texts);
}
