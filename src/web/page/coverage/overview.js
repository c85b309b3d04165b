// @ts-check
/**
 * All vessels shown, added up by day: a strip above the map that says in which nights something went wrong, and where
 * the map's window stands. Where days share a column of pixels each state gets its share of the height; what is
 * trouble gets at least one pixel and no more than its share beyond it.
 * @typedef {import('./paint-cells.js').Sight} Sight
 */
import { h } from '../parts/dom.js';
import { KINDS, kindsOf, TROUBLE_STATES } from './grid.js';
import { xOf } from './layout.js';
import { countsByDay } from './rows.js';

const HEIGHT_PX = 40;

/** @param {{ goToDay: (day: number) => void }} on */
export function createOverview({ goToDay }) {
  const canvas = /** @type {HTMLCanvasElement} */ (
    h('canvas', { class: 'cov-overview', 'aria-hidden': 'true' })
  );
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
  /** @type {{ rows: Int32Array, grid: unknown, counts: Uint32Array } | undefined} */
  let summed;
  /** @type {{ key: string, palette: unknown, counts: unknown, picture: ImageData } | undefined} */
  let kept;
  /** @type {Sight | undefined} */
  let last;

  /** @param {PointerEvent} event */
  const point = (event) => {
    if (last === undefined || event.buttons !== 1) return;
    const { ratio, left, dayCount } = last.layout;
    const share = (event.offsetX * ratio - left) / widthOf(last.layout);
    if (share >= 0) goToDay(Math.min(dayCount - 1, Math.floor(share * dayCount)));
  };
  canvas.addEventListener('pointerdown', point);
  canvas.addEventListener('pointermove', point);

  return {
    element: canvas,
    /** @param {Sight} sight @param {{ fromDay: number, toDay: number }} window */
    draw(sight, window) {
      last = sight;
      const { layout, palette } = sight;
      const width = layout.left + layout.viewWidth;
      const height = Math.round(HEIGHT_PX * layout.ratio);
      if (canvas.width !== width || canvas.height !== height) {
        canvas.width = width;
        canvas.height = height;
        canvas.style.setProperty('width', `${width / layout.ratio}px`);
        canvas.style.setProperty('height', `${height / layout.ratio}px`);
      }
      if (summed === undefined || summed.rows !== sight.rows || summed.grid !== sight.grid)
        summed = { rows: sight.rows, grid: sight.grid, counts: countsByDay(sight.grid, sight.rows) };
      const key = `${widthOf(layout)} ${height} ${sight.isDimmed}`;
      if (
        kept === undefined ||
        kept.key !== key ||
        kept.palette !== palette ||
        kept.counts !== summed.counts
      ) {
        const picture = pictureOf(sight, summed.counts, height);
        kept = { key, palette, counts: summed.counts, picture };
      }
      context.fillStyle = palette.css.ground;
      context.fillRect(0, 0, width, height);
      if (layout.viewWidth > 0) context.putImageData(kept.picture, layout.left, 0);
      context.fillStyle = palette.css.muted;
      context.font = `${11 * layout.ratio}px system-ui, "DejaVu Sans", sans-serif`;
      context.textBaseline = 'middle';
      context.fillText('by day', 10 * layout.ratio, height / 2, layout.left - 14 * layout.ratio);
      frameWindow(context, sight, window, height);
    },
  };
}

/** As wide as the cells below it, where they all fit. @param {import('./layout.js').Layout} layout */
function widthOf(layout) {
  return Math.max(1, Math.min(layout.viewWidth, xOf(layout, layout.dayCount)));
}

/** @param {CanvasRenderingContext2D} context @param {Sight} sight @param {{ fromDay: number, toDay: number }} window @param {number} height */
function frameWindow(context, { layout, palette }, { fromDay, toDay }, height) {
  if (toDay - fromDay >= layout.dayCount) return;
  const { ratio, left, dayCount } = layout;
  const viewWidth = widthOf(layout);
  const from = left + (fromDay / dayCount) * viewWidth;
  const width = Math.max(4 * ratio, ((toDay - fromDay) / dayCount) * viewWidth);
  context.strokeStyle = palette.css.ring;
  context.lineWidth = 2 * ratio;
  context.strokeRect(from + ratio, ratio, width - 2 * ratio, height - 2 * ratio);
}

/** @param {Sight} sight @param {Uint32Array} counts @param {number} height */
function pictureOf({ layout, palette, isDimmed }, counts, height) {
  const width = widthOf(layout);
  const picture = new ImageData(width, height);
  const pixels = new Uint32Array(picture.data.buffer);
  const troubled = kindsOf(TROUBLE_STATES);
  for (let x = 0; x < width; x++) {
    const from = Math.floor((x / width) * layout.dayCount);
    const to = Math.max(from + 1, Math.floor(((x + 1) / width) * layout.dayCount));
    const sums = KINDS.map((_, kind) => {
      let sum = 0;
      for (let day = from; day < to; day++) sum += counts[day * KINDS.length + kind] ?? 0;
      return sum;
    });
    let y = height;
    for (const [kind, share] of sharesOf(sums, troubled, height).entries()) {
      const colour = (isDimmed[kind] === 1 ? palette.dimmed[kind] : palette.cells[kind]) ?? 0;
      for (let line = 0; line < share; line++) pixels[--y * width + x] = colour;
    }
  }
  return picture;
}

/**
 * Pixels for each kind, together as many as there are. The first kinds are the worst.
 * @param {readonly number[]} sums @param {Uint8Array} troubled @param {number} height
 */
function sharesOf(sums, troubled, height) {
  const all = sums.reduce((a, b) => a + b, 0);
  if (all === 0) return [];
  let left = height;
  const shares = sums.map((sum, kind) => {
    const exact = Math.floor((sum / all) * height);
    const share = Math.min(left, troubled[kind] === 1 && sum > 0 ? Math.max(1, exact) : exact);
    left -= share;
    return share;
  });
  // What rounding left over goes to what there is most of, so that it enlarges nothing in sight.
  const most = sums.indexOf(Math.max(...sums));
  shares[most] = (shares[most] ?? 0) + left;
  return shares;
}
