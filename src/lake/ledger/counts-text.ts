/** A day's counts as the text that a detail has, without the objects and strings that JSON would make on the way. */
import type { DayCounts } from '../../core/model/index.ts';
import { DAY_HOURS } from '../../core/model/index.ts';
import { putWhole } from '../../core/model/whole-numbers.ts';

const OPEN = 0x5b;
const CLOSE = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COLON = 0x3a;
const COMMA = 0x2c;
/** Of four numbers up to 2^53, with brackets and commas. */
const CELL_BYTES = 72;
/** An object has such names first, whatever was written first. */
const NUMBER_NAME = /^\d+$/;

/** UTF-8 of `JSON.stringify(counts.toJson())`. */
export function countsText(counts: DayCounts): Uint8Array {
  const ids = counts.sortedIds();
  const names = ids.map((id) => JSON.stringify(id));
  let capacity = 2;
  for (const name of names) capacity += 3 * name.length + 4 + CELL_BYTES * DAY_HOURS;
  const bytes = Buffer.allocUnsafe(capacity);
  let at = 0;
  bytes[at++] = OPEN_BRACE;
  for (const [i, id] of ids.entries()) {
    if (i > 0) bytes[at++] = COMMA;
    at += bytes.write(names[i]!, at);
    bytes[at++] = COLON;
    at = NUMBER_NAME.test(id) ? UNUSUAL : putHours(bytes, at, counts, id);
    if (at === UNUSUAL) return byJson(counts);
  }
  bytes[at++] = CLOSE_BRACE;
  return bytes.subarray(0, at);
}

const byJson = (counts: DayCounts): Uint8Array => Buffer.from(JSON.stringify(counts.toJson()));

/** Nothing that a day can have; left to JSON. */
const UNUSUAL = -1;

function putHours(bytes: Uint8Array, start: number, counts: DayCounts, id: string): number {
  const { cells, dayFromMicros } = counts;
  const place = counts.placeOf(id);
  let at = start;
  bytes[at++] = OPEN;
  for (let hour = 0; hour < DAY_HOURS; hour++) {
    const count = cells[place + hour]!;
    if (count === 0) continue;
    const first = cells[place + DAY_HOURS + hour]! - dayFromMicros;
    const last = cells[place + 2 * DAY_HOURS + hour]! - dayFromMicros;
    if (!isWhole(count) || !isWhole(first) || !isWhole(last)) return UNUSUAL;
    if (at > start + 1) bytes[at++] = COMMA;
    bytes[at++] = OPEN;
    at = putWhole(bytes, at, hour);
    bytes[at++] = COMMA;
    at = putWhole(bytes, at, count);
    bytes[at++] = COMMA;
    const firstAt = at;
    at = putWhole(bytes, at, first);
    const firstEnd = at;
    bytes[at++] = COMMA;
    // One reading in an hour has one time, whose digits are there already.
    if (last !== first) at = putWhole(bytes, at, last);
    else for (let from = firstAt; from < firstEnd; from++) bytes[at++] = bytes[from]!;
    bytes[at++] = CLOSE;
  }
  bytes[at++] = CLOSE;
  return at;
}

const isWhole = (value: number): boolean => value >= 0 && Number.isSafeInteger(value);
