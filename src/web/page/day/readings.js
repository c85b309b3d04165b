// @ts-check
/** The readings of a day: pick series, see their curves. Everything is read from the lake's object, by ranges. */
import { fill, h } from '../parts/dom.js';
import { downloadCsv } from './csv.js';
import { createCurveChart } from './curve-chart.js';
import { createCurveSource } from './curve-source.js';
import {
  csvOf,
  nextReading,
  placesIn,
  pointText,
  readingsTable,
  summaryTable,
  summaryText,
} from './curves.js';
import { openDayParquet, readSeriesList } from './day-parquet.js';
import { openRangedFile } from './ranged-file.js';
import { createTried } from './reading-trouble.js';
import { createSeriesList } from './series-list.js';
import { MOST_CURVES, spanOf, zoomOf } from './settings.js';
import { bytesText, plural, shownName, timeText } from './texts.js';

/**
 * @typedef {import('../../answers.ts').VesselDayAnswer} VesselDayAnswer
 * @typedef {import('../../answers.ts').DaySeries} DaySeries
 * @typedef {import('./curves.js').Curve} Curve
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
 */

/** @param {HTMLElement} root @param {ReadingsOptions} options */
export async function mountReadings(root, options) {
  const { answer, object, signal, write, announce } = options;
  const fromMicros = Date.parse(`${answer.date}T00:00:00Z`) * 1_000;
  let { series: chosen, zoom, column } = options.settings;
  /** @type {Curve[]} */
  let curves = [];
  let turns = 0;

  const tally = h('p', { class: 'hint tally', role: 'status' });
  const file = openRangedFile(object, signal, ({ bytes, requests }) => {
    const share = (100 * bytes) / object.sizeBytes;
    fill(
      tally,
      `${bytesText(bytes)} of ${bytesText(object.sizeBytes)} read (${share.toFixed(1)} %) in ${plural(requests, 'request')}`,
    );
    root.dataset.bytesRead = String(bytes);
    root.dataset.requests = String(requests);
  });
  const trouble = h('div', { class: 'fault', role: 'alert' });
  const tried = createTried(trouble, options);
  const area = h('div', { class: 'curves' });
  const day = await tried(() => openDayParquet(file));
  if (day === undefined) return fill(root, trouble);
  const isOwn = options.settings.version === null && answer.series.length > 0;
  /** @type {readonly DaySeries[]} */
  const series = isOwn ? answer.series : ((await tried(() => listOf(day, answer))) ?? []);
  if (signal.aborted) return;
  const source = createCurveSource(day, series, answer.vessel);
  const list = createSeriesList(series, answer.vessel, toggle);
  const columns = columnChoice();
  const plotBox = h('div', { class: 'plot', tabindex: '0', role: 'img', onkeydown: walk });
  const pointed = h('output', { class: 'pointed' });
  const facts = h('div', { class: 'facts-box' });
  const tables = h('div');
  const hint = h('p', { class: 'hint' });
  const wholeDay = button('Whole day', () => setZoom(null));
  const tools = h(
    'div',
    { class: 'curve-tools', role: 'group', 'aria-label': 'Zoom and save' },
    columns,
    button('Zoom in', () => zoomBy(0.5)),
    button('Zoom out', () => zoomBy(2)),
    wholeDay,
    button('Download CSV', save),
  );
  fill(area, tools, plotBox, pointed, hint, facts, tables);
  fill(root, trouble, h('div', { class: 'readings' }, list.element, area), tally);
  const chart = createCurveChart(plotBox, {
    signal,
    onZoom: (span) => setZoom(span),
    onPoint: (micros) => {
      pointedAt = micros;
      fill(pointed, micros === null ? '' : pointText(curves, micros));
    },
  });
  /** @type {number | null} */
  let pointedAt = null;
  await show();

  /** What is chosen, read and drawn. */
  async function show() {
    root.setAttribute('aria-busy', 'true');
    delete root.dataset.shown;
    list.mark(chosen);
    fill(trouble);
    const wanted = chosen.filter((id) => !source.has(id, column));
    if (wanted.length > 0) fill(hint, `Reading ${plural(wanted.length, 'series', 'series')} …`);
    const turn = ++turns;
    const found = await tried(() => Promise.all(chosen.map((id) => source.read(id, column))));
    // Something else was chosen meanwhile.
    if (signal.aborted || turn !== turns) return;
    if (found !== undefined) curves = found.map((curve, colour) => ({ ...curve, colour }));
    draw();
    root.setAttribute('aria-busy', 'false');
    root.dataset.shown = chosen.join(' ');
    if (found !== undefined && wanted.length > 0) announce(curves.map(summaryText).join(' '));
  }

  function draw() {
    const drawn = curves.filter(({ raw, texts }) => raw.times.length > texts);
    const span = spanShown();
    plotBox.hidden = drawn.length === 0;
    tools.hidden = curves.length === 0;
    chart.draw(
      drawn.map(({ name, unit, colour, readings, band }) => ({
        ...{ label: name, unit, colour, readings },
        ...(band !== undefined && { band }),
      })),
      span,
    );
    plotBox.setAttribute('aria-label', labelOf(drawn));
    /** @type {HTMLButtonElement} */ (wholeDay).disabled = zoom === null;
    fill(hint, hintText(drawn));
    fill(facts, curves.length > 0 && summaryTable(curves, toggle));
    const inSight = curves.reduce(
      (sum, curve) => sum + placesIn(curve, span)[1] - placesIn(curve, span)[0],
      0,
    );
    const isOpen = curves.length > 0 && drawn.length === 0;
    fill(tables, curves.length > 0 && tableBox(span, inSight, isOpen));
  }

  /** @param {ReturnType<typeof spanShown>} span @param {number} count @param {boolean} isOpen */
  function tableBox(span, count, isOpen) {
    const body = h('div');
    const open = () => {
      if (body.childElementCount === 0) body.append(readingsTable(curves, span));
    };
    if (isOpen) open();
    return h(
      'details',
      { open: isOpen, ontoggle: open },
      h('summary', {}, `${plural(count, 'reading')} as a table`),
      body,
    );
  }

  /** @param {readonly Curve[]} drawn */
  function labelOf(drawn) {
    const { fromMicros: from, toMicros: to } = spanShown();
    const sight = zoom === null ? 'the whole day' : `${timeText(from)} to ${timeText(to)}`;
    return `Curves over ${sight}. ${drawn.map(summaryText).join(' ')} Arrow keys go from reading to reading, plus and minus zoom.`;
  }

  /** @param {readonly Curve[]} drawn */
  function hintText(drawn) {
    if (curves.length === 0)
      return series.length === 0
        ? 'There are no series to be shown.'
        : `Pick a series to see its curve, up to ${MOST_CURVES} at once.`;
    if (drawn.length === 0) return 'These values are no numbers: they stand in the table.';
    return 'Times are UTC. Drag to zoom, double-click for the whole day; with the keyboard: arrows, + and −, Escape. Where no reading came for five times the usual distance, the line is broken.';
  }

  const spanShown = () => spanOf(zoom, fromMicros);

  /** @param {string} id */
  function toggle(id) {
    if (chosen.includes(id)) chosen = chosen.filter((one) => one !== id);
    else if (chosen.length < MOST_CURVES) chosen = [...chosen, id];
    else {
      announce(`${MOST_CURVES} series are shown; take one away first.`);
      chosen = [...chosen.slice(1), id];
    }
    write({ series: chosen });
    void show();
  }

  /** @param {{ fromMicros: number, toMicros: number } | null} span */
  function setZoom(span) {
    zoom = span === null ? null : zoomOf(span, fromMicros);
    write({ zoom });
    draw();
  }

  /** @param {number} factor */
  function zoomBy(factor) {
    const { fromMicros: from, toMicros: to } = spanShown();
    const middle = pointedAt ?? (from + to) / 2;
    setZoom({ fromMicros: middle - (middle - from) * factor, toMicros: middle + (to - middle) * factor });
  }

  /** @param {KeyboardEvent} event */
  function walk(event) {
    const { key, shiftKey } = event;
    if (key === '+' || key === '=') zoomBy(0.5);
    else if (key === '-') zoomBy(2);
    else if (key === 'Escape') setZoom(null);
    else if (key === 'ArrowLeft' || key === 'ArrowRight')
      step(key === 'ArrowRight' ? 1 : -1, shiftKey ? 50 : 1);
    else return;
    event.preventDefault();
  }

  /** To the next reading of any curve. @param {1 | -1} way @param {number} count */
  function step(way, count) {
    const span = spanShown();
    let at = pointedAt ?? (way === 1 ? span.fromMicros - 1 : span.toMicros + 1);
    for (let i = 0; i < count; i++) at = nextReading(curves, span, at, way) ?? at;
    pointedAt = at;
    chart.point(at);
    const text = pointText(curves, at);
    fill(pointed, text);
    announce(text);
  }

  function save() {
    const { job, vessel, date } = answer;
    downloadCsv(`${job}-${vessel}-${date}.csv`, csvOf(curves, spanShown()));
  }

  /** Which column of windows is shown; nothing to choose for readings. */
  function columnChoice() {
    const all = source.columns;
    if (all.length === 0) return null;
    if (column === null || !all.includes(column)) column = all[0] ?? null;
    return h(
      'select',
      {
        'aria-label': 'What of the windows is shown',
        onchange: (event) => {
          column = event.target.value;
          write({ column });
          void show();
        },
      },
      ...all.map((name) => h('option', { value: name, selected: name === column }, shownName(name))),
    );
  }
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
