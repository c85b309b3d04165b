/**
 * Text from outside (names, answers, keys and files of a lake, jobs of the queue) on its way to people. Nobody has to remember it: our errors, `messageOf`,
 * the log, the notes, the writers of `cli/terminal/` and the tables call these, and test/architecture.test.ts sees that there is no other way out.
 * Stored rows and metadata stay exact.
 */

/** Controls, line and paragraph separators, direction marks, characters without a shape, halves of surrogate pairs. */
export const UNSEEN_CHAR = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]`;
const UNSEEN = new RegExp(`${UNSEEN_CHAR}+`, 'gu');
/** The same within lines. */
const UNSEEN_IN_LINE = new RegExp(String.raw`(?!\n)${UNSEEN_CHAR}`, 'gu');

/** Lines in which nothing else is than can be seen. */
const PLAIN = /^[\x20-\x7e\n]*$/;

const MAX_NAME_CHARS = 100;
/** One message: what, where, what was found, what was expected, what to do next. */
const MAX_MESSAGE_CHARS = 2_000;
/** A message that lists faults, a line each. */
const MAX_LISTING_CHARS = 32_000;
/** Entries of a list or an object in a line of log, and how deep they go. */
const MAX_LOG_ENTRIES = 100;
const MAX_LOG_DEPTH = 5;

/** Text from a peer as one line that is safe to show: without what steers or cannot be seen, secrets as `***`, cut to `maxChars`, never within one. */
export function cleanForeignText(text: string, secrets: readonly string[] = [], maxChars = 500): string {
  let clean = text;
  for (const secret of secrets) if (secret.length >= 4) clean = clean.replaceAll(secret, '***');
  clean = toOneLine(clean.slice(0, 8 * maxChars));
  return clean.length > maxChars ? `${startOf(clean, maxChars)}…` : clean;
}

/** A name from outside, short enough that what matters keeps its place in the sentence around it. */
export function shortName(name: string): string {
  return cleanForeignText(name, [], MAX_NAME_CHARS);
}

/** A message as one line. A longer one than `maxChars` loses its middle: what happened and what to do stand at its ends. */
export function cleanMessage(text: string, maxChars = MAX_MESSAGE_CHARS): string {
  return withoutMiddle(toOneLine(withoutMiddle(text, 8 * maxChars)), maxChars);
}

/** A message of several lines, which we broke: what is put into them is cleaned before. */
export function cleanListing(text: string): string {
  return withoutMiddle(cleanLines(withoutMiddle(text, 8 * MAX_LISTING_CHARS)), MAX_LISTING_CHARS);
}

/** Lines that stay lines, however many; each character that steers or cannot be seen becomes a space. */
export function cleanLines(text: string): string {
  return text.replace(UNSEEN_IN_LINE, ' ');
}

/** Fields of a line of log: every text in them is one bounded line, and a stack some. */
export function cleanFields(fields: object, depth = 0): Record<string, unknown> {
  const entries = Object.entries(fields).slice(0, MAX_LOG_ENTRIES);
  return Object.fromEntries(entries.map(([key, value]) => [shortName(key), cleanField(key, value, depth)]));
}

function cleanField(key: string, value: unknown, depth: number): unknown {
  if (typeof value === 'string') return key === 'stack' ? cleanListing(value) : cleanMessage(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_LOG_DEPTH) return '…';
  if (!Array.isArray(value)) return cleanFields(value, depth + 1);
  return value.slice(0, MAX_LOG_ENTRIES).map((each) => cleanField('', each, depth + 1));
}

/** JSON of a value, which stays exact: what steers a terminal or cannot be seen is escaped. */
export function visibleJson(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, null, indent);
  // Most of it is plain, and there may be hundreds of thousands.
  if (PLAIN.test(json)) return json;
  // Line ends stand between values only: those in texts are escaped already.
  return json.replace(UNSEEN_IN_LINE, (char) =>
    Array.from({ length: char.length }, (_, at) => escaped(char.charCodeAt(at))).join(''),
  );
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}

function toOneLine(text: string): string {
  return text.replace(UNSEEN, ' ').trim();
}

function withoutMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const end = Math.floor(maxChars / 3);
  return `${startOf(text, maxChars - end - 3)} … ${text.slice(-end).replace(/^[\udc00-\udfff]/, '')}`;
}

/** The first characters, without half of a surrogate pair at their end. */
function startOf(text: string, chars: number): string {
  return text.slice(0, chars).replace(/[\ud800-\udbff]$/, '');
}

/** `1,234,567`. Whole numbers by hand: the first use of a locale takes 40 ms, a tenth of a small export. */
export function formatCount(count: number): string {
  if (!Number.isSafeInteger(count)) return count.toLocaleString('en-US');
  return String(count).replace(/\d(?=(?:\d{3})+$)/g, '$&,');
}

export function countOf(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`;
}
