// @ts-check
/** What may be asked of the service now, against what is set, and why it is less. */
import { h } from '../parts/dom.js';
import { say } from './keyed.js';
import { duration, inFull } from './words.js';

/** @typedef {import('../../answers.ts').FleetAnswer} FleetAnswer */

export function limitsSection() {
  const [cap, pace, hold] = [limit('Requests at once'), limit('Requests a minute'), limit('Everyone waits')];
  return {
    element: h('dl', { class: 'fleet-limits' }, ...[cap, pace, hold].flatMap(({ elements }) => elements)),
    /** @param {FleetAnswer} fleet */
    update({ limits, readAtMs }) {
      const { concurrency, holdUntilMs } = limits;
      const isLowered = concurrency.now < concurrency.setting;
      const flight = concurrency.inFlight === null ? '' : `, ${inFull(concurrency.inFlight)} in flight`;
      cap.update(
        `${inFull(concurrency.now)} of ${inFull(concurrency.setting)}${flight}`,
        isLowered
          ? 'The service refused requests (429), so fewer are asked at once; one more every 30 s without a refusal.'
          : '',
      );
      pace.update(...paceOf(limits.pace));
      const waitMs = holdUntilMs === null ? 0 : holdUntilMs - readAtMs;
      hold.update(
        waitMs > 0 ? `for ${duration(waitMs)}` : 'no',
        waitMs > 0
          ? 'The service asked for it (Retry-After), or Redis was just started, and processes tell it first what they ask.'
          : '',
      );
    },
  };
}

/** @param {FleetAnswer['limits']['pace']} pace @returns {[value: string, why: string]} */
function paceOf(pace) {
  if (pace === null) return ['no limit', ''];
  const now = inFull(Math.round(pace.now));
  if (pace.setting === null)
    return [
      `${now}, where none is set`,
      'The service refused requests (429) even one at a time; without refusals this limit grows and goes.',
    ];
  const isLowered = Math.round(pace.now) < Math.round(pace.setting);
  const why = 'The service refused requests (429), so they follow each other slower; it recovers by itself.';
  return [`${now} of ${inFull(pace.setting)}`, isLowered ? why : ''];
}

/** @param {string} name */
function limit(name) {
  const [value, why] = [h('div', { class: 'fleet-value' }), h('div', { class: 'hint' })];
  return {
    elements: [h('dt', {}, name), h('dd', {}, value, why)],
    /** @param {string} text @param {string} reason */
    update(text, reason) {
      say(value, text);
      say(why, reason);
      why.hidden = reason === '';
    },
  };
}
