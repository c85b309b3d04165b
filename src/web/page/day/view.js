// @ts-check
import { h } from '../parts/dom.js';

/** @type {import('../view.d.ts').View} */
export const dayView = {
  path: /^\/day-to-be-written$/,
  title: () => 'day',
  mount(root) {
    root.append(h('p', {}, 'to be written'));
  },
};
