// @ts-check
/**
 * Curves on one axis of time, drawn by uPlot. Drag to zoom; arrows walk from reading to reading.
 * @typedef {import('./curve-points.js').Readings} Readings
 * @typedef {{ label: string, unit: string | null, colour: number, readings: Readings, band?: { low: Readings, high: Readings } }} Line
 * @typedef {{ fromMicros: number, toMicros: number }} Span
 * @typedef {{ draw(lines: readonly Line[], span: Span): void, point(micros: number | null): void }} CurveChart
 */
import uPlot from '/vendor/uplot/dist/uPlot.esm.js';
import { aligned, gapMicros, pointsIn } from './curve-points.js';

const HEIGHT_PX = 340;
/** Lines are told apart by these too. */
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/** @param {string} name @returns {string} */
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** @param {number} index @returns {string} */
export const colourOf = (index) => css(`--curve-${(index % DASHES.length) + 1}`);

/**
 * @param {HTMLElement} root
 * @param {{ onZoom: (span: Span | null) => void, onPoint: (micros: number | null) => void, signal: AbortSignal }} options
 *   `onZoom` null: all of the day
 * @returns {CurveChart}
 */
export function createCurveChart(root, { onZoom, onPoint, signal }) {
  /** @type {uPlot | undefined} */
  let plot;
  /** @type {readonly Line[]} */
  let lines = [];
  /** @type {Span} */
  let span = { fromMicros: 0, toMicros: 1 };
  let shape = '';

  const resized = new ResizeObserver(() => {
    if (plot !== undefined && Math.abs(plot.width - width()) > 1) {
      plot.setSize({ width: width(), height: HEIGHT_PX });
      fillPlot();
    }
  });
  resized.observe(root);
  const themed = new MutationObserver(() => rebuild());
  themed.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  signal.addEventListener('abort', () => {
    resized.disconnect();
    themed.disconnect();
    plot?.destroy();
  });

  const width = () => Math.max(240, root.clientWidth);

  function rebuild() {
    plot?.destroy();
    plot = undefined;
    if (lines.length === 0) return;
    plot = new uPlot(
      optionsOf(lines, width(), onSelected, onPoint, () => onZoom(null)),
      [[], ...[]],
      root,
    );
    fillPlot();
  }

  /** @param {uPlot} chart */
  function onSelected(chart) {
    const { left, width: px } = chart.select;
    if (px < 4) return;
    const [from, to] = [chart.posToVal(left, 'x'), chart.posToVal(left + px, 'x')];
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    onZoom({ fromMicros: Math.round(from * 1e3), toMicros: Math.round(to * 1e3) });
  }

  function fillPlot() {
    if (plot === undefined) return;
    const window = { ...span, pixels: Math.round(width() * Math.min(2, devicePixelRatio)) };
    const drawn = lines.flatMap((line) => {
      const gap = gapMicros(line.readings);
      const all = line.band === undefined ? [line.readings] : [line.band.high, line.band.low, line.readings];
      return all.map((readings) => pointsIn(readings, { ...window, gap }));
    });
    const [times, ...values] = aligned(drawn);
    const data = /** @type {any} */ ([times.map((micros) => micros / 1e3), ...values]);
    plot.batch(() => {
      plot?.setData(data, false);
      plot?.setScale('x', { min: span.fromMicros / 1e3, max: span.toMicros / 1e3 });
    });
  }

  return {
    draw(newLines, newSpan) {
      [lines, span] = [newLines, newSpan];
      const newShape = JSON.stringify(
        lines.map(({ label, unit, colour, band }) => [label, unit, colour, !band]),
      );
      if (plot === undefined || newShape !== shape) rebuild();
      else fillPlot();
      shape = newShape;
    },
    point(micros) {
      if (plot === undefined) return;
      const left = micros === null ? -10 : plot.valToPos(micros / 1e3, 'x');
      plot.setCursor({ left, top: micros === null ? -10 : 10 }, false);
    },
  };
}

