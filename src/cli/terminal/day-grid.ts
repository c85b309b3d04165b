import { widthOf } from './format.ts';

/**
 * The layout of a grid, vessels down and dates across: a column of texts for each date, or a character where there is no
 * room for them.
 */

/** What stands in a grid; of a large fleet its texts are made a line at a time. */
export interface Grid {
  /** Both sorted. */
  readonly vessels: readonly string[];
  readonly dates: readonly string[];
  /** Undefined: there is no such vessel-day. */
  textOf(vessel: string, date: string): string | undefined;
}

type GridSize = Pick<Grid, 'vessels' | 'dates'>;

export const GAP = '  ';

/** Columns of the screen that `formatWide` takes. */
export function wideColumns(job: string, grid: GridSize, width: number): number {
  return labelWidth(job, grid) + grid.dates.length * (GAP.length + width);
}

function labelWidth(job: string, grid: GridSize): number {
  return Math.max(job.length, grid.vessels[0]?.length ?? 0);
}

/** Every text in a column `width` wide. */
export function formatWide(job: string, grid: Grid, width: number): string[] {
  const { dates } = grid;
  const label = labelWidth(job, grid);
  const line = (head: string, texts: readonly string[]) =>
    [head.padEnd(label), ...texts.map((text) => ' '.repeat(width - widthOf(text)) + text)].join(GAP);
  const rowOf = (vessel: string) => dates.map((date) => grid.textOf(vessel, date) ?? '');
  return [line(job, dates), ...grid.vessels.map((vessel) => line(vessel, rowOf(vessel)))];
}

/** As many dates at a time as there are columns for, each text of one character. */
export function formatNarrow(job: string, grid: Grid, columns: number): string[] {
  const perBlock = Math.max(8, columns - labelWidth(job, grid) - GAP.length);
  const blocks: string[][] = [];
  for (let at = 0; at < grid.dates.length; at += perBlock) {
    const block = formatBlock(job, grid, grid.dates.slice(at, at + perBlock));
    blocks.push(at === 0 ? block : ['', ...block]);
  }
  return blocks.flat();
}

function formatBlock(job: string, grid: Grid, dates: readonly string[]): string[] {
  const label = labelWidth(job, grid);
  const line = (head: string, text: string) => `${head.padEnd(label)}${GAP}${text}`.trimEnd();
  const rowOf = (vessel: string) => dates.map((date) => grid.textOf(vessel, date) ?? ' ').join('');
  const dayOf = (date: string) => Number(date.slice(8));
  const firsts = dates.filter((date) => dayOf(date) === 1);
  const fifths = dates.filter((date) => dayOf(date) % 5 === 0);
  return [
    line(
      job,
      ruler(dates, [...firsts, dates[0]!], (date) => date.slice(0, 7)),
    ),
    line(
      '',
      ruler(dates, [...firsts, ...fifths], (date) => date.slice(8)),
    ),
    ...grid.vessels.map((vessel) => line(vessel, rowOf(vessel))),
  ];
}

/** Labels above their dates; of those that would touch, the one that is marked first. */
function ruler(dates: readonly string[], marked: readonly string[], label: (date: string) => string): string {
  const cells = new Array<string>(dates.length).fill(' ');
  for (const date of marked) {
    const at = dates.indexOf(date);
    const text = label(date);
    const around = cells.slice(Math.max(0, at - 1), at + text.length + 1);
    if (around.every((cell) => cell === ' '))
      for (const [i, char] of [...text].entries()) cells[at + i] = char;
  }
  return cells.join('');
}
