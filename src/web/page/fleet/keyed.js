// @ts-check
/**
 * Lists that are drawn again every few seconds: what is there stays the same element, so that focus, selection and what
 * somebody has opened stay where they are.
 */
import { fill, h, table } from '../parts/dom.js';

/**
 * @template T
 * @typedef {object} Row
 * @property {HTMLElement} element
 * @property {(item: T) => void} update
 */

/**
 * Draws items below `parent`, by key.
 * @template T
 * @param {HTMLElement} parent
 * @param {(item: T) => string} keyOf
 * @param {(item: T) => Row<T>} create
 * @returns {(items: readonly T[]) => void}
 */
export function keyed(parent, keyOf, create) {
  /** @type {Map<string, Row<T>>} */
  let rows = new Map();
  return (items) => {
    /** @type {Map<string, Row<T>>} */
    const next = new Map();
    for (const item of items) {
      const key = keyOf(item);
      // The same twice: shown once.
      if (next.has(key)) continue;
      const row = rows.get(key) ?? create(item);
      row.update(item);
      next.set(key, row);
    }
    for (const [key, { element }] of rows) if (!next.has(key)) element.remove();
    let at = parent.firstElementChild;
    for (const { element } of next.values()) {
      if (element === at) at = element.nextElementSibling;
      else parent.insertBefore(element, at);
    }
    rows = next;
  };
}

/** Text that changes: untouched where it is the same, so that nobody is told of it again. @param {Node} node @param {string} text */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * A table whose body is drawn by `keyed`, and a sentence in its place while there is nothing.
 * @template T
 * @param {{ caption: string, columns: readonly (string | { text: string, isNumber: true })[], keyOf: (item: T) => string,
 *   create: (item: T) => Row<T>, empty: string }} options
 * @returns {{ element: HTMLElement, draw: (items: readonly T[]) => void }}
 */
export function keyedTable({ caption, columns, keyOf, create, empty }) {
  const body = h('tbody');
  const nothing = h('p', { class: 'hint' }, empty);
  const frame = h(
    'div',
    { class: 'fleet-scroll', role: 'region', 'aria-label': caption },
    table(columns, body, { caption }),
  );
  const element = h('div', {}, nothing);
  const drawRows = keyed(body, keyOf, create);
  return {
    element,
    draw(items) {
      drawRows(items);
      const shown = items.length === 0 ? nothing : frame;
      if (element.firstElementChild !== shown) fill(element, shown);
      // In a narrow window it scrolls by itself, also by keys.
      if (frame.scrollWidth > frame.clientWidth) frame.setAttribute('tabindex', '0');
      else frame.removeAttribute('tabindex');
    },
  };
}

/** A cell with its text. @param {string} [kind] @returns {HTMLElement} */
export function cell(kind) {
  return h('td', kind === undefined ? {} : { class: kind });
}

/**
 * How far something is: a bar that is read as its text.
 * @returns {{ element: HTMLElement, update: (share: number | null, text: string) => void }}
 */
export function progressBar() {
  const bar = /** @type {HTMLProgressElement} */ (h('progress', { max: 1, 'aria-hidden': 'true' }));
  const words = h('span', {});
  const element = h('div', { class: 'fleet-progress' }, bar, words);
  return {
    element,
    update(share, text) {
      bar.hidden = share === null;
      if (share !== null && bar.value !== share) bar.value = share;
      say(words, text);
    },
  };
}
