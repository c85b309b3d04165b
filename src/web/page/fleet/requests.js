// @ts-check
/** What was asked of the service in the last day: a chart, the same as a sentence, and as a table. */
import uPlot from '/vendor/uplot/dist/uPlot.esm.js';
import { fill, h, table } from '../parts/dom.js';
import { plural } from '../parts/texts.js';
import { say } from './keyed.js';
import { numbers } from './tables.js';
import { clockTime, inFull, moment } from './words.js';

/**
 * @typedef {import('../../answers.ts').FleetAnswer} FleetAnswer
 * @typedef {FleetAnswer['requests'][number]} Step
 * @typedef {{ label: string, of: (step: Step) => number, colour: string, dash: number[] }} Line
 */

const HEIGHT_PX = 130;
const STEP_SECONDS = 600;
/** Room for the numbers beside the curves. */
const AXIS_PX = 56;

/** Above: all that was asked. @type {readonly Line[]} */
const ALL = [{ label: 'requests', of: ({ requests }) => requests, colour: '--fleet-requests', dash: [] }];
/** Below, at a scale of their own: what went wrong. @type {readonly Line[]} */
const TROUBLES = [
  { label: 'refused (429)', of: ({ limited }) => limited, colour: '--fleet-limited', dash: [] },
  { label: 'asked again', of: ({ retries }) => retries, colour: '--fleet-retries', dash: [6, 4] },
  { label: 'errors', of: ({ errors }) => errors, colour: '--fleet-errors', dash: [2, 3] },
];

/** @param {AbortSignal} signal */
export function requestsSection(signal) {
  const summary = h('p', {});
  const charts = [
    chart('Requests in each ten minutes', ALL),
    chart('Refused, retried and failed in each ten minutes', TROUBLES),
  ];
  const body = h('tbody');
  const heads = ['from', ...['requests', 'refused (429)', 'asked again', 'errors'].map(numbers)];
  const caption = 'Requests by ten minutes, the newest first';
  const details = h(
    'details',
    {},
    h('summary', {}, 'The same as a table'),
    h(
      'div',
      {
        class: 'fleet-scroll fleet-steps',
        tabindex: '0',
        role: 'region',
        'aria-label': 'Requests by ten minutes',
      },
      table(heads, body, { caption }),
    ),
  );
  /** @type {readonly Step[]} */
  let steps = [];
  let drawn = '';
  const drawTable = () => {
    if (/** @type {HTMLDetailsElement} */ (details).open)
      fill(body, ...steps.filter(isBusy).toReversed().map(rowOf));
  };
  details.addEventListener('toggle', drawTable, { signal });

  const element = h('div', {}, summary, ...charts.map((each) => each.element), details);
  const fit = new ResizeObserver(() => {
    for (const each of charts) each.draw(steps, element.clientWidth, false);
  });
  fit.observe(element);
  // Colours are the theme's.
  const restyle = new MutationObserver(() => {
    for (const each of charts) each.draw(steps, element.clientWidth, true);
  });
  restyle.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  signal.addEventListener(
    'abort',
    () => {
      fit.disconnect();
      restyle.disconnect();
      for (const each of charts) each.end();
    },
    { once: true },
  );

  return {
    element,
    /** @param {FleetAnswer} fleet */
    update({ requests }) {
      const text = JSON.stringify(requests);
      if (text === drawn) return;
      drawn = text;
      steps = requests;
      say(summary, sentenceOf(requests));
      for (const each of charts) each.draw(requests, element.clientWidth, false);
      details.hidden = !requests.some(isBusy);
      drawTable();
    },
  };
}

/** @param {Step} step */
function isBusy({ requests, limited, retries, errors }) {
  return requests + limited + retries + errors > 0;
}

/** @param {Step} step */
function rowOf({ fromMs, ...counts }) {
  const { requests, limited, retries, errors } = counts;
  const cells = [requests, limited, retries, errors].map((count) =>
    h('td', { class: count === 0 ? 'number fleet-none' : 'number' }, inFull(count)),
  );
  return h('tr', {}, h('th', { scope: 'row' }, moment(fromMs)), ...cells);
}

