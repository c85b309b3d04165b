// @ts-check
/** A curve: the readings of one series, as they are shown, told and saved. */
import { h, table } from '../parts/dom.js';
import { firstFrom, summaryOf } from './curve-points.js';
import { counted, instantText, numberText, plural, shown, shownName, timeText } from './texts.js';

/**
 * @typedef {import('./day-parquet.js').ColumnOfSeries} ColumnOfSeries
 * @typedef {import('./curve-points.js').Readings} Readings
 * @typedef {import('./curve-chart.js').Span} Span
 * @typedef {{ id: string, name: string, fullName: string, unit: string | null, colour: number, column: string | null, raw: ColumnOfSeries,
 *   readings: Readings, texts: number, band?: { low: Readings, high: Readings } }} Curve `readings` has NaN for what is no number
 */

/** @param {ColumnOfSeries} raw @returns {Readings} */
export function readingsOf({ times, values }) {
  const number = (/** @type {ColumnOfSeries['values'][number]} */ value) =>
    typeof value === 'number' || typeof value === 'bigint' ? Number(value) : Number.NaN;
  return { times, values: Float64Array.from(values, number) };
}

/** @param {ColumnOfSeries['values'][number]} value @param {string | null} unit @returns {string} */
export function valueText(value, unit) {
  if (value === null) return 'no value';
  if (typeof value === 'string') return shown(value, 300);
  return unit === null ? numberText(value) : `${numberText(value)} ${shown(unit, 20)}`;
}

/** First to last, smallest and largest, for the eye and for those who listen. @param {Curve} curve */
function factsOf({ raw, readings, unit, texts }) {
  const { count, low, high, odd } = summaryOf(readings);
  const value = (/** @type {number} */ i) => (i < 0 ? '–' : valueText(raw.values[i] ?? null, unit));
  const moment = (/** @type {number} */ i) => (i < 0 ? '' : timeText(raw.times[i] ?? 0));
  const notes = [
    texts > 0 ? `${plural(texts, 'value is', 'values are')} JSON` : '',
    odd - texts > 0 ? `${plural(odd - texts, 'value is', 'values are')} no number, infinite or absent` : '',
  ].filter((note) => note !== '');
  return { count, low, high, value, moment, notes, last: count - 1 };
}

/** @param {Curve} curve @returns {string} */
export function summaryText(curve) {
  const { count, low, high, value, moment, notes, last } = factsOf(curve);
  const name = shownName(curve.name);
  if (count === 0) return `${name}: no readings.`;
  const range =
    low < 0 ? '' : `, smallest ${value(low)} at ${moment(low)}, largest ${value(high)} at ${moment(high)}`;
  const ends = `first ${value(0)} at ${moment(0)}, last ${value(last)} at ${moment(last)}`;
  return `${[`${name}: ${plural(count, 'reading')}, ${ends}${range}`, ...notes].join('; ')}.`;
}

/** @param {readonly Curve[]} curves @param {(id: string) => void} onRemove */
export function summaryTable(curves, onRemove) {
  const heads = ['Series', 'Readings', 'First', 'Last', 'Smallest', 'Largest', ''];
  const rows = curves.map((curve) => {
    const { count, low, high, value, moment, notes, last } = factsOf(curve);
    const at = (/** @type {number} */ i) =>
      i < 0 ? h('td', {}, '–') : h('td', {}, value(i), h('br'), h('span', { class: 'hint' }, moment(i)));
    const name = shownName(curve.name);
    return h(
      'tr',
      {},
      h(
        'th',
        { scope: 'row' },
        h('span', { class: `swatch curve-${curve.colour + 1}` }),
        name,
        curve.column === null ? null : ` (${shownName(curve.column)})`,
        notes.length > 0 && h('span', { class: 'hint note' }, notes.join('; ')),
      ),
      h('td', { class: 'number' }, counted(count)),
      ...[count > 0 ? 0 : -1, last, low, high].map(at),
      h(
        'td',
        {},
        h(
          'button',
          { type: 'button', 'aria-label': `Remove ${name}`, onclick: () => onRemove(curve.id) },
          '✕',
        ),
      ),
    );
  });
  return table(heads, rows, { class: 'curve-facts' });
}

/** The reading nearest to an instant; undefined where there is none. @param {Curve} curve @param {number} micros */
function nearest({ raw }, micros) {
  const { times, values } = raw;
  const after = firstFrom(times, micros);
  const [a, b] = [times[after - 1], times[after]];
  const i = a !== undefined && (b === undefined || micros - a <= b - micros) ? after - 1 : after;
  const time = times[i];
  return time === undefined ? undefined : { time, value: values[i] ?? null };
}

