// @ts-check
/** The proof hour by hour: what is published, beside what the source counted. */
import { h, table } from '../parts/dom.js';
import { counted, plural } from './texts.js';

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);
/** @param {number} hour */
const nameOf = (hour) => `${String(hour).padStart(2, '0')}:00`;

/**
 * @param {NonNullable<import('../../answers.ts').VesselDayAnswer['hours']>} hours
 * @returns {HTMLElement}
 */
export function hoursChart({ ours, source }) {
  const most = Math.max(1, ...ours, ...(source ?? []));
  const differing = source === null ? [] : HOURS.filter((hour) => ours[hour] !== source[hour]);
  const text = hoursText({ ours, source });
  const bars = HOURS.map((hour) => {
    const [own, theirs] = [ours[hour] ?? 0, source?.[hour] ?? null];
    const isDiffering = differing.includes(hour);
    return h(
      'div',
      { class: isDiffering ? 'hour differs' : 'hour', title: hourText(hour, own, theirs) },
      h('span', { class: 'mark' }, isDiffering ? '≠' : ''),
      h(
        'div',
        { class: 'bars' },
        bar('ours', own, most),
        theirs === null ? null : bar('source', theirs, most),
      ),
      h('span', { class: 'name' }, hour % 3 === 0 ? nameOf(hour).slice(0, 2) : ''),
    );
  });
  return h(
    'figure',
    { class: 'hours' },
    h('div', { class: 'hour-chart', role: 'img', 'aria-label': text }, ...bars),
    h(
      'figcaption',
      {},
      h('span', { class: 'key ours' }, 'published'),
      source === null ? null : h('span', { class: 'key source' }, 'counted by the source'),
      h('span', { class: differing.length > 0 ? 'fault' : 'hint' }, text),
    ),
    h('details', {}, h('summary', {}, 'As a table'), hoursTable({ ours, source })),
  );
}

/** @param {string} kind @param {number} count @param {number} most */
function bar(kind, count, most) {
  const element = h('i', { class: kind });
  element.style.height = count === 0 ? '0' : `${Math.max(2, (100 * count) / most)}%`;
  return element;
}

/** @param {number} hour @param {number} ours @param {number | null} source */
function hourText(hour, ours, source) {
  const theirs = source === null ? '' : `, ${counted(source)} counted by the source`;
  return `${nameOf(hour)}: ${plural(ours, 'reading')} published${theirs}`;
}

/** @param {{ ours: readonly number[], source: readonly number[] | null }} hours @returns {string} */
function hoursText({ ours, source }) {
  const total = ours.reduce((sum, count) => sum + count, 0);
  const quiet = ours.filter((count) => count === 0).length;
  const whole = `${plural(total, 'reading')} in ${24 - quiet} of 24 hours`;
  if (source === null) return `${whole}; the source was not queried (unproven).`;
  const differing = HOURS.filter((hour) => ours[hour] !== source[hour]);
  if (differing.length === 0) return `${whole}; every hour has as many as the source counted.`;
  const named = differing.map((hour) => hourText(hour, ours[hour] ?? 0, source[hour] ?? 0)).join('; ');
  return `${whole}; ${plural(differing.length, 'hour differs', 'hours differ')}: ${named}.`;
}

/** @param {{ ours: readonly number[], source: readonly number[] | null }} hours */
function hoursTable({ ours, source }) {
  const heads = ['Hour (UTC)', 'Published', ...(source === null ? [] : ['Source', 'Difference'])];
  const rows = HOURS.map((hour) => {
    const own = ours[hour] ?? 0;
    const cells = [counted(own)];
    if (source !== null) {
      const difference = own - (source[hour] ?? 0);
      cells.push(counted(source[hour] ?? 0), difference === 0 ? 'none' : counted(difference));
    }
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, nameOf(hour)),
      ...cells.map((cell) => h('td', { class: 'number' }, cell)),
    );
  });
  return table(
    heads.map((text, i) => ({ text, isNumber: i > 0 })),
    rows,
  );
}
