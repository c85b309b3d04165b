// @ts-check
/** The lines around the map: what the lake holds in all, how old that is, and what is to be said of the chosen cell. */
import { fill, h } from '../parts/dom.js';
import { counted, dayAddress, plural, shown, shownName } from '../parts/texts.js';
import { dayNumber } from './dates.js';
import { agoText, cellFacts, swatch } from './texts.js';

const TICK_MS = 1_000;

/** @param {{ refresh: () => void, signal: AbortSignal }} on */
export function createFacts(on) {
  const line = h('span', {});
  const age = h('span', { class: 'cov-muted' });
  const button = h('button', { type: 'button', onclick: on.refresh }, 'Read again');
  const element = h('p', { class: 'cov-facts' }, line, h('span', { class: 'cov-age' }, age, button));
  /** Of the answer when it came, by the server's clock: this one's may be wrong. */
  let agedMs = 0;
  let cameAt = performance.now();
  const tick = () => {
    const text = `read ${agoText((agedMs + performance.now() - cameAt) / 1_000)} ago`;
    if (age.textContent !== text) age.textContent = text;
  };
  const timer = setInterval(tick, TICK_MS);
  on.signal.addEventListener('abort', () => clearInterval(timer));
  return {
    element,
    /** @param {boolean} isReading */
    reading(isReading) {
      // Not disabled: it would lose the focus.
      button.setAttribute('aria-disabled', String(isReading));
      button.textContent = isReading ? 'Reading …' : 'Read again';
    },
    /** @param {import('./grid.js').Grid} grid @param {number} nowMs of the server */
    show({ answer, dayCount }, nowMs) {
      agedMs = Math.max(0, nowMs - answer.readAtMs);
      cameAt = performance.now();
      tick();
      const { job, oldestGap, lastPublished } = answer;
      /** @param {{ vessel: string, date: string }} of */
      const link = ({ vessel, date }) =>
        h('a', { href: dayAddress(job, vessel, date) }, h('bdi', {}, shownName(vessel)), `, ${date}`);
      fill(
        line,
        `${plural(answer.vessels.length, 'vessel')} × ${plural(dayCount, 'day')} · ${plural(answer.rows, 'row')}`,
        ' · oldest gap: ',
        oldestGap === null ? 'none' : link(oldestGap),
        ' · last published: ',
        lastPublished === null ? 'nothing yet' : link(lastPublished),
        lastPublished && ` at ${shown(lastPublished.finishedAt.slice(0, 16).replace('T', ' '))} UTC`,
      );
    },
  };
}

/** What the chosen cell is: the same for those who look, touch or come by keyboard. @param {string} keysText */
export function createChosen(keysText) {
  const line = h('p', { class: 'cov-chosen' });
  const keysId = 'cov-keys';
  const keys = h(
    'details',
    { class: 'cov-keys' },
    h('summary', {}, 'Keys'),
    h('p', { id: keysId }, keysText),
  );
  return {
    element: h('div', { class: 'cov-below' }, line, keys),
    keysId,
    /** @param {import('./grid.js').Grid} grid @param {string | null} vessel @param {string | null} date */
    show(grid, vessel, date) {
      const row = grid.rowOf.get(vessel ?? '');
      const day = dayNumber(date ?? '') - grid.fromDay;
      if (row === undefined || !(day >= 0 && day < grid.dayCount)) {
        fill(
          line,
          h('span', { class: 'cov-muted' }, 'A click on a cell opens its day; arrow keys walk the map.'),
        );
        return;
      }
      const facts = cellFacts(grid, row, day);
      fill(
        line,
        swatch(facts.kind),
        h('strong', {}, h('bdi', {}, shownName(facts.vessel))),
        h('span', {}, `${facts.weekday} ${facts.date}`),
        h('span', {}, facts.kind.word),
        h('span', { class: 'cov-muted' }, facts.reason ?? facts.kind.meaning),
        h('a', { href: dayAddress(grid.answer.job, facts.vessel, facts.date) }, 'Open the day'),
      );
    },
  };
}

/** How many vessels are shown, or why none is; nothing where all are. @param {import('./grid.js').Grid} grid @param {Int32Array} rows */
export function shownText(grid, rows) {
  const { length } = grid.vessels;
  if (length === 0)
    return 'No vessels yet: nothing is published, and the job finds its vessels when it is first exported.';
  if (rows.length === 0) return 'No vessel is left by these filters.';
  return rows.length === length ? '' : `${counted(rows.length)} of ${plural(length, 'vessel')} shown`;
}
