// @ts-check
/**
 * The map by keyboard.
 * @typedef {import('./map.js').CoverageMap} CoverageMap
 * @typedef {import('./paint-frame.js').Place} Place
 */
import { kindsOf, TROUBLE_STATES } from './grid.js';

export const KEYS_TEXT =
  'Arrow keys move by day and vessel; Page Up and Page Down by a screen; Home and End to the first and last day; ' +
  'with Control to the first and last vessel; n and p to the next and previous trouble; plus and minus zoom; ' +
  'Enter opens the day.';

/** @param {CoverageMap} map */
export function listenToKeys(map) {
  map.scroller.addEventListener('keydown', (event) => {
    const layout = map.layout();
    if (event.altKey || event.metaKey || layout === undefined) return;
    if (layout.rowCount > 0 && layout.dayCount > 0 && pressed(event, map)) event.preventDefault();
  });
}

/** @param {KeyboardEvent} event @param {CoverageMap} map @returns {boolean} whether the key meant the map */
function pressed(event, map) {
  const { key, ctrlKey } = event;
  const from = map.place();
  if (key === 'Enter' || key === ' ') {
    if (from !== null) map.open(from, ctrlKey);
    return true;
  }
  const to = moved(event, from, map);
  if (to !== null) {
    map.go(to);
    return true;
  }
  // With Control these are the browser's.
  if (ctrlKey) return false;
  if (key === '+' || key === '=' || key === '-') map.zoom(key === '-' ? -1 : 1);
  else if (key === 'n' || key === 'p') goToTrouble(map, from, key === 'n' ? 1 : -1);
  else return false;
  return true;
}

/** @param {CoverageMap} map @param {Place | null} from @param {1 | -1} direction */
function goToTrouble(map, from, direction) {
  const shown = map.shown();
  if (shown === undefined) return;
  const found = nextTrouble(shown, from ?? firstInSight(map), direction);
  if (found === null) map.announce(`No trouble ${direction === 1 ? 'after' : 'before'} this day`);
  else map.go(found);
}

/** @param {CoverageMap} map @returns {Place} */
function firstInSight(map) {
  const shown = map.shown();
  const layout = map.layout();
  if (shown === undefined || layout === undefined) return { position: 0, day: 0 };
  const { scroller } = map;
  const position = Math.ceil((scroller.scrollTop * layout.ratio) / layout.rowHeight);
  const day = Math.ceil((scroller.scrollLeft * layout.ratio) / layout.dayWidth);
  return { position: Math.min(position, layout.rowCount - 1), day: Math.min(day, layout.dayCount - 1) };
}

/** @param {KeyboardEvent} event @param {Place | null} from @param {CoverageMap} map @returns {Place | null} */
function moved({ key, ctrlKey }, from, map) {
  const layout = map.layout();
  if (layout === undefined) return null;
  const { rowCount, dayCount, viewHeight, rowHeight } = layout;
  const page = Math.max(1, Math.floor(viewHeight / rowHeight) - 1);
  const start = from ?? firstInSight(map);
  const { position, day } = start;
  /** @type {Record<string, Place>} */
  const places = {
    ArrowLeft: { position, day: day - 1 },
    ArrowRight: { position, day: day + 1 },
    ArrowUp: { position: position - 1, day },
    ArrowDown: { position: position + 1, day },
    PageUp: { position: position - page, day },
    PageDown: { position: position + page, day },
    Home: { position: ctrlKey ? 0 : position, day: 0 },
    End: { position: ctrlKey ? rowCount - 1 : position, day: dayCount - 1 },
  };
  const to = places[key];
  if (to === undefined) return null;
  // The first key shows where one is.
  if (from === null && key.startsWith('Arrow')) return start;
  return {
    position: Math.min(rowCount - 1, Math.max(0, to.position)),
    day: Math.min(dayCount - 1, Math.max(0, to.day)),
  };
}

/**
 * The next cell that is trouble, or in a state that is looked at, in the order of reading.
 * @param {NonNullable<ReturnType<CoverageMap['shown']>>} shown @param {Place} from @param {1 | -1} direction
 * @returns {Place | null}
 */
function nextTrouble({ grid, rows, settings }, from, direction) {
  const wanted = kindsOf(settings.states.length > 0 ? settings.states : TROUBLE_STATES);
  const all = rows.length * grid.dayCount;
  for (let at = from.position * grid.dayCount + from.day + direction; at >= 0 && at < all; at += direction) {
    const position = Math.floor(at / grid.dayCount);
    const day = at % grid.dayCount;
    const kind = grid.cells[(rows[position] ?? 0) * grid.dayCount + day] ?? 0;
    if (wanted[kind] === 1) return { position, day };
  }
  return null;
}
