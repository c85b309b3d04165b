// @ts-check
import { h } from '../parts/dom.js';

/** @type {import('../view.d.ts').View} */
export const coverageView = {
  path: /^\/coverage-to-be-written$/,
  title: () => 'coverage',
  mount(root) {
    root.append(h('p', {}, 'to be written'));
  },
};
