// @ts-check
/**
 * The map by mouse, pen and finger: what is pointed at is said beside it, a click opens the day. A finger covers small
 * cells, so its first tap only chooses, and the second one on the same cell opens.
 * @typedef {import('./map.js').CoverageMap} CoverageMap
 * @typedef {import('./paint-frame.js').Place} Place
 */
import { fill, h } from '../parts/dom.js';
import { shownName } from '../parts/texts.js';
import { dayAt, rowAt } from './layout.js';
import { swatch } from './swatch.js';
import { cellFacts } from './texts.js';

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
