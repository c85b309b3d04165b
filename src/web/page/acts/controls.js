// @ts-check
/**
 * Buttons that act: try again, backfills, the hold, warnings. Every view mounts them here, so that each act asks, waits,
 * tells and fails in the same way.
 */
import { h } from '../parts/dom.js';
import { loadStyles } from '../parts/styles.js';
import { backfillForm } from './backfill-form.js';
import { confirmed } from './confirm.js';

/**
 * @typedef {import('../../answers.ts').Act} Act
 * @typedef {import('../../answers.ts').ActAnswer} ActAnswer
 * @typedef {import('../../answers.ts').CellState} CellState
 * @typedef {import('../../answers.ts').FleetAnswer['backfills'][number]} Backfill
 * @typedef {import('../view.d.ts').ViewContext} ViewContext
 * @typedef {{ kind: 'backfill', backfill: Pick<Backfill, 'id' | 'paused'> } | { kind: 'hold' }
 *   | { kind: 'failed', job: string } | { kind: 'start-backfill', job: string }
 *   | { kind: 'day', job: string, vessel: string, date: string, state: CellState }
 *   | { kind: 'warning', job: string, vessel: string }} ActTarget
 * @typedef {import('./confirm.js').Question} Question
 * @typedef {{ label: string, act?: Act, question?: Question, ask?: () => Promise<Act | null>, isDangerous?: boolean }} Choice
 *   `act` is done when the question, if there is one, is answered with yes; `ask` makes the act, null where nobody wants it
 */

/**
 * What can be done with a target, as a group of buttons; how it ended is shown at the lower edge of the window. Null where nothing can be done, or by
 * nobody. Who has not signed in and could is told so.
 * @param {ViewContext} context
 * @param {ActTarget} target
 * @param {{ onDone?: (act: Act) => void }} [options] `onDone`: an act was done, and what the view shows may be old
 * @returns {HTMLElement | null}
 */
export function actControls(context, target, { onDone = () => {} } = {}) {
  const { mayAct, canAct } = context.session;
  const choices = choicesFor(context, target);
  if (choices.length === 0 || (!mayAct && !canAct)) return null;
  if (!mayAct)
    return h('p', { class: 'act-hint' }, `${HINTS[target.kind]}: sign in with the password for acting.`);

  void loadStyles(new URL('./acts.css', import.meta.url));
  const busy = h('p', { class: 'act-note', hidden: true }, 'under way…');
  const buttons = choices.map((choice) => {
    const kind = choice.isDangerous ? 'act-button act-dangerous' : 'act-button';
    return h('button', { type: 'button', class: kind, onclick: () => press(choice) }, choice.label);
  });
  const group = h(
    'div',
    { class: 'act-controls', role: 'group', 'aria-label': `${HINTS[target.kind]}: ${nameOf(target)}` },
    h('div', { class: 'act-buttons' }, ...buttons),
    busy,
  );
  return group;

  /** @param {Choice} choice */
  async function press(choice) {
    const act = await wantedAct(choice);
    if (act === null || context.signal.aborted) return;
    const focused = document.activeElement;
    setBusy(true);
    try {
      const { message } = /** @type {ActAnswer} */ (await context.api.post('/api/acts', act));
      if (context.signal.aborted) return;
      showOutcome(message, true, context.signal);
      context.announce(message);
      onDone(act);
    } catch (error) {
      if (context.signal.aborted) return;
      const text = whyNot(error);
      showOutcome(text, false, context.signal);
      context.announce(`not done: ${text}`);
    } finally {
      setBusy(false);
      // A button that is disabled loses the focus.
      if (document.activeElement === document.body && focused instanceof HTMLElement && focused.isConnected)
        focused.focus();
    }
  }

  /** @param {Choice} choice @returns {Promise<Act | null>} */
  async function wantedAct({ act, question, ask }) {
    if (ask !== undefined) return await ask();
    if (question !== undefined && !(await confirmed(question, context.signal))) return null;
    return act ?? null;
  }

  /** @param {boolean} isBusy */
  function setBusy(isBusy) {
    group.setAttribute('aria-busy', String(isBusy));
    busy.hidden = !isBusy;
    for (const button of buttons) /** @type {HTMLButtonElement} */ (button).disabled = isBusy;
  }
}

/** What the buttons are for; names the group. @type {Readonly<Record<ActTarget['kind'], string>>} */
const HINTS = {
  backfill: 'To pause, resume or cancel it',
  hold: 'To lift the hold',
  failed: 'To try failed vessel-days again',
  'start-backfill': 'To start a backfill',
  day: 'To try it again',
  warning: 'To accept the warning',
};

