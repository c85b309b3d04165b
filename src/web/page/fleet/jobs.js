// @ts-check
/** What was planned and found of each job, and its backfills. */
import { h } from '../parts/dom.js';
import { plural } from '../parts/texts.js';
import { controlsFor } from './hold.js';
import { cell, keyedTable, progressBar, say } from './keyed.js';
import { numbers } from './tables.js';
import { duration, inFull, inShort, moment, NOT_KNOWN, percent, shareOf, spoken } from './words.js';

/**
 * @typedef {import('../../answers.ts').FleetAnswer} FleetAnswer
 * @typedef {import('../view.d.ts').ViewContext} ViewContext
 * @typedef {FleetAnswer['planned'][number] & { lookBack: FleetAnswer['lookBacks'][number] | null }} JobRow
 */

/** @param {ViewContext} context @param {() => void} onDone */
export function jobsSection(context, onDone) {
  let nowMs = 0;
  const table = keyedTable({
    caption: 'Jobs: what is missing, what has failed, what look-backs found',
    columns: [
      'job',
      numbers('missing'),
      'oldest',
      numbers('failed'),
      numbers('refused'),
      'planned',
      'last look-back',
    ],
    keyOf: (/** @type {JobRow} */ { job }) => job,
    create: jobRow,
    empty: 'There is no job: put a file into JOBS_DIR.',
  });

  /** @param {JobRow} row */
  function jobRow({ job }) {
    const map = `/coverage/${encodeURIComponent(job)}`;
    const [missing, oldest, failed, refused] = [cell('number'), cell(), cell('number'), cell('number')];
    const [looked, found] = [cell(), cell('fleet-words')];
    /** @param {HTMLElement} at @param {string} state */
    const linkIn = (at, state) => {
      const link = h('a', { 'data-href': `${map}?state=${state}` });
      at.append(link);
      return link;
    };
    const missingLink = linkIn(missing, 'missing');
    const failedLink = linkIn(failed, 'failed');
    const refusedLink = linkIn(refused, 'refused');
    const acts = h(
      'div',
      { class: 'fleet-acts', 'data-act': 'failed', 'data-job': job },
      controlsFor(context, { kind: 'start-backfill', job }, onDone),
    );
    const tryAgain = controlsFor(context, { kind: 'failed', job }, onDone);
    if (tryAgain !== null) acts.append(tryAgain);
    const name = h('th', { scope: 'row' }, h('a', { href: map }, job), acts);
    return {
      element: h('tr', {}, name, missing, oldest, failed, refused, looked, found),
      /** @param {JobRow} now */
      update(now) {
        /** @type {[HTMLElement, number | null][]} */
        const counts = [
          [missingLink, now.missing],
          [failedLink, now.failed],
          [refusedLink, now.refused],
        ];
        for (const [link, count] of counts) {
          say(link, inFull(count));
          link.parentElement?.classList.toggle('fleet-none', !count);
          // Nothing is to be seen there.
          if (count) link.setAttribute('href', /** @type {string} */ (link.dataset.href));
          else link.removeAttribute('href');
        }
        failed.classList.toggle('fleet-bad', (now.failed ?? 0) > 0);
        say(oldest, now.oldestMissing ?? '');
        if (tryAgain !== null) tryAgain.hidden = !now.failed;
        say(looked, plannedText(now, nowMs));
        say(found, foundText(now.lookBack, nowMs));
      },
    };
  }

  return {
    element: table.element,
    /** @param {FleetAnswer} fleet */
    update({ planned, lookBacks, readAtMs }) {
      nowMs = readAtMs;
      const byJob = new Map(lookBacks.map((each) => [each.job, each]));
      table.draw(planned.map((row) => ({ ...row, lookBack: byJob.get(row.job) ?? null })));
    },
  };
}

/** @param {JobRow} row @param {number} nowMs */
function plannedText({ lookedMs, hasSchedule }, nowMs) {
  if (lookedMs !== null) return `${duration(nowMs - lookedMs)} ago`;
  return hasSchedule ? 'not yet' : 'no schedule';
}

/** @param {FleetAnswer['lookBacks'][number] | null} look @param {number} nowMs */
function foundText(look, nowMs) {
  if (look === null) return NOT_KNOWN;
  const { endedMs, from, to, found } = look;
  const parts = Object.entries(found)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${inFull(count)} ${spoken(state)}`);
  return `${duration(nowMs - endedMs)} ago, ${from} to ${to}: ${parts.join(', ') || 'nothing has changed'}`;
}

/** @typedef {FleetAnswer['backfills'][number]} Backfill */

/** @param {ViewContext} context @param {() => void} onDone */
export function backfillsSection(context, onDone) {
  const table = keyedTable({
    caption: 'Backfills',
    columns: ['backfill', 'progress', numbers('an hour'), 'time left', 'state'],
    // Other things can be done with one that is paused.
    keyOf: (/** @type {Backfill} */ { id, paused }) => `${id}/${paused}`,
    create: backfillRow,
    empty: "There is no backfill; 'vessel-export backfill JOB --from D --to D' starts one.",
  });

  /** @param {Backfill} backfill */
  function backfillRow(backfill) {
    const { id, job, from, to, vessels, paused, createdAt } = backfill;
    const [rate, left, state] = [cell('number'), cell(), cell()];
    const progress = progressBar();
    const of = vessels.length === 0 ? 'all vessels' : plural(vessels.length, 'vessel');
    const createdMs = Date.parse(createdAt);
    const since = Number.isNaN(createdMs) ? '' : `, begun ${moment(createdMs)}`;
    const name = h(
      'th',
      { scope: 'row' },
      h('a', { href: `/coverage/${encodeURIComponent(job)}?${new URLSearchParams({ from, to })}` }, id),
      h('div', { class: 'hint' }, `${job}, ${from} to ${to}, ${of}${since}`),
      h(
        'div',
        { class: 'fleet-acts', 'data-act': 'backfill', 'data-backfill': id },
        controlsFor(context, { kind: 'backfill', backfill: { id, paused } }, onDone),
      ),
    );
    return {
      element: h('tr', {}, name, h('td', {}, progress.element), rate, left, state),
      /** @param {Backfill} now */
      update(now) {
        progress.update(...progressOf(now));
        say(rate, inShort(now.vesselDaysPerHour === null ? null : Math.round(now.vesselDaysPerHour)));
        say(left, now.secondsLeft === null ? NOT_KNOWN : `about ${duration(now.secondsLeft * 1_000)}`);
        say(
          state,
          now.paused
            ? 'paused'
            : now.queued === null
              ? 'not looked at yet'
              : `${inFull(now.queued)} in the queue`,
        );
      },
    };
  }

  return {
    element: table.element,
    /** @param {FleetAnswer} fleet */
    update: ({ backfills }) => table.draw(backfills),
  };
}

/** @param {Backfill} backfill @returns {[share: number | null, text: string]} */
function progressOf({ due, done, failed }) {
  if (due === null || done === null) return [null, 'not known yet'];
  const share = shareOf(done, due);
  const bad = failed ? `, ${inFull(failed)} failed` : '';
  return [share, `${inFull(done)} of ${inFull(due)} vessel-days (${percent(share)})${bad}`];
}
