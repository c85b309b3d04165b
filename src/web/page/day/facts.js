// @ts-check
/** What is known of a vessel-day besides its readings: state, note, attempt, receipt, versions, ids for the log. */
import { h, table } from '../parts/dom.js';
import { BY_STATE } from '../parts/states.js';
import {
  bytesText,
  counted,
  dayAddress,
  durationText,
  MAX_MESSAGE_CHARS,
  momentText,
  plural,
  shown,
  shownName,
} from './texts.js';

/** @typedef {import('../../answers.ts').VesselDayAnswer} VesselDayAnswer */

const PROOFS = /** @type {Readonly<Record<string, string>>} */ ({
  exact: 'exact: every series has as many readings in each hour as the source counted',
  'at-least': 'at least: no series has fewer readings in any hour than the source counted',
  unproven: 'unproven: the source was not queried',
});

/** @param {string} title @param {...(Node | string | null | false)} content */
export function section(title, ...content) {
  return h('section', {}, h('h2', {}, title), ...content);
}

/** @param {VesselDayAnswer} answer */
export function stateLine({ state }) {
  const row = BY_STATE.get(state);
  const badge = h(
    'span',
    { class: 'state-badge' },
    row === undefined || row.sign === '' ? '' : `${row.sign} `,
    row?.word ?? state,
  );
  badge.style.setProperty('--state', `var(${row?.colour ?? '--state-empty'})`);
  return h('p', { class: 'state-line' }, badge, h('span', {}, ` ${row?.meaning ?? ''}`));
}

/** @param {VesselDayAnswer} answer @param {Node | null} acts */
export function warningFacts({ warning }, acts) {
  if (warning === null) return null;
  const word = warning.accepted ? 'Accepted: ' : 'Warning: ';
  return h('div', { class: 'warning' }, h('p', {}, word, shown(warning.message, MAX_MESSAGE_CHARS)), acts);
}

/** Names and what they are; null is left out. @param {readonly (readonly [string, Node | string | null])[]} rows */
function pairs(rows) {
  return h(
    'dl',
    {},
    ...rows.flatMap(([name, value]) => (value === null ? [] : [h('dt', {}, name), h('dd', {}, value)])),
  );
}

/** @param {VesselDayAnswer} answer */
export function receiptFacts({ receipt, durationMs, date }) {
  if (receipt === null)
    return section('Receipt', h('p', { class: 'hint' }, 'Nothing is published of this vessel-day.'));
  const { object, source, finishedAt } = receipt;
  const isReadings = receipt.dataset === 'measurements';
  const isSnapshot = receipt.dataset === 'metadata';
  const selected = receipt.selectedSeries;
  const times =
    receipt.firstTimestamp === null || receipt.lastTimestamp === null
      ? null
      : `${clock(receipt.firstTimestamp, date)} to ${clock(receipt.lastTimestamp, date)} UTC`;
  return section(
    'Receipt',
    pairs([
      [isReadings ? 'Readings' : 'Rows', counted(receipt.rows)],
      [
        'Series',
        selected === undefined
          ? counted(receipt.series)
          : `${counted(receipt.series)} of ${counted(selected)} selected`,
      ],
      ['First and last', times],
      [
        'Proof',
        isSnapshot
          ? 'exact: one row for every series that the source named'
          : (PROOFS[receipt.proof] ?? receipt.proof),
      ],
      [
        'Source',
        source === null
          ? null
          : `${isSnapshot ? plural(source.rows, 'series', 'series') : plural(source.rows, 'reading')}, asked ${momentText(source.askedAt)}`,
      ],
      ['Published', `${momentText(finishedAt)}, after ${durationText(durationMs)}`],
      [
        'Object',
        object === null
          ? 'none: the day is empty'
          : `${bytesText(object.sizeBytes)} in ${plural(object.parts.length, 'part')}`,
      ],
      ['Version of the table', receipt.table === undefined ? null : String(receipt.table.version)],
      [
        'Requests',
        `${counted(receipt.requests)}, ${plural(receipt.retries, 'retry', 'retries')}, ${plural(receipt.pages, 'page')}`,
      ],
      [
        'Readings cut off',
        receipt.clippedRows === 0 ? null : `${counted(receipt.clippedRows)} outside the day`,
      ],
      ['Attempt', `epoch ${receipt.epoch}`],
      ['Discovery', receipt.unlisted ? 'did not name the vessel: it was known from the ledger' : null],
      [
        'Written by',
        `vessel-export ${shownName(receipt.version)}, format ${receipt.formatVersion}, API ${receipt.apiVersion}`,
      ],
    ]),
  );
}

/** Without the date, where it is the day's own. @param {string} iso @param {string} date */
function clock(iso, date) {
  const text = shownName(iso).replace(/Z$/, '');
  return text.startsWith(`${date}T`) ? text.slice(11) : text.replace('T', ' ');
}

