// @ts-check
/** The readings of a day as they are drawn; nearer, farther, and from one to the next. */
import { fill, h } from '../parts/dom.js';
import { nextReading, placesIn, pointText, readingsTable, summaryTable, summaryText } from './curves.js';
import { MAX_CURVES, spanOf, zoomOf } from './settings.js';
import { plural, timeText } from './texts.js';

/**
 * @typedef {import('./curves.js').Curve} Curve
 * @typedef {import('./curve-chart.js').Span} Span
 * @typedef {object} Readings what is shown now, and where
 * @property {number} fromMicros when the day begins
 * @property {readonly import('../../answers.ts').DaySeries[]} series that can be picked
 * @property {readonly Curve[]} curves of those that were picked, as they were read
 * @property {import('./settings.js').DaySettings['zoom']} zoom
 * @property {number | null} pointedAt an instant
 * @property {import('./curve-chart.js').CurveChart} chart
 * @property {(id: string) => void} toggle picks a series, or takes it away
 * @property {(change: Partial<import('./settings.js').DaySettings>) => void} write what is shown now, into the address
 * @property {(text: string) => void} announce
 * @property {{ tools: HTMLElement, wholeDay: HTMLElement, plot: HTMLElement, pointed: HTMLElement, hint: HTMLElement,
 *   facts: HTMLElement, tables: HTMLElement }} parts
 */

/** @param {Pick<Readings, 'zoom' | 'fromMicros'>} readings @returns {Span} */
export function spanShown({ zoom, fromMicros }) {
  return spanOf(zoom, fromMicros);
}

/** @param {Readings} readings */
export function draw(readings) {
  const { curves, zoom, chart, toggle, parts } = readings;
  const drawn = curves.filter(({ raw, texts }) => raw.times.length > texts);
  const span = spanShown(readings);
  parts.plot.hidden = drawn.length === 0;
  parts.tools.hidden = curves.length === 0;
  chart.draw(
    drawn.map(({ name, unit, colour, readings: line, band }) => ({
      ...{ label: name, unit, colour, readings: line },
      ...(band !== undefined && { band }),
    })),
    span,
  );
  parts.plot.setAttribute('aria-label', labelOf(readings, drawn));
  /** @type {HTMLButtonElement} */ (parts.wholeDay).disabled = zoom === null;
  fill(parts.hint, hintText(readings, drawn));
  fill(parts.facts, curves.length > 0 && summaryTable(curves, toggle));
  fill(parts.tables, curves.length > 0 && tableBox(curves, span, drawn.length === 0));
}

/** @param {readonly Curve[]} curves @param {Span} span @param {boolean} isOpen */
function tableBox(curves, span, isOpen) {
  const count = curves.reduce((sum, curve) => sum + placesIn(curve, span)[1] - placesIn(curve, span)[0], 0);
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

/** @param {Readings} readings @param {readonly Curve[]} drawn */
function labelOf(readings, drawn) {
  const { fromMicros, toMicros } = spanShown(readings);
  const sight = readings.zoom === null ? 'the whole day' : `${timeText(fromMicros)} to ${timeText(toMicros)}`;
  return `Curves over ${sight}. ${drawn.map(summaryText).join(' ')} Arrow keys go from reading to reading, plus and minus zoom.`;
}

/** @param {Readings} readings @param {readonly Curve[]} drawn */
function hintText({ curves, series }, drawn) {
  if (curves.length === 0)
    return series.length === 0
      ? 'There are no series to be shown.'
      : `Pick a series to see its curve, up to ${MAX_CURVES} at once.`;
  if (drawn.length === 0) return 'These values are no numbers: they stand in the table.';
  return 'Times are UTC. Drag to zoom, double-click for the whole day; with the keyboard: arrows, + and −, Escape. Where no reading came for five times the usual distance, the line is broken.';
}

/** @param {Readings} readings @param {import('./curve-chart.js').Span | null} span null: the whole day */
export function setZoom(readings, span) {
  readings.zoom = span === null ? null : zoomOf(span, readings.fromMicros);
  readings.write({ zoom: readings.zoom });
  draw(readings);
}

/** About what is pointed at, or the middle. @param {Readings} readings @param {number} factor */
export function zoomBy(readings, factor) {
  const { fromMicros, toMicros } = spanShown(readings);
  const middle = readings.pointedAt ?? (fromMicros + toMicros) / 2;
  setZoom(readings, {
    fromMicros: middle - (middle - fromMicros) * factor,
    toMicros: middle + (toMicros - middle) * factor,
  });
}

/** @param {Readings} readings @param {KeyboardEvent} event */
export function walk(readings, event) {
  const { key, shiftKey } = event;
  if (key === '+' || key === '=') zoomBy(readings, 0.5);
  else if (key === '-') zoomBy(readings, 2);
  else if (key === 'Escape') setZoom(readings, null);
  else if (key === 'ArrowLeft' || key === 'ArrowRight')
    step(readings, key === 'ArrowRight' ? 1 : -1, shiftKey ? 50 : 1);
  else return;
  event.preventDefault();
}

/** To the next reading of any curve. @param {Readings} readings @param {1 | -1} way @param {number} count */
function step(readings, way, count) {
  const { curves, chart, announce } = readings;
  const span = spanShown(readings);
  let at = readings.pointedAt ?? (way === 1 ? span.fromMicros - 1 : span.toMicros + 1);
  for (let i = 0; i < count; i++) at = nextReading(curves, span, at, way) ?? at;
  readings.pointedAt = at;
  chart.point(at);
  const text = pointText(curves, at);
  fill(readings.parts.pointed, text);
  announce(text);
}

/** @param {Readings} readings @param {number | null} micros an instant; null: nothing is pointed at */
export function pointAt(readings, micros) {
  readings.pointedAt = micros;
  fill(readings.parts.pointed, micros === null ? '' : pointText(readings.curves, micros));
}
