// @ts-check
/** Elements without markup: text is set as text, so that no name can become an element or a script. */

/**
 * @param {string} tag
 * @param {Record<string, string | number | boolean | undefined | ((event: any) => void)>} [attributes] functions are
 *   listeners (`onclick`), false and undefined are left out, true is the attribute alone
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...shown(children));
  return element;
}

/**
 * A table with a line of headings; `caption` is for those who listen.
 * @param {readonly (string | { text: string, isNumber: boolean })[]} heads @param {HTMLElement | readonly HTMLElement[]} rows or the body that has them
 * @param {{ caption?: string, class?: string }} [options]
 */
export function table(heads, rows, { caption, class: kind } = {}) {
  const cells = heads.map((head) => {
    const { text, isNumber } = typeof head === 'string' ? { text: head, isNumber: false } : head;
    return h('th', { scope: 'col', class: isNumber && 'number' }, text);
  });
  return h(
    'table',
    { class: kind },
    caption !== undefined && h('caption', { class: 'visually-hidden' }, caption),
    h('thead', {}, h('tr', {}, ...cells)),
    Array.isArray(rows) ? h('tbody', {}, ...rows) : /** @type {HTMLElement} */ (rows),
  );
}

/** @param {Node} parent @param {...(Node | string | number | null | undefined | false)} children */
export function fill(parent, ...children) {
  /** @type {Element} */ (parent).replaceChildren(...shown(children));
}

/** @param {readonly (Node | string | number | null | undefined | false)[]} children @returns {(Node | string)[]} */
function shown(children) {
  return children.flatMap((child) => {
    if (child === null || child === undefined || child === false) return [];
    return [child instanceof Node ? child : String(child)];
  });
}
