// @ts-check
/**
 * Why days failed or wait, by code, each with the way to its day; and what somebody is to decide of days that are good:
 * refusals, and the warnings that stand open.
 */

import { actControls } from '../acts/controls.js';
import { fill, h } from '../parts/dom.js';
import { BY_STATE } from '../parts/states.js';
import { counted, dayAddress, plural, shown, shownName } from '../parts/texts.js';
import { troubleGroups } from './rows.js';
import { swatch } from './texts.js';

const FIRST = 10;
const MORE = 100;

/** @param {import('../view.d.ts').ViewContext} context @param {() => void} changed after an act */
export function createTroubles(context, changed) {
  const element = h('div', { class: 'cov-lists' });
  return {
    element,
    /** @param {import('./grid.js').Grid} grid @param {import('./settings.js').Settings} settings */
    show(grid, settings) {
      const { answer } = grid;
      const groups = troubleGroups(grid, settings);
      const refusals = groups.filter(({ state }) => state === 'refused');
      const wrong = groups.filter(({ state }) => state !== 'refused');
      const listed = groups.reduce((sum, group) => sum + group.troubles.length, 0);
      const isFirst = element.childElementCount === 0;
      const isOpen = new Set(
        [...element.querySelectorAll('details[open]')].map(
          (one) => /** @type {HTMLElement} */ (one).dataset.key,
        ),
      );
      const { length } = answer.troubles;
      fill(
        element,
        h(
          'section',
          { 'aria-labelledby': 'cov-troubles' },
          h(
            'h2',
            { id: 'cov-troubles' },
            'Problems ',
            h('span', { class: 'cov-count' }, counted(answer.totals.failed + answer.totals.waiting)),
          ),
          answer.troubleCount > length &&
            h(
              'p',
              { class: 'cov-muted' },
              `Listed are the first ${counted(length)} by date: choose fewer days to see the rest.`,
            ),
          listed < length &&
            h('p', { class: 'cov-muted' }, `${counted(listed)} of ${counted(length)} as filtered above.`),
          answer.totals.failed + answer.totals.waiting === 0 &&
            h('p', { class: 'cov-muted' }, 'Nothing failed or waits in these days.'),
          answer.totals.failed > 0 &&
            actControls(context, { kind: 'failed', job: answer.job }, { onDone: changed }),
          ...wrong.map((group, i) =>
            trouble(answer.job, group, isFirst ? i === 0 : isOpen.has(keyOf(group))),
          ),
        ),
        answer.totals.refused > 0 &&
          h(
            'section',
            { 'aria-labelledby': 'cov-refused' },
            h(
              'h2',
              { id: 'cov-refused' },
              'Refused ',
              h('span', { class: 'cov-count' }, counted(answer.totals.refused)),
            ),
            h('p', { class: 'cov-muted' }, 'The published days stay as they are until somebody decides.'),
            ...refusals.map((group) => trouble(answer.job, group, isOpen.has(keyOf(group)))),
          ),
        answer.warnings.length > 0 && warnings(context, answer, changed),
      );
    },
  };
}

/** @param {{ state: string, code: string }} group */
const keyOf = ({ state, code }) => `${state} ${code}`;

/** @param {string} job @param {ReturnType<typeof troubleGroups>[number]} group @param {boolean} isOpen */
function trouble(job, group, isOpen) {
  const { code, state, troubles } = group;
  const kind = BY_STATE.get(state);
  const list = h('ul', {});
  const details = h(
    'details',
    { 'data-key': keyOf(group), open: isOpen },
    h(
      'summary',
      {},
      kind !== undefined && swatch(kind),
      h('strong', {}, shownName(code)),
      h('span', { class: 'cov-count' }, counted(troubles.length)),
      h('span', {}, kind?.word ?? shownName(state)),
      h('span', { class: 'cov-sample' }, shown(troubles[0]?.message ?? '', 160)),
    ),
    list,
  );
  const begin = () => {
    if (list.childElementCount === 0) listMore(list, job, troubles, FIRST);
  };
  if (isOpen) begin();
  details.addEventListener('toggle', begin);
  return details;
}

/**
 * @param {HTMLElement} list @param {string} job
 * @param {readonly { vessel: string, date: string, message: string }[]} items those that are not listed yet
 * @param {number} count how many now
 * @param {(item: { vessel: string }) => HTMLElement | null | false} [act] what can be done about one
 */
function listMore(list, job, items, count, act = () => null) {
  const rest = items.slice(count);
  const added = items
    .slice(0, count)
    .map(({ vessel, date, message }) =>
      h(
        'li',
        {},
        h('a', { href: dayAddress(job, vessel, date) }, h('bdi', {}, shownName(vessel)), `, ${date}`),
        ' ',
        h('span', { class: 'cov-muted' }, shown(message)),
        act({ vessel }),
      ),
    );
  list.append(...added);
  if (rest.length === 0) return;
  const more = h(
    'li',
    {},
    h(
      'button',
      {
        type: 'button',
        onclick: () => {
          more.remove();
          listMore(list, job, rest, MORE, act);
          /** @type {HTMLElement | null} */ (
            added.at(-1)?.nextElementSibling?.querySelector('a') ?? null
          )?.focus();
        },
      },
      `${plural(rest.length, 'more', 'more')}`,
    ),
  );
  list.append(more);
}

/**
 * @param {import('../view.d.ts').ViewContext} context @param {import('./grid.js').CoverageAnswer} answer
 * @param {() => void} changed
 */
function warnings(context, { job, warnings: all }, changed) {
  const list = h('ul', {});
  /** @param {{ vessel: string }} of */
  const act = ({ vessel }) =>
    context.session.mayAct && actControls(context, { kind: 'warning', job, vessel }, { onDone: changed });
  listMore(list, job, all, FIRST, act);
  return h(
    'section',
    { 'aria-labelledby': 'cov-warnings' },
    h('h2', { id: 'cov-warnings' }, 'Warnings ', h('span', { class: 'cov-count' }, counted(all.length))),
    h('p', { class: 'cov-muted' }, 'Complete days that say something until somebody accepts it.'),
    list,
  );
}
