// @ts-check
/**
 * Paints what stands around the cells: names, dates, and the rings of the chosen cell and of the one pointed at.
 * @typedef {import('./paint-cells.js').Sight} Sight
 * @typedef {{ position: number, day: number }} Place a row as shown, and an index of a day
 */

import { shown } from '../parts/texts.js';
import { dayOfMonth, monthText, nextMonth, WEEKDAYS, weekday } from './dates.js';
import { xOf } from './layout.js';
import { inSight } from './paint-cells.js';

const NAME_FONT = '12px system-ui, "DejaVu Sans", sans-serif';
const SMALL_FONT = '10.5px system-ui, "DejaVu Sans", sans-serif';
const NAME_LINE_PX = 15;
const NAME_PADDING_PX = 10;
const MAX_NAME_CHARS = 40;

/**
 * Width of the names' column in CSS pixels, and names cut so that they fit it.
 * @param {CanvasRenderingContext2D} context @param {readonly string[]} vessels @param {number} mostPx
 */
export function measureNames(context, vessels, mostPx) {
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.font = NAME_FONT;
  const names = vessels.map((vessel) => shown(vessel, MAX_NAME_CHARS));
  const widths = names.map((name) => context.measureText(name).width);
  const widest = widths.reduce((most, width) => Math.max(most, width), 56);
  const room = Math.min(mostPx - 2 * NAME_PADDING_PX, widest);
  const cut = names.map((name, i) => {
    if ((widths[i] ?? 0) <= room) return name;
    const chars = [...name];
    while (chars.length > 1 && context.measureText(`${chars.join('')}…`).width > room) chars.pop();
    return `${chars.join('')}…`;
  });
  context.restore();
  // A marked name is bold, and wider.
  return { namesWidth: Math.ceil(room * 1.06) + 2 * NAME_PADDING_PX, names: cut };
}

/**
 * @param {CanvasRenderingContext2D} context @param {Sight} sight @param {readonly string[]} names by row of the grid
 * @param {Place | null} marked the row whose name is said in any case
 */
export function paintNames(context, sight, names, marked) {
  const { rows, layout, palette, scrollY } = sight;
  const { css } = palette;
  const height = layout.top + layout.viewHeight;
  context.fillStyle = css.ground;
  context.fillRect(0, layout.top, layout.left, layout.viewHeight);
  context.save();
  context.beginPath();
  context.rect(0, layout.top, layout.left, layout.viewHeight);
  context.clip();
  context.textBaseline = 'middle';
  context.font = scaled(NAME_FONT, layout.ratio);
  const { fromRow, toRow } = inSight(sight);
  const every = Math.max(1, Math.ceil((NAME_LINE_PX * layout.ratio) / layout.rowHeight));
  /** @param {number} position */
  const middle = (position) => layout.top + (position + 0.5) * layout.rowHeight - scrollY;
  const padding = NAME_PADDING_PX * layout.ratio;
  const first = fromRow - (fromRow % every) + (every >> 1);
  for (let position = first; position < toRow + every; position += every) {
    context.fillStyle = every > 1 ? css.muted : css.text;
    context.fillText(names[rows[position] ?? -1] ?? '', padding, middle(position));
    if (every > 1) {
      // Names stand closer than rows: a tick says whose it is.
      context.fillStyle = css.line;
      context.fillRect(
        layout.left - 5 * layout.ratio,
        Math.round(middle(position)),
        4 * layout.ratio,
        layout.ratio,
      );
    }
  }
  if (marked !== null) {
    const half = Math.max((NAME_LINE_PX / 2) * layout.ratio, layout.rowHeight / 2);
    const y = Math.min(height - half, Math.max(layout.top + half, middle(marked.position)));
    context.fillStyle = css.band;
    context.fillRect(0, y - half, layout.left, half * 2);
    context.fillStyle = css.text;
    context.font = scaled(`600 ${NAME_FONT}`, layout.ratio);
    context.fillText(names[rows[marked.position] ?? -1] ?? '', padding, y);
  }
  context.restore();
}

/**
 * Months above; below them days, or Mondays, or nothing, by what there is room for.
 * @param {CanvasRenderingContext2D} context @param {Sight} sight @param {Place | null} marked
 */