/**
 * @param {readonly Line[]} lines @param {number} width
 * @param {(chart: uPlot) => void} onSelected @param {(micros: number | null) => void} onPoint @param {() => void} onAll
 * @returns {uPlot.Options}
 */
function optionsOf(lines, width, onSelected, onPoint, onAll) {
  const units = [...new Set(lines.map(({ unit }) => unit ?? ''))];
  const scaleOf = (/** @type {string | null} */ unit) => `y${units.indexOf(unit ?? '')}`;
  /** @type {uPlot.Series[]} */
  const series = [{}];
  /** @type {uPlot.Band[]} */
  const bands = [];
  for (const line of lines) {
    const common = { scale: scaleOf(line.unit), spanGaps: false, points: pointsOf(line.colour) };
    if (line.band !== undefined) {
      const edge = {
        ...common,
        width: 0.5,
        stroke: () => `${colourOf(line.colour)}66`,
        points: { show: false },
      };
      series.push({ ...edge, label: `${line.label} max` }, { ...edge, label: `${line.label} min` });
      const at = series.length;
      bands.push({ series: [at - 2, at - 1], fill: () => `${colourOf(line.colour)}2e` });
    }
    series.push({
      ...common,
      label: line.label,
      width: 1.5,
      stroke: () => colourOf(line.colour),
      dash: DASHES[line.colour % DASHES.length] ?? [],
    });
  }
  const ink = { stroke: () => css('--text'), grid: { stroke: () => css('--line'), width: 1 } };
  const ticks = { stroke: () => css('--line'), width: 1 };
  return {
    width,
    height: HEIGHT_PX,
    ms: 1,
    tzDate: (ms) => uPlot.tzDate(new Date(ms), 'UTC'),
    legend: { show: false },
    series,
    bands,
    scales: { x: { time: true, auto: false } },
    axes: [
      { ...ink, ticks, values: (chart, splits) => splits.map((ms) => clockText(ms, chart)) },
      ...units.map((unit, index) => ({
        ...ink,
        ticks,
        scale: `y${index}`,
        side: /** @type {uPlot.Axis.Side} */ (index === 0 ? 3 : 1),
        label: unit === '' ? 'no unit' : unit,
        labelSize: 22,
        size: 64,
        ...(index > 0 && { grid: { show: false } }),
      })),
    ],
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false },
      points: { size: 7 },
      bind: {
        dblclick: () => () => {
          onAll();
          return null;
        },
      },
    },
    hooks: {
      setSelect: [onSelected],
      setCursor: [
        (chart) => {
          const { left = -1 } = chart.cursor;
          onPoint(left < 0 ? null : chart.posToVal(left, 'x') * 1e3);
        },
      ],
    },
  };
}

/** As fine as the ticks are apart. @param {number} ms @param {uPlot} chart */
function clockText(ms, chart) {
  const { min = 0, max = 0 } = chart.scales.x ?? {};
  const seen = Number(max) - Number(min);
  const text = new Date(Math.floor(ms)).toISOString();
  if (seen > 1_800_000) return text.slice(11, 16);
  if (seen > 8_000) return text.slice(11, 19);
  if (seen > 100) return text.slice(11, 23);
  return `${text.slice(17, 23)}${String(Math.round((ms - Math.floor(ms)) * 1e3)).padStart(3, '0')}`;
}

/** All where there is room, else those that stand alone: no line leads to them. @param {number} colour @returns {uPlot.Series.Points} */
function pointsOf(colour) {
  return {
    size: 5,
    fill: () => colourOf(colour),
    stroke: () => colourOf(colour),
    filter: (chart, index, isShown) => {
      if (isShown) return null;
      const values = chart.data[index] ?? [];
      return [...standingAlone(values)];
    },
  };
}

/** @param {ArrayLike<number | null | undefined>} values */
export function* standingAlone(values) {
  let before = /** @type {number | null} */ (null);
  let alone = -1;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value === undefined) continue;
    if (value === null && alone >= 0) yield alone;
    alone = value !== null && before === null ? i : -1;
    before = value;
  }
  if (alone >= 0) yield alone;
}
