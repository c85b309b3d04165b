/** Coverage as a person wants it: per job a vessel × date grid. */
import type { VesselDay } from '../model/index.ts';
import { formatVesselDay } from '../model/index.ts';
import type { DayResult } from '../run/perform-task.ts';
import type { Coverage, CoverageState, CoverageSummary } from '../status/cells.ts';
import { COVERAGE_STATES } from '../status/cells.ts';
import { countOf, formatCount, widthOf } from './format.ts';
import type { Screen, Style } from './screen.ts';
import { paint } from './screen.ts';

/** What stands in the place of a day where there is room for one character. */
const SYMBOLS: Readonly<Record<CoverageState, string>> = {
  published: '█',
  empty: 'o',
  missing: '?',
  stale: 's',
  failed: 'F',
  refused: 'R',
  waiting: 'w',
  running: '>',
  'not-due': '·',
};

const STYLES: Readonly<Record<CoverageState, Style>> = {
  published: 'green',
  empty: 'dim',
  missing: 'yellow',
  stale: 'yellow',
  failed: 'red',
  refused: 'red',
  waiting: 'yellow',
  running: 'cyan',
  'not-due': 'dim',
};

type Colours = Pick<Screen, 'colour'>;

const LEAST_CELL_WIDTH = 10;
const GAP = '  ';
/** Failures that are written out below a grid. */
const SHOWN_REASONS = 5;

/** One grid a job of what a run did: vessels down, dates across. */
export function formatCoverage(results: readonly DayResult[]): string {
  const byJob = Map.groupBy(results, ({ day }) => day.job);
  return [...byJob]
    .map(([job, ofJob]) => {
      const grid = gridOf(ofJob, resultCell);
      return formatWide(job, grid, grid.dates, cellWidth(grid)).join('\n');
    })
    .join('\n\n');
}

function resultCell(result: DayResult): string {
  if (result.status === 'unchanged') return 'unchanged';
  if (result.rows !== undefined) return result.rows === 0 ? 'empty' : formatCount(result.rows);
  return result.status === 'not-due' ? 'not due' : result.status.replace('-', ' ');
}

interface ShownCoverage {
  readonly job: string;
  readonly cells: readonly Coverage[];
  readonly summary: CoverageSummary;
  /** Where the vessels come from, and what cannot be said. */
  readonly remark: string;
}

/** Grid, totals, and why days failed; one character a day where `columns` do not hold the rows of each. */
export function formatStatus(
  { job, cells, summary, remark }: ShownCoverage,
  columns: number,
  colours: Colours = {},
): string {
  const lines = cells.length === 0 ? [job, 'no vessel-days'] : formatStatusGrid(job, cells, columns, colours);
  lines.push('', totalsLine(summary), ...marksLines(summary), ...(remark === '' ? [] : [remark]));
  return [...lines, ...reasonLines(cells, colours)].join('\n');
}

function formatStatusGrid(
  job: string,
  cells: readonly Coverage[],
  columns: number,
  colours: Colours,
): string[] {
  const wide = gridOf(cells, (cell) => paint(colours, STYLES[cell.state], wideCell(cell)));
  const width = cellWidth(wide);
  const label = labelWidth(job, wide);
  if (label + wide.dates.length * (GAP.length + width) <= columns)
    return formatWide(job, wide, wide.dates, width);
  const narrow = gridOf(cells, ({ state }) => paint(colours, STYLES[state], SYMBOLS[state]));
  const perBlock = Math.max(8, columns - label - GAP.length);
  const lines: string[] = [];
  for (let at = 0; at < narrow.dates.length; at += perBlock) {
    if (at > 0) lines.push('');
    lines.push(...formatNarrow(job, narrow, narrow.dates.slice(at, at + perBlock)));
  }
  return [...lines, '', legendLine(cells, colours)];
}

function wideCell({ state, rows }: Coverage): string {
  if (state === 'published') return formatCount(rows ?? 0);
  return state === 'not-due' ? 'not due' : state;
}

interface Grid {
  readonly vessels: readonly string[];
  readonly dates: readonly string[];
  readonly texts: ReadonlyMap<string, string>;
}

