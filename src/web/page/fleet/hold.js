// @ts-check
/**
 * What holds the fleet up: a fault that every vessel-day would meet stops the queue, and says why; what may be asked of the
 * service now, against what is set, and why it is less. With the buttons that act, for those who may: who could is told so
 * once, not in every row.
 */
import { actControls } from '../acts/controls.js';
import { h } from '../parts/dom.js';
import { keyed, say } from './keyed.js';
import { duration, inFull, moment } from './words.js';

/**
 * @typedef {import('../../answers.ts').FleetAnswer} FleetAnswer
 * @typedef {NonNullable<FleetAnswer['hold']>} Hold
 * @typedef {import('../view.d.ts').ViewContext} ViewContext
 * @typedef {Parameters<typeof actControls>[1]} ActTarget
 */

/**
 * @param {ViewContext} context
 * @param {ActTarget} target
 * @param {() => void} onDone what is shown may be old
 * @returns {HTMLElement | null}
 */
export function controlsFor(context, target, onDone) {
  return context.session.mayAct ? actControls(context, target, { onDone }) : null;
}

/** @param {ViewContext} context @returns {HTMLElement | null} */
export function signInHint({ session }) {
  if (session.mayAct || !session.canAct) return null;
  const text =
    'To start, pause or cancel backfills, try failed vessel-days again or lift a hold, sign in with the password for acting.';
  return h('p', { class: 'hint' }, text);
}

const NOT_LOST = 'No vessel-day is lost: ';
const NEXT =
  'workers check every few seconds, up to five minutes, whether it has passed, and continue automatically. Fix what the message says; after a change of a secret in the environment, restart the workers.';
/** Without a reason there is nothing that could be seen to pass. */
const PAUSED_NEXT = 'workers continue once somebody lifts the hold.';

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
              ? 'Its start is unknown.'
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
          code === null ? 'The hold is over: the queue continues.' : `The queue is on hold: ${code}.`,
        );
      before = code;
    },
  };
}

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
          ? 'The service refused requests (429), so fewer are sent at once; one more every 30 s without a refusal.'
          : '',
      );
      pace.update(...paceOf(limits.pace));
      const waitMs = holdUntilMs === null ? 0 : holdUntilMs - readAtMs;
      hold.update(
        waitMs > 0 ? `for ${duration(waitMs)}` : 'no',
        waitMs > 0
          ? 'The service requested it (Retry-After), or Redis was just started, and processes first report their requests.'
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
