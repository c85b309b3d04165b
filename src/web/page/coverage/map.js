// @ts-check
/**
 * The map: which cell is chosen, what is in sight, how near it is. What it is painted on is surface.js, what keys and
 * pointers do is in keys.js and pointer.js.
 * @typedef {import('./grid.js').Grid} Grid
 * @typedef {import('./settings.js').Settings} Settings
 * @typedef {import('./paint-frame.js').Place} Place
 * @typedef {{ top: string | null, left: string | null }} Corner first vessel and date in sight; null: the very first
 * @typedef {object} MapListeners
 * @property {(vessel: string, date: string, isAside: boolean) => void} open
 * @property {(vessel: string, date: string) => void} chosen
 * @property {(corner: Corner) => void} scrolled
 * @property {(zoom: Settings['zoom']) => void} zoomed
 * @property {(text: string) => void} announce
 * @property {AbortSignal} signal
 */
import { dateText, dayNumber } from './dates.js';
import { kindsOf } from './grid.js';
import { listenToKeys, listenToPointer } from './input.js';
import { AXIS_PX, xOf, zoomStep } from './layout.js';
import { createSurface } from './surface.js';
import { cellFacts } from './texts.js';

const SCROLLED_MS = 200;

/** What keys and pointer act upon. @typedef {ReturnType<typeof createMap>} CoverageMap */

/** @param {MapListeners} on */
export function createMap(on) {
  /** @type {import('./surface.js').Shown | undefined} */
  let shown;
  /** @type {{ row: number, day: number } | null} */
  let current = null;
  /** @type {Place | null} */
  let hovered = null;

  const place = () => {
    const position = current === null ? -1 : (shown?.positions[current.row] ?? -1);
    return current === null || position === -1 ? null : { position, day: current.day };
  };
  const surface = createSurface({
    shown: () => shown,
    places: () => ({ current: place(), hovered }),
    goToDay: (day) => {
      const layout = surface.layout();
      if (layout === undefined) return;
      scroller.scrollLeft = (xOf(layout, day) - layout.viewWidth / 2) / layout.ratio;
    },
  });
  const { scroller, element } = surface;

  /** @returns {Corner & { x: number, y: number }} and how far it is scrolled beyond them, in CSS pixels */
  const corner = () => {
    const layout = surface.layout();
    if (shown === undefined || layout === undefined) return { top: null, left: null, x: 0, y: 0 };
    const { ratio, rowHeight, dayWidth } = layout;
    const position = Math.round((scroller.scrollTop * ratio) / rowHeight);
    const day = Math.round((scroller.scrollLeft * ratio) / dayWidth);
    return {
      top: position === 0 ? null : (shown.grid.vessels[shown.rows[position] ?? -1] ?? null),
      left: day === 0 ? null : dateText(shown.grid.fromDay + day),
      x: scroller.scrollLeft - xOf(layout, day) / ratio,
      y: scroller.scrollTop - (position * rowHeight) / ratio,
    };
  };
  /** @param {Corner & { x?: number, y?: number }} to */
  const scrollToCorner = ({ top, left, x = 0, y = 0 }) => {
    const layout = surface.layout();
    if (shown === undefined || layout === undefined) return;
    const { grid, positions } = shown;
    const position = top === null ? 0 : (positions[grid.rowOf.get(top) ?? -1] ?? 0);
    const day = left === null ? 0 : dayNumber(left) - grid.fromDay;
    scroller.scrollTop = (Math.max(0, position) * layout.rowHeight) / layout.ratio + y;
    scroller.scrollLeft = xOf(layout, Math.max(0, day || 0)) / layout.ratio + x;
  };
  /** @param {Place} to */
  const scrollToPlace = (to) => {
    const layout = surface.layout();
    if (layout === undefined) return;
    const { ratio, viewWidth, viewHeight, rowHeight } = layout;
    const x = { from: xOf(layout, to.day), to: xOf(layout, to.day + 1), view: viewWidth };
    const y = { from: to.position * rowHeight, to: (to.position + 1) * rowHeight, view: viewHeight };
    scroller.scrollLeft = intoSight(scroller.scrollLeft * ratio, x, 6 * ratio) / ratio;
    scroller.scrollTop = intoSight(scroller.scrollTop * ratio, y, 6 * ratio) / ratio;
  };

  const map = {
    element,
    scroller,
    shown: () => shown,
    layout: surface.layout,
    recolour: surface.recolour,
    announce: on.announce,
    place,
    /**
     * @param {Grid} grid @param {Int32Array} rows @param {Settings} settings
     * @param {Corner} [at] where to begin; else what was in sight stays there
     */
    show(grid, rows, settings, at) {
      /** @type {Corner & { x?: number, y?: number }} */
      const kept = at === undefined ? corner() : { top: at.top, left: at.left };
      const before = current === null || shown === undefined ? null : nameOf(shown.grid, current);
      const positions = new Int32Array(grid.vessels.length).fill(-1);
      for (const [position, row] of rows.entries()) positions[row] = position;
      const looked = kindsOf(settings.states);
      const isDimmed = looked.map((isLooked) => (settings.states.length === 0 ? 0 : 1 - isLooked));
      shown = { grid, rows, settings, isDimmed, positions };
      current = before === null ? null : cellNamed(grid, before.vessel, before.date);
      hovered = null;
      surface.lay();
      scrollToCorner(kept);
    },
    /** Choose a cell and bring it into sight. @param {Place} to @param {{ silently?: boolean }} [options] */
    go(to, { silently = false } = {}) {
      const row = shown?.rows[to.position];
      if (shown === undefined || row === undefined) return;
      current = { row, day: to.day };
      hovered = null;
      scrollToPlace(to);
      surface.redraw();
      const { vessel, date, said } = cellFacts(shown.grid, row, to.day);
      on.chosen(vessel, date);
      if (!silently) on.announce(said);
    },
    /** The same by name, and nothing where it is not shown. @param {string} vessel @param {string} date */
    goTo(vessel, date) {
      const cell = shown === undefined ? null : cellNamed(shown.grid, vessel, date);
      const position = cell === null ? -1 : (shown?.positions[cell.row] ?? -1);
      if (cell !== null && position !== -1) map.go({ position, day: cell.day }, { silently: true });
    },
    /** @param {Place | null} at */
    hover(at) {
      if (hovered?.position === at?.position && hovered?.day === at?.day) return;
      hovered = at;
      surface.redraw();
    },
    /** @param {Place} at @param {boolean} isAside in another tab */
    open(at, isAside) {
      const row = shown?.rows[at.position];
      if (shown === undefined || row === undefined) return;
      const { vessel, date } = nameOf(shown.grid, { row, day: at.day });
      on.open(vessel, date, isAside);
    },
    /** One step nearer or farther. @param {1 | -1} direction @param {{ x: number, y: number }} [at] */
    zoom(direction, at) {
      const layout = surface.layout();
      if (layout !== undefined) map.zoomTo(zoomStep(layout, direction), at);
    },
    /**
     * What lies at `at` (CSS pixels of the box; else the chosen cell, else the middle) stays there.
     * @param {Settings['zoom']} zoom @param {{ x: number, y: number }} [at]
     */
    zoomTo(zoom, at) {
      const before = surface.layout();
      if (shown === undefined || before === undefined) return;
      const x = (at?.x ?? scroller.clientWidth / 2) - before.left / before.ratio;
      const y = (at?.y ?? scroller.clientHeight / 2) - AXIS_PX;
      const chosen = at === undefined ? place() : null;
      const day = chosen?.day ?? ((scroller.scrollLeft + x) * before.ratio) / before.dayWidth;
      const position = chosen?.position ?? ((scroller.scrollTop + y) * before.ratio) / before.rowHeight;
      shown = { ...shown, settings: { ...shown.settings, zoom } };
      surface.lay();
      const layout = surface.layout() ?? before;
      scroller.scrollLeft = (day * layout.dayWidth) / layout.ratio - x;
      scroller.scrollTop = (position * layout.rowHeight) / layout.ratio - y;
      on.zoomed(zoom);
    },
  };

  listenToKeys(map);
  element.append(listenToPointer(map).tip);
  listenToBox(surface, on.signal, () => {
    const { top, left } = corner();
    on.scrolled({ top, left });
  });
  return map;
}

