// @ts-check
import { fill, h } from './dom.js';

/**
 * Name and password. The name is for the log of what was done.
 * @param {import('../view.d.ts').Api} api
 * @param {(session: import('../../answers.ts').SessionAnswer) => void} onSignedIn
 * @returns {HTMLElement}
 */
export function signInForm(api, onSignedIn) {
  const name = /** @type {HTMLInputElement} */ (
    h('input', { name: 'name', autocomplete: 'username', maxlength: 64, required: true, spellcheck: 'false' })
  );
  const password = /** @type {HTMLInputElement} */ (
    h('input', { name: 'password', type: 'password', autocomplete: 'current-password', required: true })
  );
  const fault = h('p', { class: 'fault', role: 'alert' });
  const button = /** @type {HTMLButtonElement} */ (h('button', { class: 'primary' }, 'Sign in'));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    button.disabled = true;
    fill(fault);
    try {
      onSignedIn(await api.post('/api/session', { name: name.value, password: password.value }));
    } catch (error) {
      fill(fault, sentence(/** @type {Error} */ (error).message));
      password.select();
      password.focus();
    } finally {
      button.disabled = false;
    }
  };
  return h(
    'form',
    { class: 'sign-in', onsubmit: submit },
    h('label', {}, 'Your name', name),
    h('p', { class: 'hint' }, 'The log says by it who did what.'),
    h('label', {}, 'Password', password),
    fault,
    button,
  );
}

/** @param {string} text */
function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
