// @ts-check
/** Dialogs of the browser's own: they keep the focus, close with Escape, and give the focus back. */
import { h } from '../parts/dom.js';

/** @typedef {{ title: string, lines: readonly string[], yes: string, no: string }} Question */

let dialogs = 0;

/**
 * Ask before what cannot be undone. `no` has the focus at first.
 * @param {Question} question
 * @param {AbortSignal} signal the view is left
 * @returns {Promise<boolean>}
 */
export async function confirmed({ title, lines, yes, no }, signal) {
  const { dialog, closed } = openDialog(title, signal, () => [
    ...lines.map((line) => h('p', {}, line)),
    h(
      'div',
      { class: 'act-buttons' },
      h('button', { type: 'button', autofocus: true, onclick: () => dialog.close() }, no),
      h('button', { type: 'button', class: 'act-dangerous', onclick: () => dialog.close('yes') }, yes),
    ),
  ]);
  dialog.showModal();
  return (await closed) === 'yes';
}

/**
 * A dialog that is not shown yet. `closed` resolves to its return value, '' where it was closed without one.
 * @param {string} title
 * @param {AbortSignal} signal
 * @param {() => readonly Node[]} content
 */
export function openDialog(title, signal, content) {
  const id = `act-dialog-${dialogs++}`;
  const dialog = /** @type {HTMLDialogElement} */ (
    h('dialog', { class: 'act-dialog', 'aria-labelledby': id }, h('h2', { id }, title))
  );
  dialog.append(...content());
  // Not where it was asked for: a view may draw that anew meanwhile.
  document.body.append(dialog);
  const leave = () => dialog.close();
  signal.addEventListener('abort', leave, { once: true });
  /** @type {Promise<string>} */
  const closed = new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      signal.removeEventListener('abort', leave);
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
  return { dialog, closed };
}
