/**
 * A stream that a person may be looking at. Commands write to it by the functions here alone, which let nothing through that steers a terminal, but for
 * our own colours and a bar that log lines do not break.
 */
import { inspect, styleText } from 'node:util';
import { type Clock, cleanForeignText, cleanLines, visibleJson } from '../../core/model/index.ts';
import { wrapText } from './format.ts';

export interface Screen {
  write(text: string): void;
  /** When whoever reads has taken what was written; undefined where nothing waits for them. A pipe keeps what it is given. */
  taken?(): Promise<void> | undefined;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  /** Are colours wanted and understood? */
  readonly colour?: boolean | undefined;
}

export type Colours = Pick<Screen, 'colour'>;

const STYLES = ['red', 'green', 'yellow', 'cyan', 'dim', 'bold'] as const;
export type Style = (typeof STYLES)[number];

/** A stream of this process; `colour` is what NO_COLOR, FORCE_COLOR and the terminal say, unless it is refused. */
export function openScreen(stream: NodeJS.WriteStream, colourRefused: boolean): Screen {
  // Once nobody reads there is no sign any more that something was taken. What comes of it is said where streams are watched.
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

/** Also over when nobody reads any more. */
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

/** Columns that a line may take: no bound where nobody looks. */
export function roomOn({ isTTY, columns }: Screen): number {
  // A terminal that does not know its size says 0.
  return isTTY === true ? columns || 80 : Infinity;
}

/** Write text for people: on a terminal no line is wider than it is. */
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

/** A value as JSON with a line end: exact, and nothing in it steers a terminal. */
export function writeJson(screen: Screen, value: unknown, indent?: number): void {
  screen.write(`${visibleJson(value, indent)}\n`);
}

/** How what a person types is shown, with what moves the cursor: for the editor of a line alone. */
export function echoTo(screen: Screen): (text: string) => void {
  return (text) => screen.write(text);
}

const COLOUR = new RegExp(
  `(\u001b\\[(?:${[...new Set(STYLES.flatMap((style) => inspect.colors[style] ?? []))].join('|')})m)`,
);

/** What `screen` may be given: lines, and its colours where it has any. */
function cleanFor(screen: Colours, text: string): string {
  if (screen.colour !== true) return cleanLines(text);
  // Every second part is a colour.
  const parts = text.split(COLOUR);
  return parts.map((part, index) => (index % 2 === 1 ? part : cleanLines(part))).join('');
}

const KEPT_CHARS = 64 << 10;

/** JSON that is written piece by piece; `keeps`: many at once, for those who make hundreds of thousands of them. */
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
    /** The members of an object that stand behind others which are written already, and its end. */
    rest: (object: object, indent: number) => add(`${visibleJson(object, indent).slice(1)}\n`),
    between: (punctuation: string) => add(cleanLines(punctuation)),
    end,
  };
}

const REDRAW_MS = 100;
const CLEAR = '\r\u001b[2K';

/** One line that is drawn again and again at the foot of a terminal; nothing elsewhere. */
export function createBar(screen: Screen, clock: Clock) {
  const drawn = screen.isTTY === true;
  let lastDrawMs = Number.NEGATIVE_INFINITY;
  let line = '';
  const clear = () => line !== '' && screen.write(CLEAR);
  return {
    /** Draw what `describe` says of so many columns; unless `force`d, at most ten times a second. */
    draw(describe: (columns: number) => string, force: boolean): void {
      const nowMs = clock.monotonicMs();
      if (!drawn || (!force && nowMs - lastDrawMs < REDRAW_MS)) return;
      lastDrawMs = nowMs;
      // The last column stays free: some terminals go on to the next line from there.
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

/** A share of one and words about it, in at most `columns`: the bar gives way first, then words from the back; the last one stays. */
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
