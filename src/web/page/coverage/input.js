// @ts-check
/**
 * The map by keyboard, mouse, pen and finger: what is pointed at is said beside it, a click opens the day. A finger covers
 * small cells, so its first tap only chooses, and the second one on the same cell opens.
 */
import { fill, h } from '../parts/dom.js';
import { shownName } from '../parts/texts.js';
import { kindsOf, TROUBLE_STATES } from './grid.js';
import { dayAt, rowAt } from './layout.js';
import { cellFacts, swatch } from './texts.js';

/**
 * @typedef {import('./map.js').CoverageMap} CoverageMap
 * @typedef {import('./paint-frame.js').Place} Place
 */

export const KEYS_TEXT =
  'Arrow keys move by day and vessel; Page Up and Page Down by a screen; Home and End to the first and last day; ' +
  'with Control to the first and last vessel; n and p to the next and previous problem; plus and minus zoom; ' +
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
  if (found === null) map.announce(`No problem ${direction === 1 ? 'after' : 'before'} this day`);
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

const TIP_AWAY_PX = 14;
/** A notch of a wheel is about a hundred, two fingers on a pad give many of a few. */
const TURN_PX = 40;

/** @param {CoverageMap} map */
export function listenToPointer(map) {
  const tip = h('div', { class: 'cov-tip', 'aria-hidden': 'true', hidden: true });
  const { scroller } = map;
  /** @type {{ x: number, y: number } | null} */
  let at = null;
  let turned = 0;

  /** @returns {Place | null} */
  const placeAt = () => {
    const layout = map.layout();
    if (at === null || layout === undefined) return null;
    const x = at.x * layout.ratio - layout.left;
    const y = at.y * layout.ratio - layout.top;
    if (x < 0 || y < 0 || x >= layout.viewWidth || y >= layout.viewHeight) return null;
    const day = dayAt(layout, x + Math.round(scroller.scrollLeft * layout.ratio));
    const position = rowAt(layout, y + Math.round(scroller.scrollTop * layout.ratio));
    return day >= 0 && day < layout.dayCount && position < layout.rowCount ? { position, day } : null;
  };
  const look = () => {
    const place = placeAt();
    map.hover(place);
    showTip(place);
  };
  /** @param {Place | null} place */
  const showTip = (place) => {
    const shown = map.shown();
    const row = place === null ? undefined : shown?.rows[place.position];
    tip.hidden = row === undefined;
    scroller.classList.toggle('cov-on-cell', row !== undefined);
    if (row === undefined || shown === undefined || place === null || at === null) return;
    const facts = cellFacts(shown.grid, row, place.day);
    fill(
      tip,
      h('strong', {}, h('bdi', {}, shownName(facts.vessel))),
      h('span', {}, `${facts.weekday} ${facts.date}`),
      h('span', { class: 'cov-tip-state' }, swatch(facts.kind), facts.kind.word),
      h('span', { class: 'hint' }, facts.reason ?? facts.kind.meaning),
    );
    const box = map.element.getBoundingClientRect();
    const inner = scroller.getBoundingClientRect();
    const x = inner.left - box.left + at.x;
    const y = inner.top - box.top + at.y;
    const isLeft = x + TIP_AWAY_PX + tip.offsetWidth > box.width;
    const left = isLeft ? Math.max(0, x - TIP_AWAY_PX - tip.offsetWidth) : x + TIP_AWAY_PX;
    const isAbove = inner.top + at.y + TIP_AWAY_PX + tip.offsetHeight > innerHeight;
    const top = isAbove ? y - TIP_AWAY_PX - tip.offsetHeight : y + TIP_AWAY_PX;
    tip.style.setProperty('transform', `translate(${Math.round(left)}px, ${Math.round(top)}px)`);
  };

  /** @param {MouseEvent} event */
  const point = (event) => {
    const box = scroller.getBoundingClientRect();
    at = {
      x: event.clientX - box.left - scroller.clientLeft,
      y: event.clientY - box.top - scroller.clientTop,
    };
  };
  scroller.addEventListener('pointermove', (event) => {
    if (event.pointerType === 'touch') return;
    point(event);
    look();
  });
  scroller.addEventListener('pointerleave', () => {
    at = null;
    look();
  });
  scroller.addEventListener('scroll', look);
  scroller.addEventListener('keydown', () => {
    at = null;
    look();
  });
  scroller.addEventListener('click', (event) => {
    point(event);
    const place = placeAt();
    if (place === null) return;
    const before = map.place();
    const isSame = before?.position === place.position && before.day === place.day;
    const isTouch = /** @type {PointerEvent} */ (event).pointerType === 'touch';
    map.go(place, { silently: !isTouch });
    if (!isTouch || isSame) map.open(place, event.ctrlKey || event.metaKey);
  });
  scroller.addEventListener('auxclick', (event) => {
    point(event);
    const place = placeAt();
    if (event.button === 1 && place !== null) map.open(place, true);
  });
  scroller.addEventListener(
    'wheel',
    (event) => {
      if (!event.ctrlKey || event.deltaY === 0) return;
      event.preventDefault();
      point(event);
      turned = turned * event.deltaY > 0 ? turned + event.deltaY : event.deltaY;
      if (Math.abs(turned) < TURN_PX) return;
      map.zoom(turned < 0 ? 1 : -1, at ?? undefined);
      turned = 0;
      look();
    },
    { passive: false },
  );
  return { tip };
}