export function paintDates(context, sight, marked) {
  const { grid, layout, palette, scrollX } = sight;
  const { css } = palette;
  const { ratio, left, top } = layout;
  context.fillStyle = css.ground;
  context.fillRect(0, 0, left + layout.viewWidth, top);
  context.save();
  context.beginPath();
  context.rect(left, 0, layout.viewWidth, top);
  context.clip();
  const { fromDay, toDay } = inSight(sight);
  /** @param {number} index */
  const x = (index) => left + xOf(layout, index) - scrollX;
  context.textBaseline = 'middle';
  paintMonths(context, sight, x, { fromDay, toDay });
  const dayPx = layout.dayWidth / ratio;
  context.font = scaled(SMALL_FONT, ratio);
  context.textAlign = 'center';
  context.fillStyle = css.muted;
  for (let index = fromDay; index < toDay && dayPx >= 4; index++) {
    const day = grid.fromDay + index;
    if (dayPx < 18 && weekday(day) !== 0) continue;
    const text =
      dayPx >= 34 ? `${(WEEKDAYS[weekday(day)] ?? '').slice(0, 2)} ${dayOfMonth(day)}` : dayOfMonth(day);
    context.fillText(String(text), x(index) + (layout.dayWidth - layout.gap) / 2, 28 * ratio);
  }
  if (marked !== null) {
    const text = `${(WEEKDAYS[weekday(grid.fromDay + marked.day)] ?? '').slice(0, 2)} ${dayOfMonth(grid.fromDay + marked.day)}`;
    context.font = scaled(`600 ${SMALL_FONT}`, ratio);
    const width = Math.max(layout.dayWidth, context.measureText(text).width + 8 * ratio);
    const middle = Math.min(
      left + layout.viewWidth - width / 2,
      Math.max(left + width / 2, x(marked.day) + (layout.dayWidth - layout.gap) / 2),
    );
    context.fillStyle = css.band;
    context.fillRect(middle - width / 2, 20 * ratio, width, top - 20 * ratio);
    context.fillStyle = css.text;
    context.fillText(text, middle, 28 * ratio);
  }
  context.restore();
  context.fillStyle = css.line;
  context.fillRect(
    0,
    top - Math.max(1, Math.round(ratio)),
    left + layout.viewWidth,
    Math.max(1, Math.round(ratio)),
  );
}

/**
 * @param {CanvasRenderingContext2D} context @param {Sight} sight @param {(index: number) => number} x
 * @param {{ fromDay: number, toDay: number }} range
 */
function paintMonths(context, { grid, layout, palette }, x, { fromDay, toDay }) {
  const { ratio, left, top, viewWidth } = layout;
  context.font = scaled(NAME_FONT, ratio);
  context.textAlign = 'left';
  for (let day = grid.fromDay + fromDay; day < grid.fromDay + toDay; day = nextMonth(day)) {
    const from = x(day - grid.fromDay);
    const isLast = nextMonth(day) >= grid.fromDay + grid.dayCount;
    const next = isLast ? left + viewWidth : x(nextMonth(day) - grid.fromDay);
    if (dayOfMonth(day) === 1) {
      context.fillStyle = palette.css.line;
      context.fillRect(from, 4 * ratio, Math.max(1, Math.round(ratio)), top);
    }
    const text = monthText(day);
    const at = Math.max(from, left) + 5 * ratio;
    context.fillStyle = palette.css.text;
    for (const said of [text, text.slice(0, 3)])
      if (at + context.measureText(said).width <= next - 2 * ratio) {
        context.fillText(said, at, 12 * ratio);
        break;
      }
  }
}

/** @param {CanvasRenderingContext2D} context @param {Sight} sight @param {Place} place @param {boolean} isStrong */
export function paintRing(context, sight, place, isStrong) {
  const { layout, palette, scrollX, scrollY } = sight;
  const { ratio } = layout;
  const x = layout.left + xOf(layout, place.day) - scrollX;
  const y = layout.top + place.position * layout.rowHeight - scrollY;
  const width = xOf(layout, place.day + 1) - xOf(layout, place.day) - layout.gap;
  const height = layout.rowHeight - layout.rowGap;
  context.save();
  context.beginPath();
  context.rect(layout.left, layout.top, layout.viewWidth, layout.viewHeight);
  context.clip();
  // Around the cell, never over it: its colour is what it says. Two colours, so that it is seen on any ground.
  /** @type {readonly (readonly [colour: string, awayPx: number, thickPx: number])[]} */
  const rings = isStrong
    ? [
        [palette.css.ground, 1, 2],
        [palette.css.ring, 3, 2],
      ]
    : [[palette.css.text, 0.5, 1]];
  for (const [colour, awayPx, thickPx] of rings) {
    const away = awayPx * ratio;
    context.strokeStyle = colour;
    context.lineWidth = thickPx * ratio;
    context.strokeRect(x - away, y - away, width + 2 * away, height + 2 * away);
  }
  context.restore();
}

/** @param {string} font @param {number} ratio */
function scaled(font, ratio) {
  return font.replace(/([\d.]+)px/, (_, px) => `${Number(px) * ratio}px`);
}
