// @ts-check
/** The hold: a fault that every vessel-day would meet stops the queue, and says why. */
import { h } from '../parts/dom.js';
import { controlsFor } from './controls.js';
import { keyed, say } from './keyed.js';
import { duration, moment } from './words.js';

/**
 * @typedef {import('../../answers.ts').FleetAnswer} FleetAnswer
 * @typedef {NonNullable<FleetAnswer['hold']>} Hold
 * @typedef {import('../view.d.ts').ViewContext} ViewContext
 */

const NOT_LOST = 'No vessel-day is lost: ';
const NEXT =
  'workers look every few seconds, up to five minutes, whether it has passed, and go on by themselves. Mend what the message says; with a new secret, start the workers again.';
/** Without a reason there is nothing that could be seen to pass. */
const PAUSED_NEXT = 'workers go on once somebody lifts the hold.';

/** @param {ViewContext} context @param {() => void} onDone */
export function holdSection(context, onDone) {
  const element = h('div', {});
  let nowMs = 0;
  let before = /** @type {string | null | undefined} */ (undefined);
  const draw = keyed(
    element,
    (/** @type {Hold} */ { code, sinceMs, host }) => `${code}/${sinceMs}/${host}`,
    (hold) => {
      const since = h('p', { class: 'hint' });
      const acts = controlsFor(context, { kind: 'hold' }, onDone);
      return {
        element: h(
          'section',
          { class: 'fleet-hold', 'aria-label': 'The queue is on hold' },
          h('h2', {}, h('span', { 'aria-hidden': 'true' }, '■ '), `The queue is on hold: ${hold.code}`),
          h('p', {}, hold.message),
          since,
          h('p', {}, NOT_LOST, hold.code === 'paused' ? PAUSED_NEXT : NEXT),
          h('div', { class: 'fleet-acts', 'data-act': 'hold' }, acts),
        ),
        update: ({ sinceMs, host }) =>
          say(
            since,
            sinceMs === null
              ? 'Nobody knows since when.'
              : `Since ${moment(sinceMs)}, ${duration(nowMs - sinceMs)}, found by ${host}.`,
          ),
      };
    },
  );
  return {
    element,
    /** @param {FleetAnswer} fleet */
    update({ hold, readAtMs }) {
      nowMs = readAtMs;
      draw(hold === null ? [] : [hold]);
      const code = hold?.code ?? null;
      if (before !== undefined && before !== code)
        context.announce(
          code === null ? 'The hold is over: the queue goes on.' : `The queue is on hold: ${code}.`,
        );
      before = code;
    },
  };
}
