// @ts-check
/**
 * Which vessels are rows of the map, in which order, and which troubles are listed.
 * @typedef {import('./grid.js').Grid} Grid
 * @typedef {import('./settings.js').Settings} Settings
 */
import { countIn, KINDS, kindsOf, TROUBLE_STATES } from './grid.js';

const byName = new Intl.Collator('en', { numeric: true }).compare;

/** @param {Grid} grid @param {Settings} settings @returns {Int32Array} rows of the grid, in the order they are shown */
export function rowsShown(grid, settings) {
  const looked = kindsOf(settings.states);
  const troubled = kindsOf(TROUBLE_STATES);
  const found = rowsFound(grid, settings.text);
  /** @type {number[]} */
  const rows = [];
  for (let row = 0; row < grid.vessels.length; row++) {
    if (found !== null && !found.has(row)) continue;
    if (settings.troubleOnly && countIn(grid, row, troubled) === 0) continue;
    if (settings.others === 'hide' && settings.states.length > 0 && countIn(grid, row, looked) === 0)
      continue;
    rows.push(row);
  }
  return Int32Array.from(sorted(grid, rows, settings));
}

/** @param {Grid} grid @param {number[]} rows @param {Settings} settings */
function sorted(grid, rows, { sort, states }) {
  if (sort === 'name') return rows;
  if (sort === 'trouble') {
    const kinds = kindsOf(states.length > 0 ? states : TROUBLE_STATES);
    const worst = new Map(rows.map((row) => [row, countIn(grid, row, kinds)]));
    return rows.sort((a, b) => (worst.get(b) ?? 0) - (worst.get(a) ?? 0) || a - b);
  }
  /** @param {number} row */
  const gap = (row) => grid.answer.firstGaps[row] ?? grid.dayCount;
  return rows.sort((a, b) => gap(a) - gap(b) || a - b);
}

/** @param {string} text @param {string} wanted in lower case */
const has = (text, wanted) => text.toLowerCase().includes(wanted);

/** @param {Grid} grid @param {string} text @returns {Set<number> | null} null: all */
function rowsFound(grid, text) {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return null;
  /** @type {Set<number>} */
  const found = new Set();
  for (const [row, vessel] of grid.vessels.entries()) if (has(vessel, wanted)) found.add(row);
  for (const { vessel, code, message } of grid.answer.troubles) {
    const row = grid.rowOf.get(vessel);
    if (row !== undefined && (has(code, wanted) || has(message, wanted))) found.add(row);
  }
  return found;
}

/**
 * Troubles of the vessels and states that are looked at, by code, the most frequent first.
 * @param {Grid} grid @param {Settings} settings
 * @returns {{ code: string, state: string, troubles: import('./grid.js').CoverageTrouble[] }[]}
 */
export function troubleGroups(grid, settings) {
  const wanted = settings.text.trim().toLowerCase();
  /** @type {Map<string, { code: string, state: string, troubles: import('./grid.js').CoverageTrouble[] }>} */
  const groups = new Map();
  for (const trouble of grid.answer.troubles) {
    const { code, state, vessel, message } = trouble;
    if (settings.states.length > 0 && !settings.states.includes(state)) continue;
    if (wanted !== '' && !has(vessel, wanted) && !has(code, wanted) && !has(message, wanted)) continue;
    const group = groups.get(`${state} ${code}`) ?? { code, state, troubles: [] };
    group.troubles.push(trouble);
    groups.set(`${state} ${code}`, group);
  }
  return [...groups.values()].sort(
    (a, b) => b.troubles.length - a.troubles.length || byName(a.code, b.code) || byName(a.state, b.state),
  );
}

/**
 * Cells of each kind by date, over the rows shown.
 * @param {Grid} grid @param {Int32Array} rows @returns {Uint32Array} `day * KINDS.length + kind`
 */
export function countsByDay(grid, rows) {
  const counts = new Uint32Array(grid.dayCount * KINDS.length);
  for (const row of rows) {
    let cell = row * grid.dayCount;
    for (let day = 0; day < grid.dayCount; day++, cell++) {
      const at = day * KINDS.length + /** @type {number} */ (grid.cells[cell]);
      counts[at] = /** @type {number} */ (counts[at]) + 1;
    }
  }
  return counts;
}
