// @ts-check
/** What runs now, the queue by kind, and the processes. */
import { h } from '../parts/dom.js';
import { dayAddress } from '../parts/texts.js';
import { cell, keyedTable, progressBar, say } from './keyed.js';
import { duration, inFull, inShort, isSilent, percent, shareOf } from './words.js';

/** @typedef {import('../../answers.ts').FleetAnswer} FleetAnswer @typedef {FleetAnswer['running'][number]} RunningDay */

/** @type {Readonly<Record<string, string>>} What people are told of each step. */
const STEPS = {
  claiming: 'claims the day',
  counting: 'asks for the counts',
  fetching: 'fetches',
  proving: 'proves the counts',
  sealing: 'seals the day',
  publishing: 'publishes',
  committing: 'waits for the commit',
};

export function runningSection() {
  const summary = h('p', { class: 'hint' });
  let nowMs = 0;
  /** Workers of which nothing was heard lately. @type {ReadonlySet<string>} */
  let silent = new Set();
  const table = keyedTable({
    caption: 'Vessel-days under way',
    columns: [
      'vessel-day',
      'kind',
      'step',
      'rows',
      { text: 'rows/s', isNumber: true },
      { text: 'for', isNumber: true },
      'worker',
    ],
    keyOf: (/** @type {RunningDay} */ { job, vessel, date, host, pid }) =>
      [job, vessel, date, host, pid].join('/'),
    create: runningRow,
    empty: 'Nothing runs now.',
  });

  /** @param {RunningDay} day */
  function runningRow(day) {
    const { job, vessel, date, host, pid } = day;
    const [kind, step, rate, since, worker] = [
      cell(),
      cell(),
      cell('number'),
      cell('number'),
      cell('fleet-host'),
    ];
    const rows = progressBar();
    const link = h('a', { href: dayAddress(job, vessel, date) });
    say(link, `${vessel} ${date}`);
    const first = h('th', { scope: 'row' }, link, h('div', { class: 'hint' }, job));
    const element = h('tr', {}, first, kind, step, h('td', {}, rows.element), rate, since, worker);
    return {
      element,
      /** @param {RunningDay} now */
      update(now) {
        say(kind, now.kind);
        say(step, (now.step !== null && STEPS[now.step]) || 'at work');
        rows.update(...rowsOf(now));
        say(rate, inShort(now.rowsPerSecond));
        const isLost = silent.has(workerOf(now));
        say(worker, `${host} · ${pid}${isLost ? ', silent' : ''}`);
        element.classList.toggle('fleet-silent', isLost);
        say(since, now.startedMs === null ? '' : duration(nowMs - now.startedMs));
      },
    };
  }

  return {
    element: h('div', {}, summary, table.element),
    /** @param {FleetAnswer} fleet */
    update(fleet) {
      nowMs = fleet.readAtMs;
      const workers = fleet.processes.filter(({ atOnce }) => atOnce !== null);
      silent = new Set(workers.filter((each) => isSilent(each, nowMs)).map(workerOf));
      const places = workers.reduce((sum, { atOnce }) => sum + (atOnce ?? 0), 0);
      const active = Math.max(
        fleet.running.length,
        workers.reduce((sum, each) => sum + (each.active ?? 0), 0),
      );
      const rate = fleet.running.reduce((sum, { rowsPerSecond }) => sum + (rowsPerSecond ?? 0), 0);
      const parts = [
        `${inFull(active)} of ${inFull(places)} at once`,
        rate > 0 ? `${inShort(rate)} rows/s together` : '',
        active > fleet.running.length ? `${inFull(active - fleet.running.length)} not told one by one` : '',
      ];
      summary.hidden = workers.length === 0;
      say(summary, parts.filter((part) => part !== '').join(' · '));
      table.draw(fleet.running);
    },
  };
}

/** @param {{ readonly host: string, readonly pid: number }} process */
function workerOf({ host, pid }) {
  return `${host}/${pid}`;
}

/** @param {RunningDay} day @returns {[share: number | null, text: string]} */
function rowsOf({ rows, rowsKnown }) {
  if (rows === null) return [null, 'not yet'];
  if (rowsKnown === null) return [null, `${inFull(rows)} rows`];
  const share = shareOf(rows, rowsKnown);
  return [share, `${inShort(rows)} of ${inShort(rowsKnown)} (${percent(share)})`];
}

/** @type {Readonly<Record<string, string>>} */
const KINDS = {
  nightly: 'what is due',
  reconcile: 'what look-backs found',
  backfill: 'asked for, or caught up on',
  other: 'not told apart',
};

export function queueSection() {
  const table = keyedTable({
    caption: 'Vessel-days in the queue by kind and state',
    columns: ['kind', ...['waiting', 'delayed', 'failed'].map(numbers)],
    keyOf: (/** @type {FleetAnswer['queue'][number]} */ { kind }) => kind,
    create({ kind }) {
      const cells = [cell('number'), cell('number'), cell('number')];
      const element = h(
        'tr',
        {},
        h('th', { scope: 'row' }, kind, h('div', { class: 'hint' }, KINDS[kind])),
        ...cells,
      );
      return {
        element,
        update({ waiting, delayed, failed }) {
          for (const [index, count] of [waiting, delayed, failed].entries()) {
            const at = /** @type {HTMLElement} */ (cells[index]);
            say(at, inFull(count));
            at.classList.toggle('fleet-none', count === 0);
          }
          /** @type {HTMLElement} */ (cells[2]).classList.toggle('fleet-bad', failed > 0);
        },
      };
    },
    empty: 'The queue is empty.',
  });
  return {
    element: table.element,
    /** @param {FleetAnswer} fleet */
    update: ({ queue }) => table.draw(queue),
  };
}

export function processesSection() {
  let nowMs = 0;
  const table = keyedTable({
    caption: 'Processes of the fleet',
    columns: [
      'process',
      'host',
      numbers('pid'),
      'version',
      numbers('up for'),
      numbers('at work'),
      'heard of',
    ],
    keyOf: (/** @type {FleetAnswer['processes'][number]} */ { role, host, pid, version }) =>
      [role, host, pid, version].join('/'),
    create({ role, host, pid, version }) {
      const [name, up, work, seen] = [h('th', { scope: 'row' }), cell('number'), cell('number'), h('td', {})];
      const element = h(
        'tr',
        {},
        name,
        h('td', { class: 'fleet-host' }, host),
        h('td', { class: 'number' }, pid),
        h('td', {}, version),
        up,
        work,
        seen,
      );
      return {
        element,
        update({ leads, startedMs, seenMs, active, atOnce }) {
          const isLost = isSilent({ seenMs }, nowMs);
          const part = leads === null ? '' : leads ? ', plans' : ', stands by';
          say(name, `${role}${part}`);
          say(up, duration(nowMs - startedMs));
          say(work, atOnce === null ? '' : `${inFull(active)} of ${inFull(atOnce)}`);
          const ago = duration(nowMs - seenMs);
          say(seen, isLost ? `silent for ${ago}: stopped, or cut off?` : `${ago} ago`);
          element.classList.toggle('fleet-silent', isLost);
        },
      };
    },
    empty: 'No process is connected.',
  });
  return {
    element: table.element,
    /** @param {FleetAnswer} fleet */
    update({ processes, readAtMs }) {
      nowMs = readAtMs;
      table.draw(processes);
    },
  };
}

/** @param {string} text @returns {{ text: string, isNumber: true }} */
export function numbers(text) {
  return { text, isNumber: true };
}