function gridOf<T extends { readonly day: VesselDay }>(items: readonly T[], text: (item: T) => string): Grid {
  return {
    vessels: [...new Set(items.map(({ day }) => day.vessel))].sort(),
    dates: [...new Set(items.map(({ day }) => day.date))].sort(),
    texts: new Map(items.map((item) => [`${item.day.vessel}/${item.day.date}`, text(item)])),
  };
}

function cellWidth(grid: Grid): number {
  let width = LEAST_CELL_WIDTH;
  for (const text of grid.texts.values()) width = Math.max(width, widthOf(text));
  return width;
}

function labelWidth(job: string, grid: Grid): number {
  return Math.max(job.length, grid.vessels[0]?.length ?? 0);
}

function formatWide(job: string, grid: Grid, dates: readonly string[], width: number): string[] {
  const label = labelWidth(job, grid);
  const line = (head: string, texts: readonly string[]) =>
    [head.padEnd(label), ...texts.map((text) => ' '.repeat(width - widthOf(text)) + text)].join(GAP);
  const rowOf = (vessel: string) => dates.map((date) => grid.texts.get(`${vessel}/${date}`) ?? '');
  return [line(job, dates), ...grid.vessels.map((vessel) => line(vessel, rowOf(vessel)))];
}

function formatNarrow(job: string, grid: Grid, dates: readonly string[]): string[] {
  const label = labelWidth(job, grid);
  const line = (head: string, text: string) => `${head.padEnd(label)}${GAP}${text}`.trimEnd();
  const rowOf = (vessel: string) => dates.map((date) => grid.texts.get(`${vessel}/${date}`) ?? ' ').join('');
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

function legendLine(cells: readonly Coverage[], colours: Colours): string {
  const shownStates = COVERAGE_STATES.filter((state) => cells.some((cell) => cell.state === state));
  return shownStates
    .map((state) => `${paint(colours, STYLES[state], SYMBOLS[state])} ${stateWord(state)}`)
    .join(GAP);
}

function stateWord(state: CoverageState): string {
  return state.replace('-', ' ');
}

/** `90 vessel-days: 87 complete, 2 missing, 1 refused; 111,111,111 rows published` */
function totalsLine({ vesselDays, totals, rows }: CoverageSummary): string {
  const parts = COVERAGE_STATES.filter((state) => totals[state] > 0).map(
    (state) => `${formatCount(totals[state])} ${stateWord(state)}`,
  );
  const days = countOf(vesselDays, 'vessel-day');
  return `${days}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}; ${formatCount(rows)} rows published`;
}

function marksLines({ oldestGap, lastPublished }: CoverageSummary): string[] {
  return [
    `oldest gap: ${oldestGap === null ? 'none' : formatVesselDay(oldestGap)}`,
    `last success: ${lastPublished === null ? 'none' : `${formatVesselDay(lastPublished)} at ${lastPublished.finishedAt}`}`,
  ];
}

/** Why days failed or were refused, each with its vessel-day; what several have in common is said once. */
function reasonLines(cells: readonly Coverage[], colours: Colours): string[] {
  const bad = cells.flatMap(({ day, state, code, message }) =>
    message === undefined ? [] : [{ day, state, code, reason: withoutDay(message, day) }],
  );
  const byReason = Map.groupBy(bad, ({ state, reason }) => `${state} ${reason}`);
  const byCode = () => Map.groupBy(bad, ({ state, code }) => `${state} ${code}`);
  const groups = [...(byReason.size <= SHOWN_REASONS ? byReason : byCode()).values()];
  const lines = groups.slice(0, SHOWN_REASONS).map(([first, ...others]) => {
    const { state, day, reason } = first!;
    const more = others.length === 0 ? '' : ` (and ${formatCount(others.length)} more of this kind)`;
    return `${paint(colours, STYLES[state], `${state}:`)} ${day.vessel}/${day.date}: ${reason}${more}`;
  });
  const begun = cells.filter((cell) => cell.begun === true).length;
  if (begun > 0) lines.push(`${formatCount(begun)} broken off: the next run goes on where they stopped`);
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Most messages begin with their vessel-day, which stands before them here. */
function withoutDay(message: string, day: VesselDay): string {
  const place = [formatVesselDay(day), `${day.vessel}/${day.date}`].find((text) =>
    message.startsWith(`${text}: `),
  );
  return place === undefined ? message : message.slice(place.length + 2);
}
