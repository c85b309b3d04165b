// @ts-check
/** A snapshot of metadata as a table: one row a series. */
import { fill, h, table } from '../parts/dom.js';
import { openDayParquet, readAllRows } from './day-parquet.js';
import { openRangedFile, ReplacedError } from './ranged-file.js';
import { plural, shown } from './texts.js';

/** More are not drawn: who looks for one types a part of it. */
const MAX_ROWS = 200;
/** A snapshot of 50,000 series is some 10 MB. */
const MAX_BYTES = 32 << 20;

/**
 * @param {HTMLElement} root
 * @param {{ object: { url: string, sizeBytes: number, etag: string | null }, signal: AbortSignal, onReplaced: () => void }} options
 */
export async function mountMetadata(root, { object, signal, onReplaced }) {
  try {
    if (object.sizeBytes > MAX_BYTES)
      throw new Error(`${object.sizeBytes} bytes are too many to be shown here`);
    const day = await openDayParquet(openRangedFile(object, signal));
    const rows = await readAllRows(day);
    if (signal.aborted) return;
    const names = day.metadata.schema.slice(1).map(({ name }) => name);
    draw(
      root,
      names,
      rows.map((row) => names.map((name) => textOf(row[name]))),
    );
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof ReplacedError) return onReplaced();
    const text = error instanceof Error ? error.message : 'unknown';
    fill(root, h('p', { class: 'fault', role: 'alert' }, `The rows cannot be shown: ${shown(text, 300)}`));
  }
}

/** @param {unknown} value */
const textOf = (value) => (value === null || value === undefined ? '' : String(value));

/** @param {HTMLElement} root @param {readonly string[]} names @param {readonly (readonly string[])[]} rows */
function draw(root, names, rows) {
  // A column that says nothing takes no room.
  const places = names.map((_, i) => i).filter((i) => rows.some((row) => row[i] !== ''));
  const search = /** @type {HTMLInputElement} */ (
    h('input', {
      type: 'search',
      placeholder: 'any text',
      'aria-label': 'Look for a series',
      oninput: () => list(),
    })
  );
  const count = h('p', { class: 'hint', role: 'status' });
  const body = h('tbody');
  const list = () => {
    const text = search.value.trim().toLowerCase();
    const found = rows.filter((row) => row.some((cell) => cell.toLowerCase().includes(text)));
    const more = found.length > MAX_ROWS ? `; the first ${MAX_ROWS} are shown` : '';
    fill(count, `${plural(found.length, 'series', 'series')}${more}`);
    fill(
      body,
      ...found
        .slice(0, MAX_ROWS)
        .map((row) => h('tr', {}, ...places.map((i) => h('td', {}, shown(row[i] ?? '', 200))))),
    );
  };
  list();
  const heads = places.map((i) => shown(names[i] ?? '', 60));
  const scroller = h(
    'div',
    { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Series of this snapshot' },
    table(heads, body),
  );
  fill(root, search, count, scroller);
}
