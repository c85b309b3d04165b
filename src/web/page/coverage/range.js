// @ts-check
/** Which days are shown: two dates, spans that are often asked for, and the ones before and after. */
import { fill, h } from '../parts/dom.js';
import { dateText, dayNumber } from './dates.js';

/** The button that was pressed: other days are another address and so another view, which gives it the focus again. */
let pressed = '';

/** @param {(from: string | null, to: string | null) => void} go to other days; null: those that the server chooses */
export function createRange(go) {
  const from = /** @type {HTMLInputElement} */ (h('input', { type: 'date', 'data-range': 'from' }));
  const to = /** @type {HTMLInputElement} */ (h('input', { type: 'date', 'data-range': 'to' }));
  const fault = h('span', { class: 'fault', role: 'alert' });
  const spans = h('span', { class: 'cov-spans', role: 'group', 'aria-label': 'Days' });
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    fault.textContent = faultOf(from.value, to.value);
    if (fault.textContent === '') go(from.value, to.value);
  };
  const element = h(
    'form',
    { class: 'cov-line', onsubmit: submit, novalidate: true },
    h('label', { class: 'cov-field' }, 'From', from),
    h('label', { class: 'cov-field' }, 'to before', to),
    h('button', { type: 'submit', 'data-range': 'show' }, 'Show'),
    spans,
    fault,
  );
  return {
    element,
    keepFocus() {
      pressed = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.range ?? '';
    },
    restoreFocus() {
      const button = element.querySelector(`[data-range="${pressed}"]`);
      if (pressed !== '') /** @type {HTMLElement | null} */ (button)?.focus();
      pressed = '';
    },
    /**
     * @param {import('./settings.js').Settings} settings @param {import('./grid.js').CoverageAnswer} answer
     * @param {number} today a day's number
     */
    show(settings, answer, today) {
      if (document.activeElement !== from) from.value = answer.from;
      if (document.activeElement !== to) to.value = answer.to;
      const isChosen = settings.from !== null || settings.to !== null;
      fill(
        spans,
        ...spansOf(answer, today).map(([name, first, end, title]) => {
          const [a, b] = [dateText(first), dateText(end)];
          return h(
            'button',
            {
              type: 'button',
              title,
              'data-range': name,
              'aria-pressed': String(isChosen && a === answer.from && b === answer.to),
              onclick: () => go(a, b),
            },
            name,
          );
        }),
        isChosen &&
          h('button', { type: 'button', 'data-range': 'reset', onclick: () => go(null, null) }, 'reset'),
      );
    },
  };
}

/**
 * @param {import('./grid.js').CoverageAnswer} answer @param {number} today
 * @returns {[name: string, from: number, to: number, title: string][]}
 */
function spansOf({ from, to, firstDate }, today) {
  const [first, end] = [dayNumber(from), dayNumber(to)];
  const length = Math.max(1, end - first);
  const year = dateText(today).slice(0, 4);
  const [yearFrom, yearTo] = [dayNumber(`${year}-01-01`), dayNumber(`${Number(year) + 1}-01-01`)];
  const begin = firstDate === null ? Number.NaN : dayNumber(firstDate);
  return [
    ['‹ before', first - length, first, `the ${length} days before these`],
    ['after ›', end, end + length, `the ${length} days after these`],
    ['30 days', today - 29, today + 1, 'the last 30 days'],
    ['90 days', today - 89, today + 1, 'the last 90 days'],
    ['365 days', today - 364, today + 1, 'the last 365 days'],
    [year, yearFrom, yearTo, `the year ${year}`],
    ...(begin <= today
      ? [
          /** @type {[string, number, number, string]} */ ([
            'all',
            begin,
            today + 1,
            'from the first published day on',
          ]),
        ]
      : []),
  ];
}

/** @param {string} from @param {string} to @returns {string} empty where they can be asked for */
function faultOf(from, to) {
  const [first, end] = [dayNumber(from), dayNumber(to)];
  if (!(first > Number.NEGATIVE_INFINITY && end > Number.NEGATIVE_INFINITY))
    return 'Two whole dates are needed.';
  return first < end ? '' : `${from} is not before ${to}: choose a later end.`;
}
