// @ts-check
/** One vessel-day: what is published and how it was proven, what went wrong, and the readings themselves. */
import { actControls } from '../acts/controls.js';
import { fill, h } from '../parts/dom.js';
import { loadStyles } from '../parts/styles.js';
import {
  attemptFacts,
  logFacts,
  noteFacts,
  receiptFacts,
  section,
  stateLine,
  versionFacts,
  warningFacts,
} from './facts.js';
import { hoursChart } from './hours.js';
import { mountMetadata } from './metadata-table.js';
import { mountReadings } from './readings.js';
import { queryOf, settingsOf } from './settings.js';
import { addDays, bytesText, dayAddress, shown, shownName } from './texts.js';

/**
 * @typedef {import('../../answers.ts').AboutAnswer} AboutAnswer
 * @typedef {import('../../answers.ts').VesselDayAnswer} VesselDayAnswer
 * @typedef {import('../view.d.ts').ViewContext} ViewContext
 * @typedef {import('./settings.js').DaySettings} DaySettings
 */

/** A day that is published again and again is shown as it was the last of these times. */
const MAX_STARTS = 4;
/** A day that is under way or in the queue is looked at again after this, as long as somebody sees it. */
const LOOK_MS = 5_000;

/** @type {import('../view.d.ts').View} */
export const dayView = {
  path: /^\/day\/(?<job>[^/]+)\/(?<vessel>[^/]+)\/(?<date>[^/]+)$/,
  title: ({ job = '', vessel = '', date = '' }) =>
    `${shownName(vessel)} on ${shownName(date)}: ${shownName(job)}`,
  async mount(root, context) {
    const { job = '', vessel = '', date = '' } = context.params;
    fill(root, h('p', { class: 'hint' }, 'Reading the lake …'));
    const address = `/api/jobs/${[job, 'days', vessel, date].map(encodeURIComponent).join('/')}`;
    const [answer, about] = await Promise.all([
      /** @type {Promise<VesselDayAnswer>} */ (context.api.get(address, { signal: context.signal })),
      /** @type {Promise<AboutAnswer>} */ (context.api.get('/api/about', { signal: context.signal })),
      loadStyles('/vendor/uplot/dist/uPlot.min.css'),
      loadStyles(new URL('./day.css', import.meta.url)),
    ]);
    if (context.signal.aborted) return;
    showDay(root, context, { address, about, answer, settings: settingsOf(context.query), starts: 1 });
  },
};

/**
 * @param {HTMLElement} root @param {ViewContext} context
 * @param {{ address: string, about: AboutAnswer, answer: VesselDayAnswer, settings: DaySettings, starts: number, notice?: string }} day
 */
function showDay(root, context, { address, about, answer, settings, starts, notice }) {
  // What is read of a version ends with it.
  const ending = new AbortController();
  const signal = AbortSignal.any([context.signal, ending.signal]);
  const readings = h('div', { class: 'readings-box' });
  const write = (/** @type {Partial<DaySettings>} */ change) => {
    settings = { ...settings, ...change };
    context.navigate(`${location.pathname}${queryOf(settings)}`, { replace: true });
    fill(ways, ...waysOf(about, answer, settings));
  };
  const ways = h('nav', { class: 'ways', 'aria-label': 'Other days' }, ...waysOf(about, answer, settings));
  fill(
    root,
    ways,
    notice === undefined ? null : h('p', { class: 'notice', role: 'status' }, notice),
    stateLine(answer),
    warningFacts(answer, actsOf('warning')),
    problemsOf(answer),
    noteFacts(answer),
    attemptFacts(answer),
    actsOf('day'),
    h(
      'div',
      { class: 'two' },
      receiptFacts(answer),
      answer.hours === null ? null : section('Proof, hour by hour', hoursChart(answer.hours)),
    ),
    versionFacts(answer, settings.version),
    readingsSection(answer, settings, readings),
    logFacts(answer, context.announce),
  );
  setTimeout(lookAgain, LOOK_MS);
  const object = objectOf(answer, settings);
  if (object === null) return;
  const onReplaced = () => void startOver();
  if (answer.dataset === 'metadata') void mountMetadata(readings, { object, signal, onReplaced });
  else
    void mountReadings(readings, {
      ...{ answer, object, settings, write, onReplaced, signal },
      announce: context.announce,
      // Asking as the page itself does shows the form to sign in.
      onSignInNeeded: () => void context.api.get(address).catch(() => {}),
    });

  async function startOver() {
    ending.abort();
    if (starts >= MAX_STARTS) return fault('The day is published again and again: load the page anew later.');
    await showAnew(starts + 1, 'The day was published again meanwhile: this is how it is now.');
  }

  /** @param {number} times @param {string} [text] what has happened */
  async function showAnew(times, text) {
    try {
      const newer = /** @type {VesselDayAnswer} */ (
        await context.api.get(address, { signal: context.signal })
      );
      if (context.signal.aborted) return;
      ending.abort();
      const said = text === undefined ? {} : { notice: text };
      showDay(root, context, { address, about, answer: newer, settings, starts: times, ...said });
      if (text !== undefined) context.announce(text);
    } catch (error) {
      if (context.signal.aborted) return;
      fault(`The day cannot be loaded anew: ${shown(error instanceof Error ? error.message : '')}`);
    }
  }

  /** Whether something else is to be shown, as long as something is under way. */
  async function lookAgain() {
    if (signal.aborted || (answer.claim?.state !== 'live' && answer.queued === null)) return;
    try {
      const newer = document.hidden
        ? answer
        : /** @type {VesselDayAnswer} */ (await context.api.get(address, { signal }));
      if (signal.aborted) return;
      if (newsOf(newer) !== newsOf(answer)) {
        ending.abort();
        showDay(root, context, { address, about, answer: newer, settings, starts });
        if (newer.state !== answer.state) context.announce(`The day is now: ${newer.state}`);
        return;
      }
    } catch {
      // The next look may go well.
    }
    setTimeout(lookAgain, LOOK_MS);
  }

  /** @param {string} text */
  function fault(text) {
    fill(readings, h('p', { class: 'fault', role: 'alert' }, text));
  }

  /** @param {'day' | 'warning'} kind @returns {HTMLElement | null} */
  function actsOf(kind) {
    const { job, vessel, date, state, warning } = answer;
    if (kind === 'warning' && warning?.accepted !== false) return null;
    const onDone = () => setTimeout(() => void showAnew(starts), 1_000);
    const target = kind === 'day' ? { kind, job, vessel, date, state } : { kind, job, vessel };
    return actControls(context, target, { onDone });
  }
}

