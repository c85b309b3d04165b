// @ts-check
/** Names, counts and addresses as every view shows them; nothing foreign reaches the page but through `shown`. */

const MAX_NAME_CHARS = 80;
const MAX_MESSAGE_CHARS = 600;
/** What steers a text or cannot be seen: controls, marks of direction, separators, zero widths, halves. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]|\p{Default_Ignorable_Code_Point}/gu;

/** @param {string} text @param {number} [mostChars] @returns {string} without what steers or hides, and not endless */
export function shown(text, mostChars = MAX_MESSAGE_CHARS) {
  const cut = text.length > mostChars ? `${text.slice(0, mostChars)}…` : text;
  return cut.replace(UNSEEN, '\ufffd');
}

/** @param {string} name @returns {string} */
export function shownName(name) {
  return shown(name, MAX_NAME_CHARS);
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
