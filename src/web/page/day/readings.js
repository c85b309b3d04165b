// @ts-check
/** The readings of a day: pick series, see their curves. Everything is read from the lake's object, by ranges. */
import { fill, h } from '../parts/dom.js';
import { createCurveChart } from './curve-chart.js';
import { createCurveSource } from './curve-source.js';
import { csvOf, downloadCsv, summaryText } from './curves.js';
import { openDayParquet, readSeriesList } from './day-parquet.js';
import { draw, pointAt, setZoom, spanShown, walk, zoomBy } from './draw-readings.js';
import { openRangedFile } from './ranged-file.js';
import { createTried } from './reading-trouble.js';
import { createSeriesList } from './series-list.js';
import { MAX_CURVES } from './settings.js';
import { bytesText, plural, shownName } from './texts.js';

/**
 * @typedef {import('../../answers.ts').VesselDayAnswer} VesselDayAnswer
 * @typedef {import('../../answers.ts').DaySeries} DaySeries
 * @typedef {import('./settings.js').DaySettings} DaySettings
 * @typedef {object} ReadingsOptions
 * @property {VesselDayAnswer} answer
 * @property {{ url: string, sizeBytes: number, etag: string | null }} object
 * @property {DaySettings} settings
 * @property {(change: Partial<DaySettings>) => void} write what is shown now, into the address
 * @property {() => void} onReplaced
 * @property {() => void} onSignInNeeded
 * @property {(text: string) => void} announce
 * @property {AbortSignal} signal
 * @typedef {import('./draw-readings.js').Readings & {
 *   root: HTMLElement,
 *   options: ReadingsOptions,
 *   chosen: readonly string[],
 *   column: string | null,
 *   source: ReturnType<typeof createCurveSource>,
 *   list: import('./series-list.js').SeriesList,
 *   tried: ReturnType<typeof createTried>,
 *   trouble: HTMLElement,
 *   turns: number,
 * }} MountedReadings `column`: of windows; `turns`: how often something else was chosen
 */

/** @param {HTMLElement} root @param {ReadingsOptions} options */
export async function mountReadings(root, options) {
  const { answer, signal, settings, write, announce } = options;
  const trouble = h('div', { class: 'fault', role: 'alert' });
  const tally = h('p', { class: 'hint tally', role: 'status' });
  const tried = createTried(trouble, options);
  const file = openRangedFile(options.object, signal, (read) => tell(root, tally, options, read));
  const day = await tried(() => openDayParquet(file));
  if (day === undefined) return fill(root, trouble);
  const isOwn = settings.version === null && answer.series.length > 0;
  const series = isOwn ? answer.series : ((await tried(() => listOf(day, answer))) ?? []);
  if (signal.aborted) return;
  const source = createCurveSource(day, series, answer.vessel);
  const list = createSeriesList(series, answer.vessel, (id) => toggle(readings, id));
  const parts = createParts(() => readings);
  const chart = createCurveChart(parts.plot, {
    signal,
    onZoom: (span) => setZoom(readings, span),
    onPoint: (micros) => pointAt(readings, micros),
  });
  const column = columnOf(source.columns, settings.column);
  /** @type {MountedReadings} */
  const readings = {
    ...{ root, options, source, list, tried, trouble, chart, parts, series, write, announce },
    ...{ chosen: settings.series, zoom: settings.zoom, column, curves: [], pointedAt: null, turns: 0 },
    fromMicros: Date.parse(`${answer.date}T00:00:00Z`) * 1_000,
    toggle: (id) => toggle(readings, id),
  };
  const choice = columnChoice(readings);
  if (choice !== null) parts.tools.prepend(choice);
  const { tools, plot, pointed, hint, facts, tables } = parts;
  const area = h('div', { class: 'curves' }, tools, plot, pointed, hint, facts, tables);
  fill(root, trouble, h('div', { class: 'readings' }, list.element, area), tally);
  await show(readings);
}

/**
 * How much of the object was read.
 * @param {HTMLElement} root @param {HTMLElement} tally @param {ReadingsOptions} options
 * @param {{ readonly bytes: number, readonly requests: number }} read
 */
function tell(root, tally, { object }, { bytes, requests }) {
  const share = (100 * bytes) / object.sizeBytes;
  fill(
    tally,
    `${bytesText(bytes)} of ${bytesText(object.sizeBytes)} read (${share.toFixed(1)} %) in ${plural(requests, 'request')}`,
  );
  root.dataset.bytesRead = String(bytes);
  root.dataset.requests = String(requests);
}

