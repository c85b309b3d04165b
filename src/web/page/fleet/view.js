// @ts-check
/** The fleet: what it does now, drawn again every few seconds while somebody looks. */
import { fill, h } from '../parts/dom.js';
import { loadStyles } from '../parts/styles.js';
import { holdSection, limitsSection, signInHint } from './hold.js';
import { backfillsSection, jobsSection } from './jobs.js';
import { keyed, say } from './keyed.js';
import { requestsSection } from './requests.js';
import { processesSection, queueSection, runningSection } from './tables.js';
import { machineTime, timeOfDay } from './words.js';

/** @typedef {import('../../answers.ts').FleetAnswer} FleetAnswer */

/** An answer that is later is none: the next one may come. */
const PATIENCE_MS = 10_000;
const REFRESH_MS = 3_000;
const STYLES = ['/page/fleet/fleet.css', '/vendor/uplot/dist/uPlot.min.css'];

/** @type {import('../view.d.ts').View} */
export const fleetView = {
  path: /^\/fleet\/?$/,
  title: () => 'Fleet',
  async mount(root, context) {
    const { api, signal, announce } = context;
    await Promise.all(STYLES.map(loadStyles));
    if (signal.aborted) return;
    const soon = () => again.soon();
    const parts = {
      hold: holdSection(context, soon),
      running: runningSection(),
      jobs: jobsSection(context, soon),
      backfills: backfillsSection(context, soon),
      queue: queueSection(),
      limits: limitsSection(),
      requests: requestsSection(signal),
      processes: processesSection(),
    };
    const { head, told } = header(() => again);
    const notes = notesList();
    const content = h(
      'div',
      { class: 'fleet', hidden: true },
      parts.hold.element,
      notes.element,
      section('Running now', parts.running.element),
      section('Jobs', parts.jobs.element),
      section('Backfills', parts.backfills.element),
      h(
        'div',
        { class: 'fleet-pair' },
        section('Queue', parts.queue.element),
        section('Limits now', parts.limits.element),
      ),
      section('Requests to the service', parts.requests.element),
      section('Processes', parts.processes.element),
    );
    fill(root, head, signInHint(context), content);

    let failedBefore = false;
    async function ask() {
      const patience = AbortSignal.timeout(PATIENCE_MS);
      try {
        /** @type {FleetAnswer} */
        const fleet = await api.get('/api/fleet', { signal: AbortSignal.any([signal, patience]) });
        if (signal.aborted) return;
        content.hidden = false;
        notes.draw(fleet.notes);
        for (const part of Object.values(parts)) part.update(fleet);
        content.classList.remove('fleet-old');
        told.now(fleet.readAtMs);
        if (failedBefore) announce('The fleet is in reach again.');
        failedBefore = false;
      } catch (error) {
        if (signal.aborted) return;
        const text = patience.aborted ? 'the server does not answer' : whyOf(error);
        content.classList.add('fleet-old');
        told.trouble(text);
        if (!failedBefore) announce(`The fleet cannot be seen now: ${text}`);
        failedBefore = true;
      }
    }
    const again = refreshing({ ask, signal });
  },
};

/** @param {unknown} error */
function whyOf(error) {
  return error instanceof Error ? error.message : 'the answer cannot be read';
}

/** As of when, and a switch for those who want to read in peace. @param {() => ReturnType<typeof refreshing>} again */
function header(again) {
  const time = h('time', {});
  const trouble = h('p', { class: 'fault fleet-trouble', hidden: true });
  let isPaused = false;
  const button = h(
    'button',
    {
      type: 'button',
      'aria-pressed': 'false',
      onclick() {
        isPaused = !isPaused;
        button.setAttribute('aria-pressed', String(isPaused));
        say(every, isPaused ? '; frozen' : EVERY);
        if (isPaused) again().pause();
        else again().resume();
      },
    },
    'Freeze',
  );
  const every = h('span', {}, EVERY);
  const asOf = h('span', { hidden: true }, 'As of ', time, every);
  const head = h('div', { class: 'fleet-head' }, h('p', { class: 'hint' }, asOf), button, trouble);
  let seen = '';
  return {
    head,
    told: {
      /** @param {number} ms */
      now(ms) {
        asOf.hidden = false;
        seen = timeOfDay(ms);
        say(time, seen);
        time.setAttribute('datetime', machineTime(ms));
        trouble.hidden = true;
      },
      /** @param {string} text */
      trouble(text) {
        const old = seen === '' ? '' : ` What stands below is of ${seen}.`;
        say(
          trouble,
          `${text}${/[.!?]$/.test(text) ? '' : '.'}${old} It is asked again every ${REFRESH_MS / 1_000} s.`,
        );
        trouble.hidden = false;
      },
    },
  };
}
const EVERY = `; drawn again every ${REFRESH_MS / 1_000} s`;

function notesList() {
  const element = h('ul', { class: 'fleet-notes', hidden: true });
  const draw = keyed(
    element,
    (/** @type {string} */ text) => text,
    (text) => ({ element: h('li', {}, text), update() {} }),
  );
  return {
    element,
    /** @param {readonly string[]} notes */
    draw(notes) {
      element.hidden = notes.length === 0;
      draw(notes);
    },
  };
}

/** @param {string} title @param {HTMLElement} content */
function section(title, content) {
  const id = `fleet-${title.toLowerCase().replaceAll(' ', '-')}`;
  return h('section', { 'aria-labelledby': id }, h('h2', { id }, title), content);
}

/**
 * Asks again and again while somebody looks: not while the page is hidden, and not after the view was left.
 * @param {{ ask: () => Promise<void>, signal: AbortSignal }} options `ask` never rejects
 * @returns {{ soon: () => void, pause: () => void, resume: () => void }} `soon`: ask at once
 */
function refreshing({ ask, signal }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let isAsking = false;
  let isWantedAgain = false;
  let isPaused = false;

  const next = () => {
    clearTimeout(timer);
    if (!signal.aborted && !document.hidden && !isPaused) timer = setTimeout(now, REFRESH_MS);
  };
  const now = async () => {
    clearTimeout(timer);
    if (signal.aborted) return;
    isWantedAgain = isAsking;
    if (isAsking) return;
    isAsking = true;
    await ask();
    isAsking = false;
    if (isWantedAgain) void now();
    else next();
  };
  document.addEventListener(
    'visibilitychange',
    () => {
      if (document.hidden) clearTimeout(timer);
      else if (!isPaused) void now();
    },
    { signal },
  );
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  void now();
  return {
    soon: () => void now(),
    pause() {
      isPaused = true;
      clearTimeout(timer);
    },
    resume() {
      isPaused = false;
      void now();
    },
  };
}
