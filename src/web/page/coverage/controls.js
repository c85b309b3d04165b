// @ts-check
/** What can be chosen besides states: days, filters, order, nearness. */
import { fill, h } from '../parts/dom.js';
import { dateText, dayNumber } from './dates.js';

/**
 * @typedef {import('./settings.js').Settings} Settings
 */

/**
 * @param {object} on
 * @param {(change: Partial<Settings>) => void} on.change
 * @param {(from: string | null, to: string | null) => void} on.range
 */
export function createControls(on) {
  const text = /** @type {HTMLInputElement} */ (
    h('input', {
      type: 'search',
      placeholder: 'vessel, code or message',
      maxlength: 200,
      spellcheck: 'false',
      oninput: () => on.change({ text: text.value }),
    })
  );
  const trouble = checkbox('only vessels with problems', (troubleOnly) => on.change({ troubleOnly }));
  const others = checkbox('keep the other vessels', (isKept) =>
    on.change({ others: isKept ? 'dim' : 'hide' }),
  );
  const sort = /** @type {HTMLSelectElement} */ (
    h(
      'select',
      { onchange: () => on.change({ sort: /** @type {Settings['sort']} */ (sort.value) }) },
      h('option', { value: 'name' }, 'name'),
      h('option', { value: 'trouble' }, 'most trouble'),
      h('option', { value: 'gap' }, 'oldest gap'),
    )
  );
  const zoom = choice('Zoom', ['year', 'month', 'days'], (value) =>
    on.change({ zoom: /** @type {Settings['zoom']} */ (value) }),
  );
  const as = choice('Shown as', ['map', 'table'], (value) =>
    on.change({ as: /** @type {Settings['as']} */ (value) }),
  );
  const range = createRange(on.range);
  return {
    element: h(
      'div',
      { class: 'cov-line' },
      h('label', { class: 'cov-field' }, 'Find', text),
      trouble.element,
      others.element,
      h('label', { class: 'cov-field' }, 'Sort by', sort),
      h('span', { class: 'cov-right' }, zoom.element, as.element),
    ),
    range: range.element,
    keepFocus: range.keepFocus,
    restoreFocus: range.restoreFocus,
    /** @param {Settings} settings @param {import('./grid.js').CoverageAnswer} answer @param {number} today */
    show(settings, answer, today) {
      if (text.value !== settings.text) text.value = settings.text;
      trouble.box.checked = settings.troubleOnly;
      others.box.checked = settings.others === 'dim';
      others.element.hidden = settings.states.length === 0;
      sort.value = settings.sort;
      zoom.show(String(settings.zoom));
      zoom.element.hidden = settings.as === 'table';
      as.show(settings.as);
      range.show(settings, answer, today);
    },
  };
}

/** @param {string} words @param {(isChecked: boolean) => void} change */
function checkbox(words, change) {
  const box = /** @type {HTMLInputElement} */ (
    h('input', { type: 'checkbox', onchange: () => change(box.checked) })
  );
  return { box, element: h('label', { class: 'cov-field' }, box, words) };
}

/** Buttons of which one is pressed. @param {string} label @param {readonly string[]} values @param {(value: string) => void} choose */
function choice(label, values, choose) {
  const buttons = values.map((value) => h('button', { type: 'button', onclick: () => choose(value) }, value));
  return {
    element: h('span', { class: 'cov-choice', role: 'group', 'aria-label': label }, ...buttons),
    /** @param {string} now */
    show(now) {
      for (const [i, button] of buttons.entries())
        button.setAttribute('aria-pressed', String(values[i] === now));
    },
  };
}

/** The button that was pressed: other days are another address and so another view, which gives it the focus again. */
let pressed = '';

/** @param {(from: string | null, to: string | null) => void} go to other days; null: those that the server chooses */
function createRange(go) {
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