/** @param {() => MountedReadings} readings to be asked when something is pressed @returns {MountedReadings['parts']} */
function createParts(readings) {
  const wholeDay = button('Whole day', () => setZoom(readings(), null));
  const tools = h(
    'div',
    { class: 'curve-tools', role: 'group', 'aria-label': 'Zoom and save' },
    button('Zoom in', () => zoomBy(readings(), 0.5)),
    button('Zoom out', () => zoomBy(readings(), 2)),
    wholeDay,
    button('Download CSV', () => save(readings())),
  );
  return {
    tools,
    wholeDay,
    plot: h('div', {
      ...{ class: 'plot', tabindex: '0', role: 'img' },
      onkeydown: (event) => walk(readings(), event),
    }),
    pointed: h('output', { class: 'pointed' }),
    hint: h('p', { class: 'hint' }),
    facts: h('div', { class: 'facts-box' }),
    tables: h('div'),
  };
}

/** What is chosen, read and drawn. @param {MountedReadings} readings */
async function show(readings) {
  const { root, options, chosen, column, source, list, tried, trouble, parts } = readings;
  root.setAttribute('aria-busy', 'true');
  delete root.dataset.shown;
  list.mark(chosen);
  fill(trouble);
  const wanted = chosen.filter((id) => !source.has(id, column));
  if (wanted.length > 0) fill(parts.hint, `Reading ${plural(wanted.length, 'series', 'series')} …`);
  const turn = ++readings.turns;
  const found = await tried(() => Promise.all(chosen.map((id) => source.read(id, column))));
  // Something else was chosen meanwhile.
  if (options.signal.aborted || turn !== readings.turns) return;
  if (found !== undefined) readings.curves = found.map((curve, colour) => ({ ...curve, colour }));
  draw(readings);
  root.setAttribute('aria-busy', 'false');
  root.dataset.shown = chosen.join(' ');
  if (found !== undefined && wanted.length > 0) readings.announce(readings.curves.map(summaryText).join(' '));
}

/** @param {MountedReadings} readings @param {string} id */
function toggle(readings, id) {
  const { chosen } = readings;
  if (chosen.includes(id)) readings.chosen = chosen.filter((one) => one !== id);
  else if (chosen.length < MAX_CURVES) readings.chosen = [...chosen, id];
  else {
    readings.announce(`${MAX_CURVES} series are shown; take one away first.`);
    readings.chosen = [...chosen.slice(1), id];
  }
  readings.write({ series: readings.chosen });
  void show(readings);
}

/** @param {MountedReadings} readings */
function save(readings) {
  const { job, vessel, date } = readings.options.answer;
  downloadCsv(`${job}-${vessel}-${date}.csv`, csvOf(readings.curves, spanShown(readings)));
}

/** Which of the columns of windows; readings have none, and keep what was asked for. @param {readonly string[]} all @param {string | null} asked */
function columnOf(all, asked) {
  return asked !== null && (all.length === 0 || all.includes(asked)) ? asked : (all[0] ?? null);
}

/** Which column of windows is shown; null: nothing to choose for readings. @param {MountedReadings} readings */
function columnChoice(readings) {
  const all = readings.source.columns;
  if (all.length === 0) return null;
  return h(
    'select',
    {
      'aria-label': 'What of the windows is shown',
      onchange: (event) => {
        readings.column = event.target.value;
        readings.write({ column: readings.column });
        void show(readings);
      },
    },
    ...all.map((name) => h('option', { value: name, selected: name === readings.column }, shownName(name))),
  );
}

/** @param {string} label @param {() => void} onclick */
function button(label, onclick) {
  return h('button', { type: 'button', onclick }, label);
}

/** Of an object that no detail tells of. @param {import('./day-parquet.js').DayParquet} day @param {VesselDayAnswer} answer @returns {Promise<DaySeries[]>} */
async function listOf(day, answer) {
  const units = new Map(answer.series.map(({ id, unit }) => [id, unit]));
  const found = await readSeriesList(day);
  const times = { firstTimestamp: null, lastTimestamp: null };
  return found
    .map((one) => ({ ...one, unit: units.get(one.id) ?? null, ...times }))
    .sort((a, b) => b.rows - a.rows);
}
