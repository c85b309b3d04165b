// @ts-check
/** Dates as numbers: days since 1970-01-01, UTC. A range is half-open: `to` is the day after its last. */

const DAY_MS = 86_400_000;

/** @param {string} date `YYYY-MM-DD` @returns {number} days since 1970-01-01; NaN where it is no date */
export function dayNumber(date) {
  return /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) / DAY_MS : Number.NaN;
}

/** @param {number} day @returns {string} `YYYY-MM-DD` */
export function dateText(day) {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** @param {number} ms @returns {number} the UTC day of an instant */
export function dayOf(ms) {
  return Math.floor(ms / DAY_MS);
}

/** @param {number} day @returns {number} 1 to 31 */
export function dayOfMonth(day) {
  return new Date(day * DAY_MS).getUTCDate();
}

/** @param {number} day @returns {number} 0 is Monday */
export function weekday(day) {
  return (((day + 3) % 7) + 7) % 7;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
export const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** @param {number} day @returns {string} such as `Jan 2026` */
export function monthText(day) {
  const date = new Date(day * DAY_MS);
  return `${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}

/** @param {number} day @returns {number} the first day of the month after */
export function nextMonth(day) {
  const date = new Date(day * DAY_MS);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / DAY_MS;
}
