/** Is a receipt whole, and does it say one thing? Only the receipt itself is looked at. */
import { detailKey, objectKey, receiptKey } from '../lake/keys.ts';
import type { Receipt, VesselDay } from '../model/index.ts';
import { API_VERSIONS, dayRange, parseTimestamp } from '../model/index.ts';
import type { Difference, Sides } from './findings.ts';
import { firstFewOf } from './findings.ts';

type CheckedReceipt =
  | { readonly receipt: Receipt }
  | { readonly receipt?: undefined; readonly difference: Difference };

/** A receipt as it stands in the lake, or what is wrong with it. */
export function checkReceipt(bytes: Uint8Array, day: VesselDay): CheckedReceipt {
  const where = receiptKey(day);
  const damaged = (sides: Sides): CheckedReceipt => ({
    difference: { name: 'receipt-damaged', where, ...sides },
  });
  const value = parseObject(bytes);
  if (value === undefined)
    return damaged({ found: `${bytes.length} bytes that are no JSON object`, expected: 'a receipt' });
  if (value.receiptVersion !== 1)
    return damaged({
      found: `receiptVersion ${shown(value.receiptVersion)}`,
      expected: '1 (a newer one needs a newer vessel-export)',
    });
  const faults = [...shapeFaults(value), ...(value.object === null ? [] : objectFaults(value.object))];
  if (faults.length === 0) faults.push(...contradictions(value as unknown as Receipt, day));
  return faults.length === 0 ? { receipt: value as unknown as Receipt } : damaged(firstFewOf(faults));
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

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
const isText = (value: unknown) => typeof value === 'string' && value !== '';
const isSha256 = (value: unknown) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
const isMoment = (value: unknown) => typeof value === 'string' && parseTimestamp(value) !== undefined;
const oneOf = (names: readonly string[]) => (value: unknown) => names.includes(value as string);
const orNull = (test: (value: unknown) => boolean) => (value: unknown) => value === null || test(value);

const SHAPE: Readonly<Record<string, readonly [(value: unknown) => boolean, string]>> = {
  job: [isText, 'a name'],
  vessel: [isText, 'a name'],
  date: [isText, 'a date'],
  dataset: [oneOf(['measurements', 'statistics', 'metadata']), 'a dataset'],
  epoch: [isCount, 'a number'],
  settingsHash: [isText, 'a hash'],
  proof: [oneOf(['exact', 'at-least', 'unproven']), 'exact, at-least or unproven'],
  rows: [isCount, 'a number'],
  series: [isCount, 'a number'],
  firstTimestamp: [orNull(isMoment), 'an instant or null'],
  lastTimestamp: [orNull(isMoment), 'an instant or null'],
  object: [orNull(isObject), 'an object or null'],
  detail: [
    orNull((value) => isObject(value) && isText(value.key) && isSha256(value.sha256)),
    'key and sha256, or null',
  ],
  source: [
    orNull((value) => isObject(value) && isCount(value.rows) && isMoment(value.askedAt)),
    'rows and askedAt, or null',
  ],
  apiVersion: [oneOf(API_VERSIONS), 'a version of the API'],
  formatVersion: [isCount, 'a number'],
  startedAt: [isMoment, 'an instant'],
  finishedAt: [isMoment, 'an instant'],
};

/** Members that older receipts do not have. */
const ADDED: typeof SHAPE = {
  selectedSeries: [isCount, 'a number'],
  selectHash: [isText, 'a hash'],
  remark: [
    (value) => isObject(value) && Array.isArray(value.names) && isObject(value.comparedWith),
    'names and comparedWith',
  ],
};

function shapeFaults(value: Fields): Sides[] {
  const added = Object.entries(ADDED).filter(([name]) => value[name] !== undefined);
  return [...Object.entries(SHAPE), ...added].flatMap(([name, [test, expected]]) =>
    test(value[name]) ? [] : [{ found: `${name} ${shown(value[name])}`, expected: `${name}: ${expected}` }],
  );
}

function objectFaults(object: unknown): Sides[] {
  if (!isObject(object)) return [];
  const { key, sizeBytes, upload, parts } = object;
  const isPart = (part: unknown) => isObject(part) && isCount(part.sizeBytes) && isSha256(part.sha256);
  const whole = Array.isArray(parts) && parts.length > 0 && parts.every(isPart);
  if (!isText(key) || !isCount(sizeBytes) || !isText(upload) || !whole)
    return [{ found: `object ${shown(object)}`, expected: 'object: key, sizeBytes, upload and parts' }];
  const sum = (parts as { sizeBytes: number }[]).reduce((total, part) => total + part.sizeBytes, 0);
  if (sum === sizeBytes) return [];
  return [{ found: `parts of ${sum} bytes in an object of ${sizeBytes}`, expected: 'parts that add up' }];
}

/** What cannot be true at once. Counts against detail and object are for those checks. */
function contradictions(receipt: Receipt, day: VesselDay): Sides[] {
  const faults: Sides[] = [];
  const must = (holds: boolean, found: string, expected: string) => {
    if (!holds) faults.push({ found, expected });
  };
  const place = `${receipt.job}/${receipt.vessel}/${receipt.date}`;
  must(place === `${day.job}/${day.vessel}/${day.date}`, `a receipt of ${place}`, "its own place's");
  const { object, detail, rows, series, firstTimestamp, lastTimestamp } = receipt;
  // A day that was emptied has an object of no rows, one that always was has none.
  must(rows === 0 || object !== null, `${rows} rows and no object`, 'both');
  must(!object || object.key === objectKey(day), `the object ${object?.key}`, objectKey(day));
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

function shown(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value).slice(0, 100);
}