/** @param {readonly Step[]} steps what the charts say, for those who do not see them */
function sentenceOf(steps) {
  const sum = (/** @type {(step: Step) => number} */ of) => steps.reduce((all, step) => all + of(step), 0);
  const all = sum(({ requests }) => requests);
  if (all === 0) return 'No requests to the service in the last 24 hours.';
  const most = steps.reduce((best, step) => (step.requests > best.requests ? step : best));
  const lastHour = steps.slice(-6).reduce((count, { requests }) => count + requests, 0);
  const refused = sum(({ limited }) => limited);
  return [
    `In 24 hours ${plural(all, 'request')}, ${inFull(lastHour)} in the last hour`,
    `most from ${clockTime(most.fromMs)} on, ${inFull(most.requests)} in ten minutes`,
    `${plural(refused, 'refusal')} (429), ${inFull(sum(({ retries }) => retries))} asked again, ${plural(
      sum(({ errors }) => errors),
      'error',
    )}.`,
  ].join('; ');
}

/** @param {string} title @param {readonly Line[]} lines */
function chart(title, lines) {
  // Its text stands above it.
  const canvas = h('div', { class: 'fleet-chart', 'aria-hidden': 'true' });
  const legend = h(
    'p',
    { class: 'fleet-legend' },
    ...lines.map(({ label, colour, dash }) => {
      const sign = h('span', { class: 'fleet-line', 'aria-hidden': 'true' });
      sign.style.borderTopColor = `var(${colour})`;
      sign.style.borderTopStyle = dash.length === 0 ? 'solid' : dash[0] === 2 ? 'dotted' : 'dashed';
      return h('span', {}, sign, label);
    }),
  );
  /** @type {uPlot | undefined} */
  let plot;

  /** @param {readonly Step[]} steps @returns {uPlot.AlignedData} */
  const dataOf = (steps) => [
    steps.map(({ fromMs }) => fromMs / 1_000),
    ...lines.map(({ of }) => steps.map(of)),
  ];
  const element = h('figure', { class: 'fleet-figure' }, h('figcaption', {}, title), legend, canvas);
  return {
    element,
    /** @param {readonly Step[]} steps @param {number} width @param {boolean} anew */
    draw(steps, width, anew) {
      element.hidden = !steps.some((step) => lines.some(({ of }) => of(step) > 0));
      if (element.hidden || width === 0) return;
      if (anew) plot?.destroy();
      if (plot === undefined || anew) plot = new uPlot(settings(lines, width), dataOf(steps), canvas);
      else plot.setData(dataOf(steps));
      if (plot.width !== width) plot.setSize({ width, height: HEIGHT_PX });
    },
    end: () => plot?.destroy(),
  };
}

/** @param {readonly Line[]} lines @param {number} width @returns {uPlot.Options} */
function settings(lines, width) {
  const style = getComputedStyle(document.documentElement);
  const colourOf = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colourOf('--muted'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: colourOf('--line'), width: 1 },
    ticks: { stroke: colourOf('--line'), width: 1 },
  };
  const paths =
    lines.length === 1 ? uPlot.paths.bars?.({ size: [1, 100] }) : uPlot.paths.stepped?.({ align: 1 });
  return {
    width,
    height: HEIGHT_PX,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { range: (_, from, to) => [from, to + STEP_SECONDS] },
      y: { range: (_, __, most) => [0, Math.max(4, most * 1.1)] },
    },
    axes: [
      { ...axis, values: hours },
      {
        ...axis,
        size: AXIS_PX,
        values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? inFull(tick) : '')),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, colour, dash }) => ({
        label,
        stroke: colourOf(colour),
        width: lines.length === 1 ? 0 : 2,
        ...(lines.length === 1 ? { fill: colourOf(colour) } : {}),
        ...(dash.length > 0 ? { dash } : {}),
        ...(paths === undefined ? {} : { paths }),
        points: { show: false },
      })),
    ],
  };
}

/** @param {unknown} _plot @param {readonly number[]} ticks seconds; hours of UTC */
function hours(_plot, ticks) {
  return ticks.map((seconds) => new Date(seconds * 1_000).toISOString().slice(11, 16));
}
