/**
 * An output stream, maybe a terminal. Commands write to it only with the functions here, which remove control sequences, except for our own colours and
 * a progress bar that log lines do not break.
 */
import { inspect, styleText } from 'node:util';
import { type Clock, cleanForeignText, cleanLines, visibleJson } from '../../core/model/index.ts';
import { wrapText } from './format.ts';

export interface Screen {
  write(text: string): void;
  /** Resolves when the reader has taken what was written; undefined if nothing is buffered. */
  taken?(): Promise<void> | undefined;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  /** Whether colours are wanted and supported. */
  readonly colour?: boolean | undefined;
}

export type Colours = Pick<Screen, 'colour'>;

const STYLES = ['red', 'green', 'yellow', 'cyan', 'dim', 'bold'] as const;
export type Style = (typeof STYLES)[number];

/** A stream of this process; colours follow NO_COLOR, FORCE_COLOR and the terminal, unless `colour` is false. */
export function openScreen(stream: NodeJS.WriteStream, colourRefused: boolean): Screen {
  // After the reader has closed the stream there is no more `drain`. cli.ts handles that error.
  let isRead = true;
  stream.once('error', () => {
    isRead = false;
  });
  return {
    write: (text) => void stream.write(text),
    taken: () => (isRead && stream.writableNeedDrain ? untilTaken(stream) : undefined),
    isTTY: stream.isTTY,
    get columns() {
      return stream.columns;
    },
    colour: !colourRefused && styleText('red', 'x', { stream }) !== 'x',
  };
}

/** It also resolves when the reader has closed the stream. */
function untilTaken(stream: NodeJS.WritableStream): Promise<void> {
  const ends = ['drain', 'error', 'close'];
  return new Promise((resolve) => {
    const end = () => {
      for (const name of ends) stream.off(name, end);
      resolve();
    };
    for (const name of ends) stream.on(name, end);
  });
}

export function paint(screen: Colours, style: Style, text: string): string {
  return screen.colour === true ? styleText(style, text, { validateStream: false }) : text;
}

/** Columns of a line: unlimited if the stream is no terminal. */
export function roomOn({ isTTY, columns }: Screen): number {
  // A terminal that does not know its size says 0.
  return isTTY === true ? columns || 80 : Infinity;
}

/** Write text for people: on a terminal lines are cut to its width. */
export function writeText(screen: Screen, text: string): void {
  screen.write(wrapText(cleanFor(screen, text), roomOn(screen)));
}

export function writeLines(screen: Screen, text: string): void {
  screen.write(cleanFor(screen, text));
}

/** One line of fields for a program, a tab between them. */
export function writeFields(screen: Screen, fields: readonly string[]): void {
  screen.write(`${fields.map((field) => cleanForeignText(field)).join('\t')}\n`);
}

/** A value as JSON with a line end: exact, with control characters escaped. */
export function writeJson(screen: Screen, value: unknown, indent?: number): void {
  screen.write(`${visibleJson(value, indent)}\n`);
}

/** Writes what the line editor of a prompt draws, including cursor movements. */
export function echoTo(screen: Screen): (text: string) => void {
  return (text) => screen.write(text);
}

const COLOUR = new RegExp(
  `(\u001b\\[(?:${[...new Set(STYLES.flatMap((style) => inspect.colors[style] ?? []))].join('|')})m)`,
);

/** Text that is safe for `screen`: lines, and its colours if it has any. */
function cleanFor(screen: Colours, text: string): string {
  if (screen.colour !== true) return cleanLines(text);
  // Every second part is a colour.
  const parts = text.split(COLOUR);
  return parts.map((part, index) => (index % 2 === 1 ? part : cleanLines(part))).join('');
}

const KEPT_CHARS = 64 << 10;

/** JSON that is written piece by piece; `keeps`: buffers many items, for lists of hundreds of thousands. */
export function createJsonPage(screen: Screen, keeps: boolean) {
  let kept = '';
  const end = () => {
    if (kept !== '') screen.write(kept);
    kept = '';
  };
  const add = (text: string) => {
    kept += text;
    if (!keeps || kept.length >= KEPT_CHARS) end();
  };
  return {
    line: (value: unknown, indent?: number) => add(`${visibleJson(value, indent)}\n`),
    value: (value: unknown) => add(visibleJson(value)),
    /** The remaining members of an object whose first ones are written already, and its end. */
    rest: (object: object, indent: number) => add(`${visibleJson(object, indent).slice(1)}\n`),
    between: (punctuation: string) => add(cleanLines(punctuation)),
    end,
  };
}

const REDRAW_MS = 100;
const CLEAR = '\r\u001b[2K';

/** One line that is redrawn at the bottom of a terminal; on other streams nothing is drawn. */
export function createBar(screen: Screen, clock: Clock) {
  const drawn = screen.isTTY === true;
  let lastDrawMs = Number.NEGATIVE_INFINITY;
  let line = '';
  const clear = () => line !== '' && screen.write(CLEAR);
  return {
    /** Draw what `describe` returns for the width; at most ten times a second, unless `force` is set. */
    draw(describe: (columns: number) => string, force: boolean): void {
      const nowMs = clock.monotonicMs();
      if (!drawn || (!force && nowMs - lastDrawMs < REDRAW_MS)) return;
      lastDrawMs = nowMs;
      // The last column stays free: some terminals wrap after it.
      line = cleanFor(screen, describe(roomOn(screen) - 1)).replaceAll('\n', ' ');
      screen.write(CLEAR + line);
    },
    print(text: string): void {
      clear();
      writeText(screen, text.endsWith('\n') ? text : `${text}\n`);
      if (line !== '') screen.write(line);
    },
    end(): void {
      clear();
      line = '';
    },
  };
}

const BAR_CELLS = 24;
const MIN_BAR_CELLS = 8;

/** A bar for a share of one, and words about it, in at most `columns`: first the bar is left out, then words, but never the last. */
export function describeBar(screen: Screen, share: number, words: readonly string[], columns: number) {
  const said = [...words];
  const width = () => said.reduce((sum, word) => sum + (word === '' ? 0 : 2 + word.length), 0);
  while (said.length > 2 && MIN_BAR_CELLS + width() > columns) said.splice(-2, 1);
  const text = said.filter((word) => word !== '').join('  ');
  const cells = Math.min(BAR_CELLS, columns - width());
  if (cells <= 0) return text.slice(0, columns);
  const full = Math.round(Math.min(1, share) * cells);
  const bar = paint(screen, 'cyan', '█'.repeat(full)) + paint(screen, 'dim', '░'.repeat(cells - full));
  return `${bar}  ${text}`;
}
