/** One vessel-day: receipt, object, footer and detail against each other, while exports may be running. I4: only reads. */
import type { Aggregation, Dataset, Layout, Receipt, SealedDay, VesselDay } from '../../core/model/index.ts';
import type { Precision } from '../../core/proof/compare-counts.ts';
import { isEnded } from '../../lake/claims/claim.ts';
import { type FoundClaim, findClaims } from '../../lake/claims/claims.ts';
import { jsonBytes } from '../../lake/json.ts';
import { detailKey, objectKey, receiptKey } from '../../lake/keys.ts';
import { checkDetail, type DetailCounts } from './detail-check.ts';
import { type Difference, difference, type Finding, findingAt } from './findings.ts';
import type { ReadableStore } from './lake-walk.ts';
import type { CheckedObject, ObjectReading } from './object-check.ts';
import { checkFooter, checkObject } from './object-check.ts';
import { checkReceipt } from './receipt-check.ts';
import type { CheckedTable } from './table-check.ts';

/** What a job's present settings say of a receipt; undefined, or the least, where the receipt has other settings. */
export interface SettingsOf {
  readonly aggregations: readonly Aggregation[] | undefined;
  readonly precision: Precision;
}

interface DayCheckOptions extends ObjectReading {
  readonly settingsOf: (receipt: Receipt) => SettingsOf;
  readonly dataset: Dataset;
  readonly layout: Layout;
  /** In a delta lake, unless its log is damaged. */
  readonly table?: CheckedTable | undefined;
  readonly deepen?: (receipt: Receipt, counts: DetailCounts | undefined) => Promise<Difference[]>;
}

/** A day that is replaced while it is looked at is looked at again, so often. */
const LOOKS = 5;

/**
 * Check one vessel-day. What differs because the day is being replaced is no finding: the receipt is read again
 * after every difference, and a day whose attempt has published it and not yet written its receipt is held against the
 * draft of that. A claim that the receipt has ended counts for nothing.
 */
export async function checkDay(
  options: DayCheckOptions,
  day: VesselDay,
): Promise<{ readonly receipt: Receipt | undefined; readonly findings: readonly Finding[] }> {
  const { store } = options;
  for (let look = 1; ; look++) {
    const seen = options.table?.version;
    const bytes = (await store.get(receiptKey(day)))?.bytes;
    const { receipt, differences } = await findDifferences(options, day, bytes);
    if (differences.length === 0) return { receipt, findings: [] };
    // The claims before the receipt: an attempt that ends in between has written its receipt first.
    const claims = await findClaims(store, day);
    const now = (await store.get(receiptKey(day)))?.bytes;
    await options.table?.refresh();
    const isReplaced = !sameBytes(bytes, now) || options.table?.version !== seen;
    if (look < LOOKS && isReplaced) continue;
    const isUnreadable = bytes !== undefined && receipt === undefined;
    const ofDraft = isUnreadable ? undefined : await compareDraft(options, day, claims, receipt);
    return {
      receipt,
      findings: (ofDraft ?? differences).map((difference) => findingAt(day, options.dataset, difference)),
    };
  }
}

/** What differs from the draft of an attempt that has published the day and lacks only its receipt; undefined: there is none. */
async function compareDraft(
  options: DayCheckOptions,
  day: VesselDay,
  claims: readonly FoundClaim[],
  receipt: Receipt | undefined,
): Promise<Difference[] | undefined> {
  const open = claims.find((claim) => claim.file?.sealed && !isEnded(claim, receipt));
  const sealed = open?.file?.sealed ?? undefined;
  const draft = sealed && draftOf(sealed, day, options.layout);
  if (draft === undefined) return undefined;
  if (!(await isPublished(options, sealed!, draft))) return undefined;
  const object = await checkPublished(options, draft);
  if (object.difference !== undefined) return [object.difference];
  const { store } = options;
  // Whoever goes on writes the detail, whatever lies there now.
  const bytes = typeof sealed?.detail === 'string' ? Buffer.from(sealed.detail, 'base64') : undefined;
  const get: ReadableStore['get'] = async (key) =>
    bytes !== undefined && key === draft.detail?.key ? { bytes, version: '' } : store.get(key);
  return await compareContent({ ...options, store: { ...store, get } }, draft, object);
}

/** The receipt that a draft becomes; undefined for what is no draft of the day. */
function draftOf({ draft }: SealedDay, day: VesselDay, layout: Layout): Receipt | undefined {
  const unknown = { epoch: 0, finishedAt: draft?.startedAt };
  return checkReceipt(jsonBytes({ ...draft, ...unknown }), day, layout).receipt;
}

/** Is what readers see what the draft says? In a plain lake the upload itself tells: the same bytes may have been there before. */
async function isPublished(
  { store, table }: DayCheckOptions,
  { upload, parts }: SealedDay,
  draft: Receipt,
): Promise<boolean> {
  const key = draft.object?.key ?? '';
  const keysOf = (files: readonly { readonly key: string }[]) => files.map((file) => file.key).join();
  if (table !== undefined) return keysOf(table.filesOf(draft)) === key;
  if (upload !== null) return upload.key === key && (await store.publishedBy(upload, parts));
  return key === '' && (await store.head(objectKey(draft))) === undefined;
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
  const object = await checkPublished(options, receipt);
  const { difference } = object;
  return { receipt, differences: difference ? [difference] : await compareContent(options, receipt, object) };
}

async function orphans({ store, table, layout }: DayCheckOptions, day: VesselDay): Promise<Difference[]> {
  const inTable = (await table?.compare(day, undefined)) ?? [];
  if (inTable.length > 0) return inTable;
  const objects = layout === 'plain' ? [objectKey(day)] : [];
  for (const where of [...objects, detailKey(day)]) {
    const head = await store.head(where);
    const found = `${head?.sizeBytes} bytes and no receipt`;
    if (head !== undefined) return [difference('receipt-missing', where, found, receiptKey(day))];
  }
  return [];
}

type PublishedObject = Partial<CheckedObject>;

/** The object alone: bytes that are not those published are not read further. */
async function checkPublished(options: DayCheckOptions, receipt: Receipt): Promise<PublishedObject> {
  if (receipt.object !== null) return await checkObject(options, receipt.object);
  // In a delta lake the table says whether there is one.
  if (options.layout === 'delta') return {};
  const where = objectKey(receipt);
  const head = await options.store.head(where);
  if (head === undefined) return {};
  return {
    difference: difference('object-unexpected', where, `${head.sizeBytes} bytes`, 'no object: 0 rows'),
  };
}

/** Compare a day whose object is as it was published: the table, then footer and detail, then the rows. */
async function compareContent(
  options: DayCheckOptions,
  receipt: Receipt,
  { tail }: PublishedObject,
): Promise<Difference[]> {
  const { store } = options;
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