/** @param {readonly Curve[]} curves @param {number} micros @returns {string} what a cursor points at: its time, and the readings nearest to it */
export function pointText(curves, micros) {
  const readings = curves.map((curve) => {
    const found = nearest(curve, micros);
    const said =
      found === undefined ? 'none' : `${valueText(found.value, curve.unit)} at ${timeText(found.time)}`;
    return `${shownName(curve.name)}: ${said}`;
  });
  return [timeText(Math.round(micros)), ...readings].join(' · ');
}

/** Places of what lies in a span. @param {Curve} curve @param {Span} span @returns {[from: number, to: number]} */
export function placesIn({ raw }, { fromMicros, toMicros }) {
  return [firstFrom(raw.times, fromMicros), firstFrom(raw.times, toMicros)];
}

/**
 * The reading of any curve that comes next, within a span; undefined where there is none.
 * @param {readonly Curve[]} curves @param {Span} span @param {number} micros @param {1 | -1} way
 */
export function nextReading(curves, span, micros, way) {
  const nexts = curves.flatMap(({ raw: { times } }) => {
    // Half a microsecond: a pointer stands between them.
    const next =
      way === 1 ? times[firstFrom(times, micros + 0.5)] : times[firstFrom(times, micros - 0.5) - 1];
    return next === undefined || next < span.fromMicros || next >= span.toMicros ? [] : [next];
  });
  if (nexts.length === 0) return undefined;
  return way === 1 ? Math.min(...nexts) : Math.max(...nexts);
}

/** Of what lies in a span, with every digit. @param {readonly Curve[]} curves @param {Span} span @returns {string[]} */
export function csvOf(curves, span) {
  const lines = [csvLine(['timestamp', 'time_series_id', 'name', 'column', 'value'])];
  for (const curve of curves) {
    const [from, to] = placesIn(curve, span);
    const { id, fullName, column, raw } = curve;
    for (let i = from; i < to; i++) {
      const value = exactText(raw.values[i] ?? null);
      lines.push(csvLine([instantText(raw.times[i] ?? 0), id, harmless(fullName), column ?? '', value]));
    }
  }
  return lines;
}

const STEP_ROWS = 200;

/** The readings of a span as a table, some at a time. @param {readonly Curve[]} curves @param {Span} span */
export function readingsTable(curves, span) {
  const rows = h('tbody');
  const places = curves.map((curve) => ({
    curve,
    at: placesIn(curve, span)[0],
    end: placesIn(curve, span)[1],
  }));
  const more = h('button', { type: 'button', onclick: () => add() }, `Show ${STEP_ROWS} more`);
  add();
  function add() {
    for (let shownRows = 0; shownRows < STEP_ROWS; shownRows++) {
      // The earliest of all that are left.
      const next = places
        .filter(({ at, end }) => at < end)
        .sort((a, b) => (a.curve.raw.times[a.at] ?? 0) - (b.curve.raw.times[b.at] ?? 0))[0];
      if (next === undefined) break;
      const { curve } = next;
      const [time, value] = [curve.raw.times[next.at] ?? 0, curve.raw.values[next.at] ?? null];
      next.at++;
      rows.append(
        h(
          'tr',
          {},
          h('td', {}, timeText(time)),
          h('td', {}, shownName(curve.name)),
          h('td', { class: 'value' }, valueText(value, curve.unit)),
        ),
      );
    }
    more.hidden = places.every(({ at, end }) => at >= end);
  }
  return h('div', { class: 'readings-table' }, table(['Time (UTC)', 'Series', 'Value'], rows), more);
}

/** @param {number | bigint | string | null} value @returns {string} every digit, so that it can be read back exactly */
function exactText(value) {
  if (value === null) return '';
  return Object.is(value, -0) ? '-0' : String(value);
}

/** @param {readonly string[]} cells @returns {string} a line by RFC 4180, without its end */
function csvLine(cells) {
  return cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',');
}

/** A name that a spreadsheet would take for a formula. @param {string} name @returns {string} */
function harmless(name) {
  return /^[=+\-@\t\r]/.test(name) ? `'${name}` : name;
}

/** @param {string} fileName @param {readonly string[]} lines */
export function downloadCsv(fileName, lines) {
  const url = URL.createObjectURL(new Blob([`${lines.join('\r\n')}\r\n`], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName;
  link.click();
  // The browser has it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
