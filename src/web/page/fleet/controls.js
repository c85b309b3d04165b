// @ts-check
/** Buttons that act on what the fleet does; for those who may. Who could is told so once, not in every row. */
import { actControls } from '../acts/controls.js';
import { h } from '../parts/dom.js';

/** @typedef {import('../view.d.ts').ViewContext} ViewContext @typedef {Parameters<typeof actControls>[1]} ActTarget */

/**
 * @param {ViewContext} context
 * @param {ActTarget} target
 * @param {() => void} onDone what is shown may be old
 * @returns {HTMLElement | null}
 */
export function controlsFor(context, target, onDone) {
  return context.session.mayAct ? actControls(context, target, { onDone }) : null;
}

/** @param {ViewContext} context @returns {HTMLElement | null} */
export function signInHint({ session }) {
  if (session.mayAct || !session.canAct) return null;
  const text =
    'To start, pause or cancel backfills, try failed vessel-days again or lift a hold, sign in with the password for acting.';
  return h('p', { class: 'hint' }, text);
}
