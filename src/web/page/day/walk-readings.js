// @ts-check
/** Through the readings of a day: nearer, farther, and from one to the next. */
import { fill } from '../parts/dom.js';
import { nextReading, pointText } from './curves.js';
import { draw, spanShown } from './draw-readings.js';
import { zoomOf } from './settings.js';

/** @typedef {import('./draw-readings.js').Readings} Readings */

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