/** @param {ReturnType<typeof createSurface>} surface @param {AbortSignal} signal @param {() => void} scrolled */
function listenToBox({ element, scroller, lay, redraw, recolour }, signal, scrolled) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  scroller.addEventListener('scroll', () => {
    redraw();
    clearTimeout(timer);
    timer = setTimeout(scrolled, SCROLLED_MS);
  });
  scroller.addEventListener('focus', redraw);
  scroller.addEventListener('blur', redraw);
  addEventListener('resize', lay, { signal });
  document.addEventListener('themechange', recolour, { signal });
  const sizes = new ResizeObserver(lay);
  sizes.observe(element);
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    sizes.disconnect();
  });
}

/** @param {Grid} grid @param {{ row: number, day: number }} cell */
function nameOf(grid, { row, day }) {
  return { vessel: grid.vessels[row] ?? '', date: dateText(grid.fromDay + day) };
}

/** @param {Grid} grid @param {string} vessel @param {string} date */
function cellNamed(grid, vessel, date) {
  const row = grid.rowOf.get(vessel);
  const day = dayNumber(date) - grid.fromDay;
  return row !== undefined && day >= 0 && day < grid.dayCount ? { row, day } : null;
}

/** @param {number} scroll @param {{ from: number, to: number, view: number }} of @param {number} margin */
function intoSight(scroll, { from, to, view }, margin) {
  if (from - margin < scroll) return Math.max(0, from - margin);
  return to + margin > scroll + view ? to + margin - view : scroll;
}
