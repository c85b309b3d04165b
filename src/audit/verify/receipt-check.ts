/** Is a receipt whole, and does it say one thing? Only the receipt itself is looked at. */
import type { Layout, Receipt, VesselDay } from '../../core/model/index.ts';
import { dayRange, formatVesselDay, parseTimestamp } from '../../core/model/index.ts';
import { detailKey, objectKey, parseDayFileKey, receiptKey } from '../../lake/keys.ts';
import { isNewerReceipt } from '../../lake/ledger/ledger.ts';
import { isObject, RECEIPT, RECEIPT_ADDED, shapeFaults, shown } from '../../lake/shapes.ts';
import { sizeOf } from '../../store/store.ts';
import { type Difference, difference, differenceOf, type Sides } from './findings.ts';

type CheckedReceipt =
  | { readonly receipt: Receipt }
  | { readonly receipt?: undefined; readonly difference: Difference };

export function checkReceipt(bytes: Uint8Array, day: VesselDay, layout: Layout): CheckedReceipt {
  const where = receiptKey(day);
  const damaged = (sides: readonly Sides[]): CheckedReceipt => ({
    difference: differenceOf('receipt-damaged', where, sides)[0]!,
  });
  const value = parseObject(bytes);
  if (value === undefined)
    return damaged([{ found: `${bytes.length} bytes that are no JSON object`, expected: 'a receipt' }]);
  if (isNewerReceipt(value)) {
    const found = `receiptVersion ${shown(value.receiptVersion)}`;
    return { difference: difference('receipt-newer', where, found, '1') };
  }
  const faults = [...shapeFaults(value, RECEIPT, true), ...shapeFaults(value, RECEIPT_ADDED, false)];
  if (faults.length === 0) faults.push(...contradictions(value as unknown as Receipt, day, layout));
  return faults.length === 0 ? { receipt: value as unknown as Receipt } : damaged(faults);
}

type Fields = Readonly<Record<string, unknown>>;

function parseObject(bytes: Uint8Array): Fields | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What cannot be true at once. Counts against detail and object are for those checks. */
function contradictions(receipt: Receipt, day: VesselDay, layout: Layout): Sides[] {
  const faults: Sides[] = [];
  const must = (holds: boolean, found: string, expected: string) => {
    if (!holds) faults.push({ found, expected });
  };
  const place = formatVesselDay(receipt);
  must(place === formatVesselDay(day), `a receipt of ${place}`, "its own place's");
  const { object, detail, rows, series, firstTimestamp, lastTimestamp } = receipt;
  // A day that was emptied has an object of no rows, one that always was has none.
  must(rows === 0 || object !== null, `${rows} rows and no object`, 'both');
  const [sum, sizeBytes] = [object && sizeOf(object.parts), object?.sizeBytes];
  must(
    !object || sum === sizeBytes,
    `parts of ${sum} bytes in an object of ${sizeBytes}`,
    'parts that add up',
  );
  must(!object || isObjectOf(object.key, day, layout), `the object ${object?.key}`, objectKey(day));
  must(!detail || detail.key === detailKey(day), `the detail ${detail?.key}`, detailKey(day));
  must(
    (rows === 0) === (series === 0) && series <= rows,
    `${series} series in ${rows} rows`,
    'one to each row at most',
  );
  if (receipt.dataset === 'metadata' && receipt.source !== null) {
    const all = [rows, series, receipt.source.rows];
    must(
      new Set(all).size === 1,
      `${all.join(', ')} rows, series and series asked`,
      'one number: a row is a series',
    );
  }
  const timed = rows > 0 && receipt.dataset !== 'metadata';
  const [first, last] = [firstTimestamp, lastTimestamp].map((time) =>
    time === null ? undefined : parseTimestamp(time),
  );
  must(
    timed === (first !== undefined) && timed === (last !== undefined),
    `times ${firstTimestamp} to ${lastTimestamp}`,
    timed ? 'the times of rows' : 'null',
  );
  if (first !== undefined && last !== undefined) {
    const { fromMicros, toMicros } = dayRange(day.date);
    must(
      fromMicros <= first && first <= last && last < toMicros,
      `times ${firstTimestamp} to ${lastTimestamp}`,
      'times inside the day',
    );
  }
  must(
    (receipt.proof === 'unproven') === (receipt.source === null),
    `proof ${receipt.proof} ${receipt.source ? 'with' : 'without'} counts of the source`,
    'both or none',
  );
  return faults;
}

/** Each writing of a day has a name of its own in a delta lake; days that were converted keep theirs. */
function isObjectOf(key: string, day: VesselDay, layout: Layout): boolean {
  if (layout === 'plain') return key === objectKey(day);
  const named = parseDayFileKey(key);
  return named !== undefined && formatVesselDay(named) === formatVesselDay(day);
}
