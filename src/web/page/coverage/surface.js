// @ts-check
/**
 * What the map is painted on: a box that the browser scrolls by itself, holding an empty area as large as all cells, and
 * a canvas that stays in sight and is painted anew with what is there.
 * @typedef {import('./layout.js').Layout} Layout
 * @typedef {import('./paint-frame.js').Place} Place
 * @typedef {object} Shown
 * @property {import('./grid.js').Grid} grid
 * @property {Int32Array} rows of the grid, in the order shown
 * @property {import('./settings.js').Settings} settings
 * @property {Uint8Array} isDimmed by kind
 * @property {Int32Array} positions by row of the grid: where it is shown, −1: nowhere
 */
import { h } from '../parts/dom.js';
import { layoutOf, sizeOf } from './layout.js';
import { createOverview } from './overview.js';
import { createCellPainter, inSight } from './paint-cells.js';
import { measureNames, paintDates, paintNames, paintRing } from './paint-frame.js';
import { offerSigns, readPalette } from './palette.js';

const NARROWEST_NAMES_PX = 90;
const WIDEST_NAMES_PX = 220;

/**
 * @param {object} of
 * @param {() => Shown | undefined} of.shown
 * @param {() => { current: Place | null, hovered: Place | null }} of.places
 * @param {(day: number) => void} of.goToDay
 */
export function createSurface({ shown, places, goToDay }) {
  const canvas = /** @type {HTMLCanvasElement} */ (
    h('canvas', { class: 'cov-canvas', 'aria-hidden': 'true' })
  );
  const spacer = h('div', { class: 'cov-spacer' }, canvas);
  const scroller = h('div', { class: 'cov-scroller', tabindex: '0', role: 'application' }, spacer);
  const overview = createOverview({ goToDay });
  const element = h('div', { class: 'cov-map' }, overview.element, scroller);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
  const paintCells = createCellPainter();

  /** @type {Layout | undefined} */
  let layout;
  /** @type {import('./palette.js').Palette | undefined} */
  let palette;
  /** @type {{ grid: unknown, namesWidth: number, names: string[] } | undefined} */
  let measured;
  let frame = 0;
  let isDrawn = false;

  const draw = () => {
    frame = 0;
    const now = shown();
    if (now === undefined || layout === undefined || scroller.clientWidth === 0) return;
    if (layout.ratio !== devicePixelRatio) lay();
    palette ??= readPalette(element);
    const scrollX = Math.round(scroller.scrollLeft * layout.ratio);
    const scrollY = Math.round(scroller.scrollTop * layout.ratio);
    const sight = { ...now, layout, palette, scrollX, scrollY };
    const { current, hovered } = places();
    const marked = hovered ?? (document.activeElement === scroller ? current : null);
    paintCells(context, sight);
    if (hovered !== null) paintRing(context, sight, hovered, false);
    if (current !== null) paintRing(context, sight, current, true);
    paintNames(context, sight, measured?.names ?? [], marked);
    paintDates(context, sight, marked);
    overview.draw(sight, inSight(sight));
    if (!isDrawn) performance.mark('coverage:drawn');
    isDrawn = true;
  };
  const redraw = () => {
    if (frame === 0) frame = requestAnimationFrame(draw);
  };

  /** Sizes of everything, after anything that they come from has changed. */
  const lay = () => {
    const now = shown();
    const width = scroller.clientWidth;
    if (now === undefined || width === 0) return;
    const { grid, rows, settings } = now;
    // Of the largest that the box may become, not of what it is: that follows from the rows.
    const height = Number.parseFloat(getComputedStyle(scroller).maxHeight) || innerHeight;
    if (measured?.grid !== grid) {
      const mostPx = Math.max(NARROWEST_NAMES_PX, Math.min(WIDEST_NAMES_PX, width * 0.3));
      measured = { grid, ...measureNames(context, grid.vessels, mostPx) };
    }
    const sizes = { width, height, ratio: devicePixelRatio, namesWidth: measured.namesWidth };
    const all = layoutOf({
      ...sizes,
      rowCount: rows.length,
      dayCount: grid.dayCount,
      zoom: settings.zoom,
    });
    const size = sizeOf(all);
    spacer.style.setProperty('width', `${size.width}px`);
    spacer.style.setProperty('height', `${size.height}px`);
    const viewHeight = Math.max(0, Math.round(scroller.clientHeight * all.ratio) - all.top);
    layout = { ...all, viewHeight };
    canvas.width = all.left + all.viewWidth;
    canvas.height = all.top + viewHeight;
    canvas.style.setProperty('width', `${canvas.width / all.ratio}px`);
    canvas.style.setProperty('height', `${canvas.height / all.ratio}px`);
    // Setting its size has emptied it.
    cancelAnimationFrame(frame);
    draw();
  };

  return {
    element,
    scroller,
    lay,
    redraw,
    /** @returns {Layout | undefined} */
    layout: () => layout,
    /** Colours may have changed. */
    recolour() {
      palette = readPalette(element);
      offerSigns(/** @type {HTMLElement} */ (element.parentElement), palette);
      redraw();
    },
  };
}
