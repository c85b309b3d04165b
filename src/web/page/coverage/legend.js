// @ts-check
/** Totals by state: what the colours mean, how many there are, and a filter each. */
import { fill, h } from '../parts/dom.js';
import { counted } from '../parts/texts.js';
import { KINDS } from './grid.js';
import { swatch } from './texts.js';

/** @param {{ choose: (states: readonly string[]) => void }} on */
export function createLegend(on) {
  const element = h('div', {
    class: 'cov-legend',
    role: 'group',
    'aria-label': 'States: choose those to look at',
  });
  return {
    element,
    /** @param {import('./grid.js').Grid} grid @param {readonly string[]} chosen */
    show(grid, chosen) {
      const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.state;
      const { totals } = grid.answer;
      const buttons = KINDS.flatMap((kind) => {
        const total = totals[kind.state] ?? 0;
        const isChosen = chosen.includes(kind.state);
        if (kind.letter === '') return [];
        const toggle = () =>
          on.choose(isChosen ? chosen.filter((state) => state !== kind.state) : [...chosen, kind.state]);
        return [
          h(
            'button',
            {
              type: 'button',
              class: `cov-state${total === 0 && !isChosen ? ' cov-none' : ''}`,
              'aria-pressed': String(isChosen),
              'data-state': kind.state,
              title: kind.meaning,
              onclick: toggle,
            },
            swatch(kind),
            h('span', {}, kind.word),
            h('span', { class: 'cov-count' }, counted(total)),
          ),
        ];
      });
      const all = h(
        'button',
        {
          type: 'button',
          class: 'cov-plain',
          'data-state': 'all',
          onclick: () => on.choose([]),
          hidden: chosen.length === 0,
        },
        'all states',
      );
      fill(element, ...buttons, all);
      if (focused !== undefined)
        [...buttons, all].find((button) => button.dataset.state === focused)?.focus();
    },
  };
}
