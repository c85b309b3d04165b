// @ts-check
import { h } from '../parts/dom.js';

/** @type {import('../view.d.ts').View} */
export const fleetView = {
  path: /^\/fleet-to-be-written$/,
  title: () => 'fleet',
  mount(root) {
    root.append(h('p', {}, 'to be written'));
  },
};
