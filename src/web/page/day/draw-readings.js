// @ts-check
/** What is shown of the readings of a day, drawn: curves, what they come to, and a table. */
import { fill, h } from '../parts/dom.js';
import { placesIn, readingsTable, summaryTable, summaryText } from './curves.js';
import { MAX_CURVES, spanOf } from './settings.js';
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
