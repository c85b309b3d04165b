// @ts-check
import { fill, h } from './dom.js';

/** Why nobody was signed in by the provider, by the code in the address. @type {Readonly<Record<string, string>>} */
const PROVIDER_TROUBLES = {
  'sign-in-refused': 'The provider did not sign you in',
  'sign-in-not-allowed': 'You are in none of the groups that may view this page: ask its operator',
  'sign-in-expired': 'That took too long, or began in another browser: try again',
  'provider-unreachable': 'The provider does not answer: try again later',
  busy: 'Too many people sign in at once: try again later',
};

/**
 * What the address says of a sign-in that failed, as a sentence; taken out of the address.
 * @returns {string | undefined}
 */
export function takeSignInTrouble() {
  const url = new URL(location.href);
  const code = url.searchParams.get('sign-in');
  if (code === null) return undefined;
  url.searchParams.delete('sign-in');
  history.replaceState(history.state, '', url);
  return sentence(
    PROVIDER_TROUBLES[code] ?? 'The sign-in by the provider failed; the log of the process has the reason',
  );
}

/**
 * By the provider, or with name and password. The name is for the log of what was done.
 * @param {import('../view.d.ts').Api} api
 * @param {import('../../answers.ts').SessionAnswer} session
 * @param {(session: import('../../answers.ts').SessionAnswer) => void} onSignedIn
 * @returns {HTMLElement}
 */
export function signInForm(api, { canSignIn, providerUrl }, onSignedIn) {
  const to = encodeURIComponent(`${location.pathname}${location.search}`);
  const byName =
    providerUrl !== null &&
    h('a', { class: 'by-name', href: `${providerUrl}?to=${to}` }, 'Sign in with your own name');
  if (canSignIn) return passwordForm(api, byName, onSignedIn);
  const nobody = 'The proxy in front of this page names no user who may view it: ask its operator.';
  return h('div', { class: 'sign-in' }, byName || h('p', { class: 'hint' }, nobody));
}

/**
 * @param {import('../view.d.ts').Api} api
 * @param {HTMLElement | false} byName
 * @param {(session: import('../../answers.ts').SessionAnswer) => void} onSignedIn
 */
function passwordForm(api, byName, onSignedIn) {
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
    byName,
    h('label', {}, 'Your name', name),
    h('p', { class: 'hint' }, 'The log uses this name for your actions.'),
    h('label', {}, 'Password', password),
    fault,
    button,
  );
}

/** @param {string} text */
function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
