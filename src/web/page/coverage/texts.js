// @ts-check
/** Sentences about a map and its cells, and a cell as the map has it. */
import { h } from '../parts/dom.js';
import { shown, shownName } from '../parts/texts.js';
import { dateText, WEEKDAYS, weekday } from './dates.js';
import { kindAt } from './grid.js';

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
  const warning = grid.warnings.get(cell);
  const reason =
    trouble !== undefined
      ? `${shownName(trouble.code)}: ${shown(trouble.message)}`
      : warning !== undefined
        ? shown(warning)
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

/** A small cell as the map has them: colour and sign. @param {import('./grid.js').StateRow} kind */
export function swatch(kind) {
  const element = h('span', { class: 'cov-swatch', 'aria-hidden': 'true' }, kind.sign);
  element.style.setProperty('background', `var(${kind.colour})`);
  element.style.setProperty('color', `var(--cov-sign-${kind.state})`);
  return element;
}
