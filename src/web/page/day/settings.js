// @ts-check
/**
 * What of a vessel-day is shown, as the address says it: `s` (series, up to four), `from` and `to` (seconds of the day),
 * `column` (of windows), `version` (of the table). What it says wrongly counts as not said.
 * @typedef {{ series: readonly string[], zoom: readonly [fromSecond: number, toSecond: number] | null,
 *   column: string | null, version: number | null }} DaySettings
 */

export const MAX_CURVES = 4;
const DAY_SECONDS = 86_400;

/** @param {URLSearchParams} query @returns {DaySettings} */
export function settingsOf(query) {
  const [from, to] = [query.get('from'), query.get('to')].map((text) =>
    text === null ? Number.NaN : Number(text),
  );
  const isZoom = from !== undefined && to !== undefined && from >= 0 && to > from && to <= DAY_SECONDS;
  const version = query.get('version');
  return {
    series: [...new Set(query.getAll('s'))].slice(0, MAX_CURVES),
    zoom: isZoom ? [from, to] : null,
    column: query.get('column'),
    version: version !== null && /^\d{1,15}$/.test(version) ? Number(version) : null,
  };
}

/** @param {DaySettings} settings @returns {string} with its `?`, or nothing where all is as by default */
export function queryOf({ series, zoom, column, version }) {
  const query = new URLSearchParams();
  for (const id of series) query.append('s', id);
  if (zoom !== null) {
    query.set('from', String(Number(zoom[0].toFixed(6))));
    query.set('to', String(Number(zoom[1].toFixed(6))));
  }
  if (column !== null) query.set('column', column);
  if (version !== null) query.set('version', String(version));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** A narrower one would show nothing: the times of readings have microseconds. */
const MIN_SECONDS = 20 / 1e6;

/** What is in sight. @param {DaySettings['zoom']} zoom @param {number} dayMicros when the day begins @returns {import('./curve-chart.js').Span} */
export function spanOf(zoom, dayMicros) {
  const [from, to] = zoom ?? [0, DAY_SECONDS];
  return { fromMicros: dayMicros + Math.round(from * 1e6), toMicros: dayMicros + Math.round(to * 1e6) };
}

/** The same as a setting, within the day; null: all of it. @param {import('./curve-chart.js').Span} span @param {number} dayMicros @returns {DaySettings['zoom']} */
export function zoomOf({ fromMicros, toMicros }, dayMicros) {
  const from = Math.min(Math.max(0, (fromMicros - dayMicros) / 1e6), DAY_SECONDS - MIN_SECONDS);
  const to = Math.min(DAY_SECONDS, Math.max(from + MIN_SECONDS, (toMicros - dayMicros) / 1e6));
  return to - from >= DAY_SECONDS - 0.001 ? null : [from, to];
}
