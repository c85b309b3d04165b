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
