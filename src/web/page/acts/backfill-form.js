// @ts-check
/** What a backfill is to cover, asked in a dialog. */
import { fill, h } from '../parts/dom.js';
import { openDialog } from './confirm.js';

/** @typedef {import('../../answers.ts').Act} Act */

/**
 * Ask for dates and vessels; null where nobody wants it.
 * @param {string} job
 * @param {AbortSignal} signal
 * @returns {Promise<Act | null>}
 */
export async function backfillForm(job, signal) {
  const from = dateInput('from');
  const to = dateInput('to');
  const vessels = /** @type {HTMLInputElement} */ (
    h('input', { type: 'text', name: 'vessels', autocomplete: 'off', spellcheck: 'false' })
  );
  const allowShrink = /** @type {HTMLInputElement} */ (h('input', { type: 'checkbox', name: 'allowShrink' }));
  const fault = h('p', { class: 'act-outcome act-failed', role: 'alert', hidden: true });
  const form = h(
    'form',
    { class: 'act-form', novalidate: true },
    h('label', {}, 'First day (UTC) ', from),
    h('label', {}, 'Last day (UTC) ', to),
    h('label', {}, 'Vessels, empty for all of the job ', vessels),
    h('p', { class: 'act-note' }, 'such as IMO9321483 IMO9321495'),
    h('label', {}, allowShrink, ' publish days with fewer readings than before, which cannot be undone'),
    fault,
    h(
      'div',
      { class: 'act-buttons' },
      h('button', { type: 'submit' }, 'Start'),
      h('button', { type: 'button', onclick: () => dialog.close() }, 'Do nothing'),
    ),
  );
  const { dialog, closed } = openDialog(`Start a backfill of ${job}`, signal, () => [form]);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const wrong = faultOf(from, to, namesIn(vessels.value));
    fault.hidden = wrong === null;
    if (wrong === null) return dialog.close('start');
    fill(fault, wrong.text);
    (wrong.at === 'vessels' ? vessels : wrong.at === 'from' ? from : to).focus();
  });
  dialog.showModal();
  if ((await closed) !== 'start') return null;
  return {
    act: 'start-backfill',
    job,
    from: from.value,
    to: dayAfter(to.value),
    vessels: namesIn(vessels.value),
    allowShrink: allowShrink.checked,
  };
}

/** @param {string} name @returns {HTMLInputElement} */
function dateInput(name) {
  return /** @type {HTMLInputElement} */ (h('input', { type: 'date', name, required: true }));
}

/** @param {string} text @returns {string[]} */
function namesIn(text) {
  return [...new Set(text.split(/[\s,;]+/).filter((name) => name !== ''))];
}

/**
 * What the server would say of it, said before it is asked.
 * @param {HTMLInputElement} from
 * @param {HTMLInputElement} to
 * @param {readonly string[]} vessels
 * @returns {{ at: 'from' | 'to' | 'vessels', text: string } | null}
 */
function faultOf(from, to, vessels) {
  if (from.value === '') return { at: 'from', text: 'First day: expected a date.' };
  if (to.value === '') return { at: 'to', text: 'Last day: expected a date.' };
  if (from.value > to.value) return { at: 'to', text: 'The last day is before the first.' };
  const wrong = vessels.find((name) => !/^IMO\d{7}$/.test(name));
  if (wrong !== undefined)
    return { at: 'vessels', text: `Vessels: found “${wrong}”, expected IMO and seven digits.` };
  return null;
}

/** The API's `to` is exclusive. @param {string} date @returns {string} */
function dayAfter(date) {
  return new Date(Date.parse(`${date}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
}