/** What it is about, for those who hear one button after the other. @param {ActTarget} target @returns {string} */
function nameOf(target) {
  switch (target.kind) {
    case 'backfill':
      return target.backfill.id;
    case 'hold':
      return 'the queue';
    case 'day':
      return `${target.vessel}, ${target.date}`;
    case 'warning':
      return target.vessel;
    default:
      return target.job;
  }
}

/** @param {ViewContext} context @param {ActTarget} target @returns {Choice[]} */
function choicesFor(context, target) {
  switch (target.kind) {
    case 'backfill':
      return ofBackfill(target.backfill);
    case 'hold':
      return [{ label: 'Lift the hold', act: { act: 'lift-hold' } }];
    case 'failed':
      return [{ label: 'Try failed days again', act: { act: 'try-failed-again', job: target.job } }];
    case 'start-backfill': {
      const ask = () => backfillForm(target.job, context.signal);
      return [{ label: 'Start a backfill…', ask }];
    }
    case 'day':
      return ofDay(target);
    case 'warning':
      return [ofWarning(target)];
  }
}

/** @param {Pick<Backfill, 'id' | 'paused'>} backfill @returns {Choice[]} */
function ofBackfill({ id, paused }) {
  return [
    paused
      ? { label: 'Resume', act: { act: 'resume-backfill', id } }
      : { label: 'Pause', act: { act: 'pause-backfill', id } },
    {
      label: 'Cancel…',
      isDangerous: true,
      act: { act: 'cancel-backfill', id },
      question: {
        title: 'Cancel this backfill?',
        lines: [
          id,
          'Its waiting vessel-days are removed from the queue, and its definition is deleted. Running vessel-days are finished, and published days stay.',
          'This cannot be undone; the same range can be started again.',
        ],
        yes: 'Cancel the backfill',
        no: 'Keep it',
      },
    },
  ];
}

/** States in which an export of the day may change something. @type {ReadonlySet<CellState>} */
const TRIED_AGAIN = new Set(['missing', 'stale', 'not-asked-for', 'queued', 'failed', 'refused', 'waiting']);

/** @type {ReadonlySet<CellState>} */
const NEVER_TRIED = new Set(['missing', 'stale', 'not-asked-for']);

/** @param {ActTarget & { kind: 'day' }} target @returns {Choice[]} */
function ofDay({ job, vessel, date, state }) {
  if (!TRIED_AGAIN.has(state)) return [];
  const day = { job, vessel, date };
  /** @type {Choice} */
  const again = {
    label: NEVER_TRIED.has(state) ? 'Export it now' : 'Try again now',
    act: { act: 'try-again', ...day, allowShrink: false },
  };
  if (state !== 'refused') return [again];
  return [
    { ...again, label: 'Look again whether the readings are back' },
    {
      label: 'Publish with fewer readings…',
      isDangerous: true,
      act: { act: 'try-again', ...day, allowShrink: true },
      question: {
        title: 'Publish the day with fewer readings?',
        lines: [
          `${job}/${vessel}/${date}`,
          'The source has fewer readings of this day than are published. They will be removed from the lake. Do this only after a check that the source is right.',
          'This cannot be undone.',
        ],
        yes: 'Publish with fewer readings',
        no: 'Leave it as it is',
      },
    },
  ];
}

/** @param {{ job: string, vessel: string }} target @returns {Choice} */
function ofWarning({ job, vessel }) {
  return {
    label: 'Accept the warning…',
    act: { act: 'accept-warning', job, vessel },
    question: {
      title: 'Is it right that the vessel has fewer series?',
      lines: [
        `${job}/${vessel}`,
        'Once accepted, days with as few series are published without a warning and without a notice.',
        'This cannot be undone here.',
      ],
      yes: 'Accept',
      no: 'Leave the warning',
    },
  };
}

/** What went wrong, and what to do. @param {unknown} error */
function whyNot(error) {
  const { status, message } = /** @type {{ status?: number, message?: string }} */ (error ?? {});
  if (status === undefined || status === 0)
    return 'No response from the server: it is unknown whether the action was done. Reload the page, and check before you press again.';
  if (status === 401 || status === 403)
    return `${message ?? 'not allowed'}: sign in with the password for acting, and press again.`;
  return message ?? `the server answered ${status}`;
}

/** @type {HTMLElement | null} */
let bar = null;

/**
 * @param {string} text
 * @param {boolean} isDone
 * @param {AbortSignal} signal the view is left
 */
function showOutcome(text, isDone, signal) {
  bar?.remove();
  const shown = h(
    'div',
    { class: 'act-bar' },
    h('p', { class: `act-outcome ${isDone ? 'act-done' : 'act-failed'}` }, text),
    h('button', { type: 'button', onclick: () => shown.remove() }, 'Close'),
  );
  document.body.append(shown);
  signal.addEventListener('abort', () => shown.remove(), { once: true });
  bar = shown;
}
