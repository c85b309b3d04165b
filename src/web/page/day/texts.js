// @ts-check
/** Names, numbers and times as people read them; nothing foreign is shown but through `shown`. */

import { counted, plural, shownName } from '../parts/texts.js';

export { counted, dayAddress, plural, shown, shownName } from '../parts/texts.js';

/** Of a message: what the server tells is at most as long. */
export const MAX_MESSAGE_CHARS = 2_000;

/** Without the vessel that the page is about. @param {string} name @param {string} vessel @returns {string} */
export function withoutVessel(name, vessel) {
  return name.startsWith(`${vessel}/`) && name.length > vessel.length + 1
    ? name.slice(vessel.length + 1)
    : name;
}

/** @param {number} bytes @returns {string} `1.2 MB` */
export function bytesText(bytes) {
  if (bytes < 1_000) return plural(bytes, 'byte');
  const [unit, size] = bytes < 1e6 ? ['kB', 1e3] : bytes < 1e9 ? ['MB', 1e6] : ['GB', 1e9];
  return `${(bytes / size).toLocaleString('en-US', { maximumFractionDigits: bytes / size < 10 ? 2 : 1 })} ${unit}`;
}

/** @param {number} micros since 1970 @returns {string} `12:34:56`, with as many digits of the second as it has */
export function timeText(micros) {
  const second = Math.floor(micros / 1e6);
  const fraction = String(micros - second * 1e6)
    .padStart(6, '0')
    .replace(/0+$/, '');
  const clock = new Date(second * 1e3).toISOString().slice(11, 19);
  return fraction === '' ? clock : `${clock}.${fraction}`;
}

/** @param {number} micros since 1970 @returns {string} `2026-01-05T12:34:56.123456Z` */
export function instantText(micros) {
  const second = Math.floor(micros / 1e6);
  const fraction = String(micros - second * 1e6).padStart(6, '0');
  return `${new Date(second * 1e3).toISOString().slice(0, 19)}.${fraction}Z`;
}

/** @param {string} iso @returns {string} `2026-01-05 12:34:56 UTC`; other text as it is */
export function momentText(iso) {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/.exec(iso);
  return match === null ? shownName(iso) : `${match[1]} ${match[2]} UTC`;
}

/** @param {number | null} ms @returns {string} `12.4 s` */
export function durationText(ms) {
  const seconds = (ms ?? -1) / 1_000;
  if (!(seconds >= 0)) return '';
  return seconds < 120
    ? `${seconds.toLocaleString('en-US', { maximumFractionDigits: 1 })} s`
    : `${counted(Math.round(seconds / 60))} min`;
}

/** @param {number | bigint} value @returns {string} every digit that it has */
export function numberText(value) {
  if (typeof value === 'bigint') return value.toLocaleString('en-US');
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value < 0 ? '−∞' : '∞';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-6 || size >= 1e15)) return String(value);
  return value.toLocaleString('en-US', { maximumFractionDigits: 12 });
}

/** @param {string} date @param {number} days @returns {string} */
export function addDays(date, days) {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}
