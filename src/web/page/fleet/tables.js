// @ts-check
/** The queue by kind, and the processes. */
import { h } from '../parts/dom.js';
import { cell, keyedTable, say } from './keyed.js';
import { duration, inFull, isSilent } from './words.js';

/** @typedef {import('../../answers.ts').FleetAnswer} FleetAnswer */

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
