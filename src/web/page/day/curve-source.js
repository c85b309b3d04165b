// @ts-check
/** Series of a day as curves: each is read once, and kept while the day is shown. */
import { readingsOf } from './curves.js';
import { readSeries } from './day-parquet.js';
import { timeText, withoutVessel } from './texts.js';

/**
 * @typedef {import('./curves.js').Curve} Curve
 * @typedef {Omit<Curve, 'colour'>} ReadCurve
 * @typedef {import('./day-parquet.js').ColumnOfSeries} ColumnOfSeries
 * @typedef {import('./day-parquet.js').DayParquet} DayParquet
 */

/** Columns of windows that make one curve. */
const BAND = 'mean, with min and max';

/**
 * @param {DayParquet} day
 * @param {readonly import('../../answers.ts').DaySeries[]} series
 * @param {string} vessel
 */
export function createCurveSource(day, series, vessel) {
  const known = new Map(series.map((one) => [one.id, one]));
  /** @type {Map<string, Promise<ReadCurve>>} */
  const curves = new Map();
  const names = day.columns.map(({ column }) => column);
  const hasBand = ['mean', 'min', 'max'].every((name) => names.includes(name));
  /** What of windows can be shown, the best first; nothing to choose for readings. */
  const columns = day.isMeasurements ? [] : [...(hasBand ? [BAND] : []), ...names];

  /** @param {string} id @param {string | null} column @returns {Promise<ReadCurve>} */
  async function read(id, column) {
    const { name, unit } = known.get(id) ?? { name: null, unit: null };
    const facts = { id, name: withoutVessel(name ?? id, vessel), fullName: name ?? id, unit };
    if (day.isMeasurements) return { ...facts, column: null, ...shapeOf(await readSeries(day, id)) };
    if (column === BAND) {
      const [raw, low, high] = await Promise.all(
        ['mean', 'min', 'max'].map((one) => readSeries(day, id, one)),
      );
      const band = { low: readingsOf(rawOf(low)), high: readingsOf(rawOf(high)) };
      return { ...facts, column: 'mean', ...shapeOf(rawOf(raw)), band };
    }
    const raw = await readSeries(day, id, column ?? '');
    const isTime = day.columns.find((one) => one.column === column)?.kind === 'time';
    const values = isTime
      ? raw.values.map((value) => (value === null ? null : timeText(Number(value))))
      : raw.values;
    return { ...facts, unit: column === 'count' ? null : unit, column, ...shapeOf({ ...raw, values }) };
  }

  const keyOf = (/** @type {string} */ id, /** @type {string | null} */ column) => `${id}\n${column ?? ''}`;
  return {
    columns,
    /** Was it read, or is it being read? @param {string} id @param {string | null} column */
    has: (id, column) => curves.has(keyOf(id, column)),
    /** @param {string} id @param {string | null} column one of `columns` @returns {Promise<ReadCurve>} throws what reading throws */
    read(id, column) {
      const key = keyOf(id, column);
      const reading = curves.get(key) ?? read(id, column);
      curves.set(key, reading);
      reading.catch(() => curves.delete(key));
      return reading;
    },
  };
}

/** @param {ColumnOfSeries | undefined} raw @returns {ColumnOfSeries} */
const rawOf = (raw) => raw ?? { times: [], values: [] };

/** @param {ColumnOfSeries} raw */
function shapeOf(raw) {
  return {
    raw,
    readings: readingsOf(raw),
    texts: raw.values.filter((value) => typeof value === 'string').length,
  };
}
