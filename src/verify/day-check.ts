/**
 * One vessel-day: receipt, object, footer and detail against each other, while exports may be running. I4: only
 * reads.
 */
import type { FoundClaim } from '../lake/claims.ts';
import { findClaims } from '../lake/claims.ts';
import { detailKey, objectKey, receiptKey } from '../lake/keys.ts';
import type { Aggregation, Layout, Receipt, VesselDay } from '../model/index.ts';
import type { Precision } from '../proof/compare-counts.ts';
import type { DetailCounts } from './detail-check.ts';
import { checkDetail } from './detail-check.ts';
import type { Difference, Finding } from './findings.ts';
import { findingAt } from './findings.ts';
import { checkFooter } from './footer-check.ts';
import type { ObjectReading } from './object-check.ts';
import { checkObject } from './object-check.ts';
import { checkReceipt } from './receipt-check.ts';
import type { CheckedTable } from './table-check.ts';

/** What a job's present settings say of a receipt; undefined, or the least, where the receipt has other settings. */
export interface SettingsOf {
  readonly aggregations: readonly Aggregation[] | undefined;
  readonly precision: Precision;
}

interface DayCheckOptions extends ObjectReading {
  readonly settingsOf: (receipt: Receipt) => SettingsOf;
  readonly layout: Layout;
  /** In a delta lake, unless its log is damaged. */
  readonly table?: CheckedTable | undefined;
  /** Looks further where nothing differs so far. */
  readonly deepen?: (receipt: Receipt, counts: DetailCounts | undefined) => Promise<Difference[]>;
}

interface DayVerdict {
  /** Undefined where there is none, or a damaged one. */
  readonly receipt: Receipt | undefined;
  readonly findings: readonly Finding[];
}

/** A day that is replaced while it is looked at is looked at again, so often. */
const LOOKS = 5;

/**
 * Check one vessel-day. What differs because the day is being replaced is no finding: the receipt is read again
 * after every difference, and an attempt that has published and not yet written its receipt accounts for the rest.
 */
export async function checkDay(options: DayCheckOptions, day: VesselDay): Promise<DayVerdict> {
  const { store } = options;
  for (let look = 1; ; look++) {
    const seen = options.table?.version;
    const bytes = (await store.get(receiptKey(day)))?.bytes;
    const { receipt, differences } = await findDifferences(options, day, bytes);
    if (differences.length === 0) return { receipt, findings: [] };
    // The claim before the receipt: an attempt that ends in between has written its receipt first.
    const [claim] = await findClaims(store, day);
    const now = (await store.get(receiptKey(day)))?.bytes;
    await options.table?.refresh();
    const isReplaced = !sameBytes(bytes, now) || options.table?.version !== seen;
    if (look < LOOKS && isReplaced) continue;
    if (claim !== undefined && (await isPublishedBy(options, day, claim))) return { receipt, findings: [] };
    return { receipt, findings: differences.map((difference) => findingAt(day, difference)) };
  }
}

function sameBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0;
}

async function findDifferences(
  options: DayCheckOptions,
  day: VesselDay,
  bytes: Uint8Array | undefined,
): Promise<{ receipt: Receipt | undefined; differences: Difference[] }> {
  if (bytes === undefined) return { receipt: undefined, differences: await orphans(options, day) };
  const checked = checkReceipt(bytes, day, options.layout);
  if (checked.receipt === undefined) return { receipt: undefined, differences: [checked.difference] };
  const { receipt } = checked;
  return { receipt, differences: await compareContent(options, receipt) };
}

/** What lies in the place of a day without a receipt. */
async function orphans({ store, table, layout }: DayCheckOptions, day: VesselDay): Promise<Difference[]> {
  const inTable = (await table?.compare(day, undefined)) ?? [];
  if (inTable.length > 0) return inTable;
  const objects = layout === 'plain' ? [objectKey(day)] : [];
  for (const where of [...objects, detailKey(day)]) {
    const head = await store.head(where);
    if (head !== undefined)
      return [
        {
          name: 'receipt-missing',
          where,
          found: `${head.sizeBytes} bytes and no receipt`,
          expected: receiptKey(day),
        },
      ];
  }
  return [];
}

/** Object, then footer and detail, then the rows: bytes that are not those published are not read further. */
async function compareContent(options: DayCheckOptions, receipt: Receipt): Promise<Difference[]> {
  const { store } = options;
  const { difference, tail } =
    receipt.object === null
      ? await expectNoObject(options, receipt)
      : await checkObject(options, receipt.object);
  if (difference !== undefined) return [difference];
  const inTable = (await options.table?.compare(receipt, receipt)) ?? [];
  if (inTable.length > 0) return inTable;
  const { aggregations, precision } = options.settingsOf(receipt);
  const footer =
    tail === undefined ? [] : await checkFooter(store, tail, { receipt, aggregations, table: options.table });
  const detail = receipt.detail === null ? undefined : await checkDetail(store, receipt, precision);
  // What the footer has said already, the detail need not say again.
  const known = new Set(footer.map(({ name }) => name));
  const differences = [...footer, ...(detail?.differences ?? []).filter(({ name }) => !known.has(name))];
  if (differences.length > 0) return differences;
  return (await options.deepen?.(receipt, detail?.counts)) ?? [];
}

async function expectNoObject(
  { store, layout }: DayCheckOptions,
  receipt: Receipt,
): Promise<{ difference?: Difference; tail?: undefined }> {
  // In a delta lake the table says whether there is one.
  if (layout === 'delta') return {};
  const where = objectKey(receipt);
  const head = await store.head(where);
  if (head === undefined) return {};
  const difference: Difference = {
    name: 'object-unexpected',
    where,
    found: `${head.sizeBytes} bytes`,
    expected: 'no object: 0 rows',
  };
  return { difference };
}

/** Is the object the one that a sealed attempt publishes? Then only its receipt is not written yet. */
async function isPublishedBy(
  options: DayCheckOptions,
  day: VesselDay,
  { file }: FoundClaim,
): Promise<boolean> {
  const object = file?.sealed?.draft?.object;
  if (object === undefined) return false;
  const { table } = options;
  if (table?.filesOf(day).some(({ key }) => key !== object?.key)) return false;
  if (object === null && options.layout === 'delta') return table?.filesOf(day).length === 0;
  if (object === null) return (await options.store.head(objectKey(day))) === undefined;
  const { store, signal } = options;
  return (await checkObject({ store, signal }, object)).difference === undefined;
}
