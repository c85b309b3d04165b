// @ts-check
/**
 * What can be chosen besides states and days: filters, order, nearness.
 * @typedef {import('./settings.js').Settings} Settings
 */
import { h } from '../parts/dom.js';
import { createRange } from './range.js';

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
  const trouble = checkbox('only vessels with trouble', (troubleOnly) => on.change({ troubleOnly }));
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