/** What of an answer changes while a day is under way. @param {VesselDayAnswer} answer */
function newsOf({ state, receipt, claim, queued, note }) {
  const rows = [claim?.rowsStored, claim?.rowsKnown];
  return JSON.stringify([
    state,
    receipt?.epoch,
    claim?.epoch,
    rows,
    queued?.state,
    queued?.attempts,
    note?.at,
  ]);
}

/** The object whose readings are shown: the day's, or that of an earlier version. @param {VesselDayAnswer} answer @param {DaySettings} settings */
function objectOf({ object, versions, job, vessel, date }, { version }) {
  if (version === null) return object;
  const found = versions.find((one) => one.version === version);
  if (found === undefined) return null;
  const url = `/api/jobs/${job}/days/${vessel}/${date}/object?version=${version}`;
  // Files of a table never change.
  return { url, sizeBytes: found.sizeBytes, etag: null };
}

/** @param {VesselDayAnswer} answer @param {DaySettings} settings @param {HTMLElement} box */
function readingsSection(answer, settings, box) {
  const title =
    answer.dataset === 'metadata'
      ? 'Series of the snapshot'
      : settings.version === null
        ? 'Readings'
        : `Readings of version ${settings.version}`;
  const object = objectOf(answer, settings);
  if (object !== null)
    return section(
      title,
      h(
        'p',
        { class: 'hint' },
        h('a', { href: object.url, download: true }, 'Download the Parquet file'),
        ` (${bytesText(object.sizeBytes)})`,
      ),
      box,
    );
  const why =
    settings.version !== null
      ? `Version ${settings.version} does not bring this day, or its file has been cleaned up.`
      : answer.receipt === null
        ? 'There are none: the day was never published.'
        : answer.receipt.rows === 0
          ? 'There are none: the source has no readings of this day, and that is proven.'
          : 'They cannot be shown: the object is not there.';
  return section(title, h('p', {}, why));
}

/** @param {VesselDayAnswer} answer */
function problemsOf({ problems }) {
  if (problems.length === 0) return null;
  return h(
    'ul',
    { class: 'problems', 'aria-label': 'What could not be read' },
    ...problems.map((text) => h('li', {}, shown(text))),
  );
}

/** Links to the days beside it, to other jobs, and back to the map. @param {AboutAnswer} about @param {VesselDayAnswer} answer @param {DaySettings} settings */
function waysOf(about, { job, vessel, date }, settings) {
  const query = queryOf({ ...settings, version: null });
  const day = (/** @type {number} */ days, /** @type {string} */ label) =>
    h(
      'a',
      { href: `${dayAddress(job, vessel, addDays(date, days))}${query}`, rel: days < 0 ? 'prev' : 'next' },
      label,
    );
  const others = about.jobs.filter(({ name }) => name !== job);
  const place = new URLSearchParams({ from: addDays(date, -182), to: addDays(date, 183), vessel, date });
  return [
    h('a', { href: `/coverage/${encodeURIComponent(job)}?${place}` }, '↑ Coverage'),
    day(-1, `← ${addDays(date, -1)}`),
    day(1, `${addDays(date, 1)} →`),
    ...others.map(({ name }) =>
      h('a', { href: dayAddress(name, vessel, date) }, `same day: ${shownName(name)}`),
    ),
  ];
}
