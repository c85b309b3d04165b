// @ts-check
/**
 * How an act ended, at the lower edge of the window: where it was asked for may be gone by then, as views draw anew what
 * has changed. It stays until it is closed, the next act ends, or the view is left.
 */
import { h } from '../parts/dom.js';

/** @type {HTMLElement | null} */
let bar = null;

/**
 * @param {string} text
 * @param {boolean} isDone
 * @param {AbortSignal} signal the view is left
 */
export function showOutcome(text, isDone, signal) {
  bar?.remove();
  const shown = h(
    'div',
    { class: 'act-bar' },
    h('p', { class: `act-outcome ${isDone ? 'act-done' : 'act-failed'}` }, text),
    h('button', { type: 'button', onclick: () => shown.remove() }, 'Close'),
  );
  document.body.append(shown);
  signal.addEventListener('abort', () => shown.remove(), { once: true });
  bar = shown;
}
