// @ts-check
import { h } from '../parts/dom.js';

/** A small cell as the map has them: colour and sign. @param {import('./grid.js').StateRow} kind */
export function swatch(kind) {
  const element = h('span', { class: 'cov-swatch', 'aria-hidden': 'true' }, kind.sign);
  element.style.setProperty('background', `var(${kind.colour})`);
  element.style.setProperty('color', `var(--cov-sign-${kind.state})`);
  return element;
}
