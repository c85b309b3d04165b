// @ts-check
/** Numbers and times as people read them. What is not known is a dash. */

export const NOT_KNOWN = '–';
const COUNTS = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });

/** @param {number | null} count `1,234,567` */
export function inFull(count) {
  return count === null ? NOT_KNOWN : COUNTS.format(count);
}

/** @param {number | null} count `1.2M` */
export function inShort(count) {
  return count === null ? NOT_KNOWN : count < 10_000 ? COUNTS.format(count) : SHORT.format(count);
}

/** @param {number} part @param {number} whole from 0 to 1 */
export function shareOf(part, whole) {
  return whole <= 0 ? 1 : Math.min(1, Math.max(0, part / whole));
}

/** @param {number} share whole per cent, and 100 only where all is done */
export function percent(share) {
  return `${Math.floor(share * 100)} %`;
}

/** @param {number | null} ms `12 s`, `3 min`, `2 h 5 min`, `4 d 3 h`; clocks may differ: never negative */
export function duration(ms) {
  if (ms === null) return NOT_KNOWN;
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  if (minutes < 24 * 60) return rest(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  return rest(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** @param {number} large @param {string} one @param {number} small @param {string} other */
function rest(large, one, small, other) {
  return small === 0 ? `${large} ${one}` : `${large} ${one} ${small} ${other}`;
}

/** @param {number | null} ms since the epoch; `06:15:02 UTC` */
export function timeOfDay(ms) {
  return isTime(ms) ? `${new Date(ms).toISOString().slice(11, 19)} UTC` : NOT_KNOWN;
}

/** @param {number | null} ms since the epoch; `06:15 UTC` */
export function clockTime(ms) {
  return isTime(ms) ? `${new Date(ms).toISOString().slice(11, 16)} UTC` : NOT_KNOWN;
}

/** @param {number | null} ms since the epoch; `2026-01-06 06:15 UTC` */
export function moment(ms) {
  return isTime(ms) ? `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC` : NOT_KNOWN;
}

/** @param {number | null} ms since the epoch, as machines read it */
export function machineTime(ms) {
  return isTime(ms) ? new Date(ms).toISOString() : '';
}

/** Beyond these a date has no text. @param {number | null} ms @returns {ms is number} */
function isTime(ms) {
  return ms !== null && Math.abs(ms) <= 8.64e15;
}

/** A process tells of itself every ten seconds at the least. */
const SILENT_MS = 20_000;

/** @param {{ readonly seenMs: number }} process @param {number} nowMs has nothing been heard of it for too long? */
export function isSilent({ seenMs }, nowMs) {
  return nowMs - seenMs > SILENT_MS;
}

/** @param {string} word `would-shrink` → `would shrink` */
export function spoken(word) {
  return word.replaceAll('-', ' ');
}
