// @ts-check
/**
 * Where each cell lies. Everything is counted in pixels of the screen (`ratio` of them are one of CSS), so that every
 * cell has sharp edges and its own pixels: a day is never narrower than one, so no two days share any.
 * @typedef {object} Layout
 * @property {number} ratio
 * @property {number} left width of the names
 * @property {number} top height of the dates
 * @property {number} viewWidth of the cells' window
 * @property {number} viewHeight
 * @property {number} dayWidth may be a fraction where a year is fitted
 * @property {number} rowHeight whole
 * @property {number} gap between cells, where there is room for one
 * @property {number} rowGap
 * @property {boolean} hasSigns
 * @property {number} rowCount
 * @property {number} dayCount
 */
import { LARGEST_DAY_PX, SMALLEST_DAY_PX } from './settings.js';

export const AXIS_PX = 38;
const MONTH_PX = 14;
const DAYS_PX = 34;
const SIGN_DAY_PX = 13;
const WIDEST_FIT_PX = 26;
const STEPS_PX = [1, 2, 3, 4, 6, 9, MONTH_PX, 20, 26, DAYS_PX, LARGEST_DAY_PX];

/**
 * @param {object} of
 * @param {number} of.width CSS pixels inside the scroll bars
 * @param {number} of.height
 * @param {number} of.namesWidth CSS pixels
 * @param {number} of.ratio
 * @param {number} of.rowCount
 * @param {number} of.dayCount
 * @param {import('./settings.js').Settings['zoom']} of.zoom
 * @returns {Layout}
 */
export function layoutOf({ width, height, namesWidth, ratio, rowCount, dayCount, zoom }) {
  const fitted = Math.max(SMALLEST_DAY_PX, (width - namesWidth) / Math.max(1, dayCount));
  const dayPx =
    zoom === 'year'
      ? Math.min(WIDEST_FIT_PX, fitted)
      : zoom === 'month'
        ? MONTH_PX
        : zoom === 'days'
          ? DAYS_PX
          : zoom;
  const left = Math.round(namesWidth * ratio);
  const top = Math.round(AXIS_PX * ratio);
  // Below four pixels a whole number would leave a third of the width unused, or not fit.
  const dayWidth = dayPx < 4 ? Math.max(1, dayPx * ratio) : Math.max(1, Math.floor(dayPx * ratio));
  const rowHeight = Math.max(1, Math.round(rowPx(dayPx, (height - AXIS_PX) / Math.max(1, rowCount)) * ratio));
  return {
    ratio,
    left,
    top,
    viewWidth: Math.max(0, Math.round(width * ratio) - left),
    viewHeight: Math.max(0, Math.round(height * ratio) - top),
    dayWidth,
    rowHeight,
    gap: dayPx >= 6 ? Math.max(1, Math.round(ratio)) : 0,
    rowGap: rowHeight >= 6 * ratio ? Math.max(1, Math.round(ratio)) : 0,
    hasSigns: dayPx >= SIGN_DAY_PX,
    rowCount,
    dayCount,
  };
}

/** @param {number} dayPx @param {number} fittedPx @returns {number} CSS pixels of a row */
function rowPx(dayPx, fittedPx) {
  const fitted = Math.min(16, Math.max(4, Math.floor(fittedPx)));
  if (dayPx >= 26) return 26;
  if (dayPx >= SIGN_DAY_PX) return 18;
  return dayPx >= 6 ? Math.max(14, fitted) : fitted;
}

/** @param {Layout} layout @param {number} day index @returns {number} from the left of the first day */
export function xOf(layout, day) {
  return Math.round(day * layout.dayWidth);
}

/** @param {Layout} layout @param {number} x @returns {number} index of the day there, perhaps none that exists */
export function dayAt(layout, x) {
  const guess = Math.floor(x / layout.dayWidth);
  // Edges are rounded, so the guess may be one off.
  if (x < xOf(layout, guess)) return guess - 1;
  return x >= xOf(layout, guess + 1) ? guess + 1 : guess;
}

/** @param {Layout} layout @param {number} y @returns {number} position of the row there */
export function rowAt(layout, y) {
  return Math.floor(y / layout.rowHeight);
}

/** @param {Layout} layout Of all that can be scrolled to, in CSS pixels. */
export function sizeOf(layout) {
  return {
    width: (layout.left + xOf(layout, layout.dayCount)) / layout.ratio,
    height: (layout.top + layout.rowCount * layout.rowHeight) / layout.ratio,
  };
}

/**
 * The next larger or smaller width of a day, in CSS pixels.
 * @param {Layout} layout @param {1 | -1} direction @returns {number}
 */
export function zoomStep(layout, direction) {
  const now = layout.dayWidth / layout.ratio;
  if (direction === 1) return STEPS_PX.find((step) => step > now + 0.5) ?? LARGEST_DAY_PX;
  return STEPS_PX.findLast((step) => step < now - 0.5) ?? SMALLEST_DAY_PX;
}
