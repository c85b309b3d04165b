// @ts-check
/** The same without a map: each vessel, and how many of its days are in which state. A page at a time, however many. */
import { fill, h } from '../parts/dom.js';
import { counted, dayAddress, plural, shownName } from '../parts/texts.js';
import { dateText } from './dates.js';
import { KINDS } from './grid.js';

const AT_ONCE = 100;

export function createVesselTable() {
  const element = h('div', { class: 'cov-table' });
  return {
    element,
    /** @param {import('./grid.js').Grid} grid @param {Int32Array} rows */
    show(grid, rows) {
      const kinds = [...KINDS.entries()].filter(([kind]) =>
        rows.some((row) => (grid.counts[row * KINDS.length + kind] ?? 0) > 0),
      );
      const body = h('tbody', {});
      const more = h('p', {});
      let count = 0;
      const next = () => {
        const part = rows.slice(count, count + AT_ONCE);
        count += part.length;
        body.append(...Array.from(part, (row) => vesselRow(grid, row, kinds)));
        const rest = rows.length - count;
        fill(
          more,
          rest > 0 &&
            h('button', { type: 'button', onclick: next }, `${counted(Math.min(rest, AT_ONCE))} more`),
          rest > 0 && h('span', { class: 'cov-muted' }, ` ${plural(rest, 'vessel')} not listed yet`),
        );
      };
      next();
      const { answer } = grid;
      const head = ['Vessel', ...kinds.map(([, { word }]) => word), 'Oldest gap'];
      fill(
        element,
        h(
          'table',
          {},
          h('caption', {}, `Days of each vessel by state, ${answer.from} to before ${answer.to}`),
          h('thead', {}, h('tr', {}, ...head.map((word) => h('th', { scope: 'col' }, word)))),
          body,
        ),
        more,
      );
    },
  };
}

/** @param {import('./grid.js').Grid} grid @param {number} row @param {[number, unknown][]} kinds */
function vesselRow(grid, row, kinds) {
  const vessel = grid.vessels[row] ?? '';
  const gap = grid.answer.firstGaps[row] ?? null;
  const date = dateText(grid.fromDay + (gap ?? 0));
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('bdi', {}, shownName(vessel))),
    ...kinds.map(([kind]) => {
      const count = grid.counts[row * KINDS.length + kind] ?? 0;
      return h('td', { class: count === 0 ? 'cov-muted' : undefined }, counted(count));
    }),
    h('td', {}, gap === null ? 'none' : h('a', { href: dayAddress(grid.answer.job, vessel, date) }, date)),
  );
}
