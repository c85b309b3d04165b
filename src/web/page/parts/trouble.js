// @ts-check
import { h } from './dom.js';

/**
 * What is shown where a view cannot be.
 * @param {unknown} error
 * @param {() => void} onTryAgain
 * @returns {{ title: string, content: HTMLElement }}
 */
export function trouble(error, onTryAgain) {
  const { status, code, message } = /** @type {import('../api.js').ApiError} */ (error);
  const [title, advice] = titleOf(status, code);
  const content = h(
    'div',
    { class: 'trouble' },
    h('p', {}, message),
    h('p', { class: 'hint' }, advice),
    h('button', { class: 'primary', onclick: onTryAgain }, 'Try again'),
  );
  return { title, content };
}

/** @param {number | undefined} status @param {string} code @returns {[title: string, advice: string]} */
function titleOf(status, code) {
  if (code === 'no-fleet') return ['No fleet', "The page of 'vessel-export schedule' or 'worker' shows it."];
  if (status === 0) return ['No connection', 'Is the process still running, and the network there?'];
  if (status === 403) return ['Not allowed', 'Sign in with another password, or ask the operator.'];
  if (status === 404) return ['Not found', 'The address may be mistyped, or its job removed.'];
  if (status === undefined) return ['This view failed', 'This is a defect of the page: please report it.'];
  return ['No answer', 'The log of the process has details.'];
}
