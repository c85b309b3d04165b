// @ts-check
/**
 * States of a vessel-day as people see them: word, sign, colour and meaning. One table for the map, its legend, the
 * filters and what screen readers are told. Colours are CSS variables (app.css) chosen so that colour-blind people tell
 * them apart; the sign says the same without colour.
 * @typedef {import('../../answers.ts').CellState} CellState
 * @typedef {{ state: CellState, letter: string, word: string, sign: string, colour: string, meaning: string, isWrong?: true }} StateRow
 */

/** @type {readonly StateRow[]} In the order of the legend: what needs somebody first. */
export const STATES = [
  {
    state: 'failed',
    letter: 'f',
    word: 'failed',
    sign: '✕',
    colour: '--state-failed',
    meaning: 'the last attempt failed',
    isWrong: true,
  },
  {
    state: 'missing',
    letter: 'm',
    word: 'missing',
    sign: '○',
    colour: '--state-missing',
    meaning: 'due, and never published',
    isWrong: true,
  },
  {
    state: 'stale',
    letter: 's',
    word: 'stale',
    sign: '~',
    colour: '--state-stale',
    meaning: 'published with other settings than the job has now',
    isWrong: true,
  },
  {
    state: 'waiting',
    letter: 'w',
    word: 'waiting',
    sign: '…',
    colour: '--state-waiting',
    meaning: 'waits for series that are missing',
    isWrong: true,
  },
  {
    state: 'queued',
    letter: 'q',
    word: 'queued',
    sign: '›',
    colour: '--state-queued',
    meaning: 'in the queue',
  },
  {
    state: 'running',
    letter: 'u',
    word: 'running',
    sign: '▶',
    colour: '--state-running',
    meaning: 'being exported now',
  },
  {
    state: 'refused',
    letter: 'r',
    word: 'refused',
    sign: '!',
    colour: '--state-refused',
    meaning: 'complete, but the source has fewer readings now: needs a decision',
  },
  {
    state: 'warned',
    letter: 'k',
    word: 'warning',
    sign: '?',
    colour: '--state-warned',
    meaning: 'complete, with a warning that is not accepted',
  },
  {
    state: 'published',
    letter: 'p',
    word: 'complete',
    sign: '',
    colour: '--state-published',
    meaning: 'published, and its counts proven',
  },
  {
    state: 'empty',
    letter: 'e',
    word: 'empty',
    sign: '–',
    colour: '--state-empty',
    meaning: 'the source has no readings of it',
  },
  {
    state: 'not-due',
    letter: '.',
    word: 'not due',
    sign: '',
    colour: '--state-not-due',
    meaning: 'not to be exported yet',
  },
  {
    state: 'not-asked-for',
    letter: '-',
    word: 'not asked for',
    sign: '',
    colour: '--state-not-asked-for',
    meaning: 'this day is not asked for',
  },
];

/** @type {ReadonlyMap<string, StateRow>} */
export const BY_LETTER = new Map(STATES.map((row) => [row.letter, row]));
/** @type {ReadonlyMap<string, StateRow>} */
export const BY_STATE = new Map(STATES.map((row) => [row.state, row]));
