// @ts-check
/**
 * Paints the cells in sight, each in its own pixels and in no other. Small ones are written into one picture, line by
 * line, and put there at once; large ones, with their signs, are
 * stamped a run of days at a time.
 * @typedef {import('./layout.js').Layout} Layout
 * @typedef {object} Sight
 * @property {import('./grid.js').Grid} grid
 * @property {Int32Array} rows of the grid, in the order shown
 * @property {Uint8Array} isDimmed by kind
 * @property {Layout} layout
 * @property {import('./palette.js').Palette} palette
 * @property {number} scrollX in pixels of the screen
 * @property {number} scrollY
 */
import { KINDS } from './grid.js';
import { dayAt, rowAt, xOf } from './layout.js';

/** @param {Sight} sight Indexes in sight, half-open. */
export function inSight({ layout, scrollX, scrollY }) {
  return {
    fromDay: Math.max(0, dayAt(layout, scrollX)),
    toDay: Math.min(layout.dayCount, dayAt(layout, scrollX + layout.viewWidth - 1) + 1),
    fromRow: Math.max(0, rowAt(layout, scrollY)),
    toRow: Math.min(layout.rowCount, rowAt(layout, scrollY + layout.viewHeight - 1) + 1),
  };
}

/** @returns {(context: CanvasRenderingContext2D, sight: Sight) => void} It keeps its buffers from frame to frame. */
export function createCellPainter() {
  /** @type {ImageData | undefined} */
  let picture;
  /** @type {{ key: readonly unknown[], strips: HTMLCanvasElement } | undefined} */
  let kept;
  return (context, sight) => {
    const { layout, palette, isDimmed } = sight;
    if (layout.viewWidth === 0 || layout.viewHeight === 0) return;
    if (layout.hasSigns) {
      const key = [layout, palette, isDimmed];
      if (kept === undefined || key.some((part, i) => part !== kept?.key[i]))
        kept = { key, strips: drawStrips(sight) };
      paintStrips(context, sight, kept.strips);
      return;
    }
    if (picture?.width !== layout.viewWidth || picture.height !== layout.viewHeight)
      picture = new ImageData(layout.viewWidth, layout.viewHeight);
    fillPicture(new Uint32Array(picture.data.buffer), sight);
    context.putImageData(picture, layout.left, layout.top);
  };
}

/** @param {Uint32Array} pixels @param {Sight} sight */
function fillPicture(pixels, sight) {
  const { grid, rows, isDimmed, layout, palette, scrollX, scrollY } = sight;
  const { viewWidth, viewHeight, rowHeight, rowGap, gap } = layout;
  const { fromDay, toDay, fromRow, toRow } = inSight(sight);
  const colours = palette.cells.map((colour, kind) =>
    isDimmed[kind] === 1 ? (palette.dimmed[kind] ?? 0) : colour,
  );
  const edges = Int32Array.from(
    { length: toDay - fromDay + 1 },
    (_, i) => xOf(layout, fromDay + i) - scrollX,
  );
  const line = new Uint32Array(viewWidth);
  pixels.fill(palette.ground);
  for (let position = fromRow; position < toRow; position++) {
    const cell = /** @type {number} */ (rows[position]) * grid.dayCount;
    line.fill(palette.ground);
    for (let day = fromDay; day < toDay; day++) {
      const x = /** @type {number} */ (edges[day - fromDay]);
      const end = /** @type {number} */ (edges[day - fromDay + 1]) - gap;
      const colour = colours[/** @type {number} */ (grid.cells[cell + day])] ?? 0;
      // A fill costs more than the two or three pixels of a small day.
      for (let at = x < 0 ? 0 : x; at < end && at < viewWidth; at++) line[at] = colour;
    }
    const y = position * rowHeight - scrollY;
    const endY = Math.min(viewHeight, y + rowHeight - rowGap);
    for (let at = Math.max(0, y); at < endY; at++) pixels.set(line, at * viewWidth);
  }
}

/**
 * A line of equal cells for each kind, as wide as the window: a run of days in one state is then one stamp.
 * @param {Sight} sight
 */
function drawStrips({ layout, palette, isDimmed }) {
  const { dayWidth, rowHeight, gap, rowGap, viewWidth } = layout;
  const canvas = document.createElement('canvas');
  canvas.width = viewWidth + 2 * dayWidth;
  canvas.height = rowHeight * KINDS.length;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const size = Math.min(dayWidth, rowHeight) * 0.72;
  context.font = `600 ${size}px system-ui, "DejaVu Sans", sans-serif`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (const [kind, { sign }] of KINDS.entries()) {
    const isFaint = isDimmed[kind] === 1;
    const colour = (isFaint ? palette.dimmed[kind] : palette.cells[kind]) ?? 0;
    const [red, green, blue] = new Uint8Array(Uint32Array.of(colour).buffer);
    const y = kind * rowHeight;
    for (let x = 0; x < canvas.width; x += dayWidth) {
      context.fillStyle = `rgb(${red} ${green} ${blue})`;
      context.fillRect(x, y, dayWidth - gap, rowHeight - rowGap);
      context.fillStyle = isFaint ? palette.css.line : (palette.signs[kind] ?? '#000');
      context.fillText(sign, x + (dayWidth - gap) / 2, y + (rowHeight - rowGap) / 2 + size * 0.06);
    }
  }
  return canvas;
}

/** @param {CanvasRenderingContext2D} context @param {Sight} sight @param {HTMLCanvasElement} strips */
function paintStrips(context, sight, strips) {
  const { grid, rows, layout, palette, scrollX, scrollY } = sight;
  const { fromDay, toDay, fromRow, toRow } = inSight(sight);
  const height = layout.rowHeight - layout.rowGap;
  context.fillStyle = palette.css.ground;
  context.fillRect(layout.left, layout.top, layout.viewWidth, layout.viewHeight);
  for (let position = fromRow; position < toRow; position++) {
    const cell = /** @type {number} */ (rows[position]) * grid.dayCount;
    const y = layout.top + position * layout.rowHeight - scrollY;
    for (let day = fromDay, end = day; day < toDay; day = end) {
      const kind = /** @type {number} */ (grid.cells[cell + day]);
      while (end < toDay && grid.cells[cell + end] === kind) end++;
      const width = (end - day) * layout.dayWidth - layout.gap;
      const x = layout.left + xOf(layout, day) - scrollX;
      context.drawImage(strips, 0, kind * layout.rowHeight, width, height, x, y, width, height);
    }
  }
}