/** @param {VesselDayAnswer} answer */
export function noteFacts({ note }) {
  if (note === null) return null;
  const words = { failed: 'The last attempt failed', refused: 'Refused', waiting: 'Waits' };
  const { isOver } = note;
  const isKnownTime = !note.at.startsWith('9999');
  return section(
    isOver ? 'What went wrong before it was published' : words[note.state],
    h(
      'p',
      { class: 'message' },
      h('code', {}, shownName(note.code)),
      ` ${shown(note.message, MAX_MESSAGE_CHARS)}`,
    ),
    isKnownTime ? h('p', { class: 'hint' }, momentText(note.at)) : null,
    note.waiting === undefined
      ? null
      : h(
          'p',
          {},
          `It is published without the missing series from ${momentText(note.waiting.publishedFrom)} on.`,
        ),
    isOver ? null : h('p', { class: 'next' }, h('strong', {}, 'What to do: '), ...withCommands(note.next)),
  );
}

/** Commands in quotes, as such. @param {string} text @returns {(Node | string)[]} */
function withCommands(text) {
  return shown(text, MAX_MESSAGE_CHARS)
    .split(/'(vessel-export [^']+)'/)
    .map((part, i) => (i % 2 === 1 ? h('code', {}, part) : part));
}

/** @param {VesselDayAnswer} answer */
export function attemptFacts({ claim, queued }) {
  const parts = [];
  if (claim !== null) {
    const { rowsStored, rowsKnown } = claim;
    const text =
      claim.state === 'live'
        ? 'An attempt is running'
        : 'An attempt was interrupted; the next one continues it if possible';
    const rows =
      rowsStored === null
        ? 'nothing stored yet'
        : `${plural(rowsStored, 'reading')} stored${rowsKnown === null ? '' : ` of ${counted(rowsKnown)}`}`;
    const bar = h('progress', { max: rowsKnown ?? 1, value: rowsStored ?? 0, 'aria-label': rows });
    parts.push(
      h('p', {}, `${text}: ${rows}.`),
      rowsStored !== null && rowsKnown !== null ? bar : null,
      h(
        'p',
        { class: 'hint' },
        `epoch ${claim.epoch}, process ${claim.pid} on ${shownName(claim.host)}, last heard of ${momentText(claim.heartbeatAt)}`,
      ),
    );
  }
  if (queued !== null) {
    const reason = queued.reason === null ? '' : `: ${shown(queued.reason)}`;
    parts.push(
      h(
        'p',
        {},
        `In the queue: ${shownName(queued.state)}, ${shownName(queued.kind)}, after ${plural(queued.attempts, 'attempt')}${reason}`,
      ),
    );
  }
  return parts.length === 0 ? null : section('Attempts', ...parts);
}

/** @param {VesselDayAnswer} answer @param {number | null} shownVersion */
export function versionFacts({ versions, job, vessel, date }, shownVersion) {
  if (versions.length === 0) return null;
  const heads = ['Version', 'Written', 'Rows', 'Size', ''];
  return section(
    'Versions',
    table(
      heads,
      versions.map(({ version, at, rows, sizeBytes, isCurrent }) => {
        const isShown = shownVersion === null ? isCurrent : shownVersion === version;
        const address = `${dayAddress(job, vessel, date)}${isCurrent ? '' : `?version=${version}`}`;
        const shownText = isCurrent ? 'the day, shown below' : 'shown below';
        const link = h('a', { href: address }, isCurrent ? 'the day' : 'show its readings');
        return h(
          'tr',
          {},
          h('th', { scope: 'row' }, String(version)),
          h('td', {}, momentText(at)),
          h('td', { class: 'number' }, rows === null ? '' : counted(rows)),
          h('td', { class: 'number' }, bytesText(sizeBytes)),
          h('td', {}, isShown ? shownText : link),
        );
      }),
    ),
  );
}

/** @param {VesselDayAnswer} answer @param {(text: string) => void} announce */
export function logFacts({ logIds }, announce) {
  const { vesselDay, epochs } = logIds;
  return section(
    'In the log',
    pairs([
      ['vesselDay', copyable(vesselDay, announce)],
      ['Epochs', epochs.length === 0 ? 'none' : epochs.join(', ')],
      ['With jq', copyable(`jq -c 'select(.vesselDay == "${vesselDay}")' worker.log`, announce)],
      ['With grep', copyable(`grep -F '"vesselDay":"${vesselDay}"' worker.log`, announce)],
    ]),
  );
}

/** @param {string} text @param {(text: string) => void} announce */
function copyable(text, announce) {
  const copy = async () => {
    // Only where the browser lets a page write to the clipboard: else it is marked, to be copied by hand.
    try {
      await navigator.clipboard.writeText(text);
      announce('Copied');
    } catch {
      getSelection()?.selectAllChildren(code);
    }
  };
  const code = h('code', {}, text);
  return h(
    'span',
    { class: 'copyable' },
    code,
    h('button', { type: 'button', onclick: copy, 'aria-label': `Copy ${text}` }, 'Copy'),
  );
}
