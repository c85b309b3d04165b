// @ts-check
/** The series of a day, to be looked for and picked. */
import { fill, h } from '../parts/dom.js';
import { counted, plural, shown, shownName, withoutVessel } from './texts.js';

/**
 * @typedef {import('../../answers.ts').DaySeries} DaySeries
 * @typedef {{ element: HTMLElement, mark(ids: readonly string[]): void }} SeriesList
 */

/** More are not drawn: who looks for one types a part of its name. */
const MAX_SHOWN = 300;
const ORDERS = /** @type {const} */ ({
  rows: ['most readings', (/** @type {DaySeries} */ a, /** @type {DaySeries} */ b) => b.rows - a.rows],
  name: ['name', byName],
  unit: [
    'unit',
    (/** @type {DaySeries} */ a, /** @type {DaySeries} */ b) =>
      (a.unit ?? '\uffff').localeCompare(b.unit ?? '\uffff') || byName(a, b),
  ],
});

/** @param {DaySeries} a @param {DaySeries} b */
function byName(a, b) {
  return (a.name ?? a.id).localeCompare(b.name ?? b.id, 'en', { numeric: true });
}

/**
 * @param {readonly DaySeries[]} series
 * @param {string} vessel whose they are: it is not said again with each
 * @param {(id: string) => void} onPick of one that is shown, or is not
 * @returns {SeriesList}
 */
export function createSeriesList(series, vessel, onPick) {
  /** @type {readonly string[]} */
  let chosen = [];
  const search = /** @type {HTMLInputElement} */ (
    h('input', {
      type: 'search',
      placeholder: 'name, unit or id',
      'aria-label': 'Look for a series',
      oninput: () => draw(),
    })
  );
  const order = /** @type {HTMLSelectElement} */ (
    h(
      'select',
      { 'aria-label': 'Order of the series', onchange: () => draw() },
      ...Object.entries(ORDERS).map(([name, [word]]) => h('option', { value: name }, `by ${word}`)),
    )
  );
  const list = h('ul', { class: 'series-list', 'aria-label': 'Series of this day' });
  const count = h('p', { class: 'hint', role: 'status' });

  /** Those that are shown are at the top. @param {DaySeries} one */
  const placeOf = ({ id }) => (chosen.includes(id) ? chosen.indexOf(id) : chosen.length);

  function draw() {
    const text = search.value.trim().toLowerCase();
    const compare = ORDERS[/** @type {keyof typeof ORDERS} */ (order.value)]?.[1] ?? byName;
    const found = series
      .filter(({ id, name, unit }) => [id, name, unit].some((part) => part?.toLowerCase().includes(text)))
      .sort((a, b) => placeOf(a) - placeOf(b) || compare(a, b));
    const focused = document.activeElement?.getAttribute('data-series');
    fill(list, ...found.slice(0, MAX_SHOWN).map(item));
    const more = found.length > MAX_SHOWN ? `; the first ${MAX_SHOWN} are shown` : '';
    fill(
      count,
      `${plural(found.length, 'series', 'series')}${text === '' ? '' : ` of ${counted(series.length)}`}${more}`,
    );
    if (focused != null) {
      const again = [...list.querySelectorAll('button')].find((button) => button.dataset.series === focused);
      again?.focus();
    }
  }

  /** @param {DaySeries} one */
  function item({ id, name, unit, rows }) {
    const place = chosen.indexOf(id);
    return h(
      'li',
      {},
      h(
        'button',
        {
          type: 'button',
          class: place < 0 ? 'series' : `series chosen curve-${place + 1}`,
          'aria-pressed': String(place >= 0),
          'data-series': id,
          disabled: rows === 0,
          title: shown(id, 200),
          onclick: () => onPick(id),
        },
        h('span', { class: 'series-name' }, shownName(name === null ? id : withoutVessel(name, vessel))),
        h('span', { class: 'series-unit' }, unit === null ? '' : shown(unit, 20)),
        h('span', { class: 'series-rows' }, rows === 0 ? 'none' : counted(rows)),
      ),
    );
  }

  draw();
  return {
    element: h(
      'div',
      { class: 'series-box' },
      h('div', { class: 'series-tools' }, search, order),
      count,
      list,
    ),
    mark(ids) {
      chosen = ids;
      draw();
    },
  };
}
