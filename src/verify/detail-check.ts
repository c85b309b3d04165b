/** The detail against the receipt that names it: the same text, counts that add up, a proof that holds. */
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import type { CountsJson, Receipt } from '../model/index.ts';
import { DayCounts, dayRange, microsToIso } from '../model/index.ts';
import type { CompareOptions } from './compare.ts';
import { compareCounts } from './compare.ts';
import { seriesTotals, totalsDigest } from './day-totals.ts';
import type { Difference } from './findings.ts';
import { firstFew } from './findings.ts';
import type { ReadableStore } from './object-check.ts';

/** A detail is 150 bytes a series and hour at most: this is a hundred times what 1,000 series make. */
const MAX_DETAIL_BYTES = 256 << 20;

/** Counts per series and hour: of the object, and as the source said. */
export interface DetailCounts {
  readonly ours: DayCounts;
  readonly source: DayCounts | undefined;
}

export type CheckedDetail = { readonly counts: DetailCounts | undefined; readonly differences: Difference[] };

/** Read the detail of a receipt that names one. `grain`: how finely its two counts can be compared. */
export async function checkDetail(
  store: ReadableStore,
  receipt: Receipt,
  grain: CompareOptions['grain'],
): Promise<CheckedDetail> {
  const { key: where, sha256: expected } = receipt.detail!;
  const wrong = (name: Difference['name'], found: string): CheckedDetail => ({
    counts: undefined,
    differences: [{ name, where, found, expected: `SHA-256 ${expected}` }],
  });
  const object = await store.get(where);
  if (object === undefined) return wrong('detail-missing', 'no detail');
  const text = unzip(object.bytes);
  if (text === undefined) return wrong('detail-differs', `${object.bytes.length} bytes that are no gzip`);
  const sha256 = createHash('sha256').update(text).digest('hex');
  if (sha256 !== expected) return wrong('detail-differs', `SHA-256 ${sha256}`);
  const counts = parseCounts(text, receipt.date);
  if (counts === undefined) return wrong('detail-differs', 'no counts per series and hour');
  return { counts, differences: compareDetail(counts, receipt, grain) };
}

function unzip(bytes: Uint8Array): Buffer | undefined {
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_DETAIL_BYTES });
  } catch {
    return undefined;
  }
}

function parseCounts(text: Buffer, date: string): DetailCounts | undefined {
  try {
    const { ours, source } = JSON.parse(text.toString('utf8')) as {
      ours: CountsJson;
      source: CountsJson | null;
    };
    const { fromMicros } = dayRange(date);
    return {
      ours: DayCounts.fromJson(fromMicros, ours),
      source: source === null ? undefined : DayCounts.fromJson(fromMicros, source),
    };
  } catch {
    return undefined;
  }
}

/** What the receipt says of the day, and what its detail adds up to. */
function compareDetail(counts: DetailCounts, receipt: Receipt, grain: CompareOptions['grain']): Difference[] {
  const { ours } = counts;
  const where = receipt.detail!.key;
  const differences: Difference[] = [];
  const compare = (name: Difference['name'], found: string, expected: string) => {
    if (found !== expected)
      differences.push({
        name,
        where,
        found: `${found} in the detail`,
        expected: `${expected} in the receipt`,
      });
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
  return differences.length > 0 ? differences : proofDifferences(counts, receipt, grain);
}

/** Does what the detail holds prove what the receipt claims? */
function proofDifferences(
  { ours, source }: DetailCounts,
  receipt: Receipt,
  grain: CompareOptions['grain'],
): Difference[] {
  const where = receipt.detail!.key;
  const differs = (found: string, expected: string): Difference[] => [
    { name: 'proof-differs', where, found, expected },
  ];
  if (receipt.proof === 'unproven')
    return source === undefined ? [] : differs('counts of the source', 'none: unproven');
  if (source === undefined) return differs('no counts of the source', `them: ${receipt.proof}`);
  if (source.total() !== receipt.source?.rows)
    return differs(
      `${source.total()} readings of the source in the detail`,
      `${receipt.source?.rows} in the receipt`,
    );
  const digest = totalsDigest(seriesTotals(source.toJson()));
  const named = receipt.source.totalsSha256 ?? digest;
  if (digest !== named) return differs(`totals of SHA-256 ${digest}`, `${named} in the receipt`);
  const broken = compareCounts(ours, source, { policy: receipt.proof, grain });
  if (broken.length === 0) return [];
  const say = (side: 'ours' | 'source') =>
    firstFew(
      broken.map(
        (one) => `series ${one.timeSeriesId}${one.hour === null ? '' : ` in hour ${one.hour}`}: ${one[side]}`,
      ),
    );
  return differs(`${say('ours')} published`, `${receipt.proof}: ${say('source')} counted by the source`);
}
