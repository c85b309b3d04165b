// @ts-check
/**
 * Coverage of a job: a heat map vessel × day, what it adds up to, and why days are in trouble.
 * @typedef {import('../../answers.ts').AboutAnswer} AboutAnswer
 * @typedef {import('../../answers.ts').CoverageAnswer} CoverageAnswer
 * @typedef {import('../view.d.ts').ViewContext} ViewContext
 * @typedef {import('./settings.js').Settings} Settings
 */
import { fill, h } from '../parts/dom.js';
import { loadStyles } from '../parts/styles.js';
import { dayAddress, shown, shownName } from '../parts/texts.js';
import { createControls } from './controls.js';
import { dayOf } from './dates.js';
import { createChosen, createFacts, shownText } from './facts.js';
import { gridOf } from './grid.js';
import { KEYS_TEXT } from './input.js';
import { createLegend } from './legend.js';
import { createMap } from './map.js';
import { rowsShown } from './rows.js';
import { coverageAddress, keepAddress, ofOtherDays, settingsOf } from './settings.js';
import { createTroubles } from './troubles.js';
import { createVesselTable } from './vessel-table.js';

/** @type {import('../view.d.ts').View} */
export const coverageView = {
  path: /^\/coverage\/(?<job>[^/]+)$/,
  title: ({ job = '' }) => `Coverage of ${shownName(job)}`,
  async mount(root, context) {
    const { api, params, signal } = context;
    const waiting = h('p', { class: 'hint' }, 'Reading the lake …');
    root.append(waiting);
    const [about] = await Promise.all([
      /** @type {Promise<AboutAnswer>} */ (api.get('/api/about', { signal })),
      loadStyles(new URL('./coverage.css', import.meta.url)),
    ]);
    if (signal.aborted) return;
    const view = createCoverage(context, about, params.job ?? '');
    try {
      await view.read(settingsOf(context.query));
    } catch (error) {
      // The dates of the address are at fault, and the view can be had without them; the rest is the page's to tell.
      if (signal.aborted || /** @type {{ status?: number }} */ (error).status !== 400) throw error;
      fill(root, wrongDates(context, error));
      return;
    }
    if (signal.aborted) return;
    fill(root, view.element);
    view.begin();
  },
};

/** @param {ViewContext} context @param {AboutAnswer} about @param {string} job */
function createCoverage(context, about, job) {
  const { api, announce, navigate, signal } = context;
  let settings = settingsOf(context.query);
  /** @type {ReturnType<typeof gridOf> | undefined} */
  let grid;
  const address = keepAddress({
    write: () => navigate(coverageAddress(job, settings), { replace: true }),
    signal,
  });

  /** @param {Partial<Settings>} change what needs nothing drawn anew */
  const write = (change) => {
    settings = { ...settings, ...change };
    address.change();
  };
  /** @param {Partial<Settings>} change */
  const change = (change) => {
    if (change.zoom !== undefined) return map.zoomTo(change.zoom);
    write(change);
    show();
  };
  /** @param {string | null} from @param {string | null} to */
  const range = (from, to) => {
    address.flush();
    controls.keepFocus();
    navigate(coverageAddress(job, ofOtherDays(settings, from, to)));
  };
  const map = createMap({
    open(vessel, date, isAside) {
      const url = dayAddress(job, vessel, date);
      address.flush();
      if (isAside) window.open(url, '_blank', 'noopener');
      else navigate(url);
    },
    chosen(vessel, date) {
      write({ vessel, date });
      if (grid !== undefined) chosen.show(grid, vessel, date);
    },
    scrolled: write,
    zoomed(zoom) {
      write({ zoom });
      showControls();
    },
    announce,
    signal,
  });
  const facts = createFacts({ refresh: () => void readAgain(), signal });
  const legend = createLegend({ choose: (states) => change({ states }) });
  const controls = createControls({ change, range });
  const chosen = createChosen(KEYS_TEXT);
  const troubles = createTroubles(context, () => void readAgain());
  const table = createVesselTable();
  const fault = h('p', { class: 'fault', role: 'alert' });
  const notice = h('p', { class: 'fault', role: 'status' });
  const none = h('p', { class: 'hint', role: 'status' });
  map.scroller.setAttribute('aria-label', 'Map of vessels by day');
  map.scroller.setAttribute('aria-describedby', chosen.keysId);
  const body = [map.element, table.element, none, chosen.element];
  const element = h(
    'div',
    { class: 'coverage' },
    ...[
      fault,
      notice,
      facts.element,
      controls.range,
      legend.element,
      controls.element,
      ...body,
      troubles.element,
    ],
  );
  // A link may be followed before the address says what is shown.
  element.addEventListener('click', address.flush, { capture: true });

  const showControls = () => {
    if (grid !== undefined) controls.show(settings, grid.answer, dayOf(about.nowMs));
  };
  /** @param {import('./map.js').Corner} [at] where to begin; else what is in sight stays there */
  const show = (at) => {
    if (grid === undefined) return;
    const rows = rowsShown(grid, settings);
    const isEmpty = rows.length === 0;
    legend.show(grid, settings.states);
    showControls();
    map.element.hidden = isEmpty || settings.as === 'table';
    table.element.hidden = isEmpty || settings.as === 'map';
    chosen.element.hidden = map.element.hidden;
    none.textContent = shownText(grid, rows);
    if (settings.as === 'table') table.show(grid, rows);
    else map.show(grid, rows, settings, at);
    troubles.show(grid, settings);
  };
  /** @param {Settings} of */
  const read = async ({ from, to }) => {
    const query = new URLSearchParams();
    if (from !== null) query.set('from', from);
    if (to !== null) query.set('to', to);
    const asked = query.size === 0 ? '' : `?${query}`;
    /** @type {CoverageAnswer} */
    const answer = await api.get(`/api/jobs/${encodeURIComponent(job)}/coverage${asked}`, { signal });
    performance.mark('coverage:answer');
    grid = gridOf(answer);
    facts.show(grid, about.nowMs);
    const isBlind = answer.isQueueKnown === false;
    notice.textContent = isBlind
      ? 'The queue does not answer: what waits in it is shown as missing or stale.'
      : '';
  };
  /** What was read before stays, should it fail. */
  const readAgain = async () => {
    facts.reading(true);
    try {
      await read(settings);
      fault.textContent = '';
      show();
      if (grid !== undefined) chosen.show(grid, settings.vessel, settings.date);
      announce('Read again');
    } catch (error) {
      if (!signal.aborted) fault.textContent = error instanceof Error ? error.message : String(error);
    }
    facts.reading(false);
  };
  return {
    element,
    read,
    /** Once it is in the page, and has a size. */
    begin() {
      if (grid === undefined) return;
      map.recolour();
      show(settings);
      chosen.show(grid, null, null);
      if (settings.vessel !== null && settings.date !== null) map.goTo(settings.vessel, settings.date);
      controls.restoreFocus();
    },
  };
}

/** @param {ViewContext} context @param {unknown} error */
function wrongDates({ params, query }, error) {
  const job = params.job ?? '';
  const href = coverageAddress(job, ofOtherDays(settingsOf(query), null, null));
  return h(
    'div',
    { class: 'coverage' },
    h('p', { class: 'fault', role: 'alert' }, shown(/** @type {Error} */ (error).message)),
    h('p', {}, h('a', { href }, 'Show the days that there are')),
  );
}
