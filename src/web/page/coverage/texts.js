// @ts-check
/** Sentences and names as people get them; nothing foreign reaches the page but through `shown`. */
import { dateText, WEEKDAYS, weekday } from './dates.js';
import { kindAt } from './grid.js';

const MOST_NAME_CHARS = 80;
const MOST_MESSAGE_CHARS = 600;
/** What steers a text or cannot be seen: controls, marks of direction, separators, zero widths, halves. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]|\p{Default_Ignorable_Code_Point}/gu;

/** @param {string} text @param {number} [mostChars] @returns {string} without what steers or hides, and not endless */
export function shown(text, mostChars = MOST_MESSAGE_CHARS) {
  const cut = text.length > mostChars ? `${text.slice(0, mostChars)}…` : text;
  return cut.replace(UNSEEN, '\ufffd');
}

/** @param {string} name @returns {string} */
export function shownName(name) {
  return shown(name, MOST_NAME_CHARS);
}

/** @param {number} count @returns {string} `1,234` */
export function counted(count) {
  return count.toLocaleString('en-US');
}

/** @param {number} count @param {string} one @param {string} [many] @returns {string} `1 vessel`, `2 vessels` */
export function plural(count, one, many = `${one}s`) {
  return `${counted(count)} ${count === 1 ? one : many}`;
}

/** @param {string} job @param {string} vessel @param {string} date @returns {string} */
export function dayAddress(job, vessel, date) {
  // Half a character cannot be in an address.
  return `/day/${[job, vessel, date].map((part) => encodeURIComponent(part.toWellFormed())).join('/')}`;
}

/**
 * What is to be said of a cell.
 * @param {import('./grid.js').Grid} grid @param {number} row @param {number} day index
 */
export function cellFacts(grid, row, day) {
  const kind = kindAt(grid, row, day);
  const vessel = grid.vessels[row] ?? '';
  const date = dateText(grid.fromDay + day);
  const cell = row * grid.dayCount + day;
  const trouble = grid.troubles.get(cell);
  const remark = grid.remarks.get(cell);
  const reason =
    trouble !== undefined
      ? `${shownName(trouble.code)}: ${shown(trouble.message)}`
      : remark !== undefined
        ? shown(remark)
        : null;
  return {
    kind,
    vessel,
    date,
    weekday: WEEKDAYS[weekday(grid.fromDay + day)] ?? '',
    reason,
    said: `${shownName(vessel)}, ${date}: ${kind.word}${reason === null ? '' : `, ${reason}`}`,
  };
}

/** @param {number} seconds @returns {string} such as `12 s`, `5 min`, `3 h` */
export function agoText(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
