// @ts-check
/**
 * An answer as arrays that can be drawn: a byte a cell, and what each row and each date adds up to. Made once per
 * answer; nothing of it changes.
 * @typedef {import('../../answers.ts').CoverageAnswer} CoverageAnswer
 * @typedef {import('../../answers.ts').CoverageTrouble} CoverageTrouble
 * @typedef {object} Grid
 * @property {CoverageAnswer} answer
 * @property {number} fromDay
 * @property {number} dayCount
 * @property {readonly string[]} vessels
 * @property {Uint8Array} cells index into KINDS: all days of the first vessel, then of the next
 * @property {Uint32Array} counts by vessel and kind: `vessel * KINDS.length + kind`
 * @property {ReadonlyMap<number, CoverageTrouble>} troubles by index of the cell
 * @property {ReadonlyMap<number, string>} warnings by index of the cell
 * @property {ReadonlyMap<string, number>} rowOf
 */
import { STATES } from '../parts/states.js';
import { dayNumber } from './dates.js';

/** @typedef {import('../parts/states.js').StateRow} StateRow */
/** A letter that this page does not know: the server is newer. @type {StateRow} */
const UNKNOWN = {
  state: /** @type {StateRow['state']} */ ('unknown'),
  letter: '',
  word: 'unknown',
  sign: '¿',
  colour: '--state-waiting',
  meaning: 'this page is older than the server: load it anew',
};
/** @type {readonly StateRow[]} What a cell's byte says. */
export const KINDS = [...STATES, UNKNOWN];
const UNKNOWN_KIND = KINDS.length - 1;

/** @param {readonly string[]} states @returns {Uint8Array} 1 for those kinds */
export function kindsOf(states) {
  return Uint8Array.from(KINDS, (kind) => (states.includes(kind.state) ? 1 : 0));
}
/** What is wrong, by the table of states. */
export const TROUBLE_STATES = STATES.filter(({ isWrong }) => isWrong).map(({ state }) => state);

/** @param {CoverageAnswer} answer @returns {Grid} @throws {Error} where the answer contradicts itself */
export function gridOf(answer) {
  const fromDay = dayNumber(answer.from);
  const dayCount = dayNumber(answer.to) - fromDay;
  const { vessels } = answer;
  const expected = vessels.length * dayCount;
  if (!(dayCount >= 0) || answer.cells.length !== expected)
    throw new Error(
      `The server's answer contradicts itself: ${answer.cells.length} cells for ${vessels.length} vessels ` +
        `from ${answer.from} to ${answer.to}, expected ${expected}. Read again.`,
    );
  const rowOf = new Map(vessels.map((vessel, row) => [vessel, row]));
  /** @param {{ vessel: string, date: string }} place */
  const cellOf = ({ vessel, date }) => {
    const day = dayNumber(date) - fromDay;
    return day >= 0 && day < dayCount ? (rowOf.get(vessel) ?? Number.NaN) * dayCount + day : Number.NaN;
  };
  const cells = bytesOf(answer.cells);
  return {
    answer,
    fromDay,
    dayCount,
    vessels,
    cells,
    counts: countsOf(cells, vessels.length, dayCount),
    troubles: new Map(answer.troubles.map((trouble) => [cellOf(trouble), trouble])),
    warnings: new Map(answer.warnings.map((warning) => [cellOf(warning), warning.message])),
    rowOf,
  };
}

/** @param {string} letters */
function bytesOf(letters) {
  const kinds = new Uint8Array(128).fill(UNKNOWN_KIND);
  for (const [kind, { letter }] of STATES.entries()) kinds[letter.charCodeAt(0)] = kind;
  const cells = new Uint8Array(letters.length);
  for (let i = 0; i < cells.length; i++) cells[i] = kinds[letters.charCodeAt(i)] ?? UNKNOWN_KIND;
  return cells;
}

/** @param {Uint8Array} cells @param {number} rows @param {number} dayCount */
function countsOf(cells, rows, dayCount) {
  const counts = new Uint32Array(rows * KINDS.length);
  for (let row = 0, cell = 0; row < rows; row++) {
    const base = row * KINDS.length;
    for (let day = 0; day < dayCount; day++, cell++) {
      const kind = /** @type {number} */ (cells[cell]);
      counts[base + kind] = /** @type {number} */ (counts[base + kind]) + 1;
    }
  }
  return counts;
}

/** How many cells of these kinds a vessel has. @param {Grid} grid @param {number} row @param {Uint8Array} kinds */
export function countIn(grid, row, kinds) {
  let sum = 0;
  for (let kind = 0; kind < KINDS.length; kind++)
    if (kinds[kind] === 1) sum += grid.counts[row * KINDS.length + kind] ?? 0;
  return sum;
}

/** @param {Grid} grid @param {number} row @param {number} day index @returns {StateRow} */
export function kindAt(grid, row, day) {
  return KINDS[grid.cells[row * grid.dayCount + day] ?? UNKNOWN_KIND] ?? UNKNOWN;
}
