/** Coverage as a grid per job, vessels down and dates across. */
import type { Coverage, CoverageState, CoverageSummary } from '../../audit/status/cells.ts';
import { COVERAGE_STATES } from '../../audit/status/cells.ts';
import { countOf, formatCount, formatVesselDay, type VesselDay } from '../../core/model/index.ts';
import type { DayResult } from '../../export/events.ts';
import { widthOf } from './format.ts';
import { type Colours, paint, type Style } from './screen.ts';

/** For each state the one character that stands for a day, and its style. */
const SIGNS: Readonly<Record<CoverageState, readonly [symbol: string, style: Style]>> = {
  published: ['█', 'green'],
  empty: ['o', 'dim'],
  missing: ['?', 'yellow'],
  stale: ['s', 'yellow'],
  failed: ['F', 'red'],
  refused: ['R', 'yellow'],
  waiting: ['w', 'yellow'],
  running: ['>', 'cyan'],
  'not-due': ['·', 'dim'],
  'not-asked-for': ['-', 'dim'],
};

const MIN_CELL_WIDTH = 10;
const SHOWN_REASONS = 5;

export function formatCoverage(results: readonly DayResult[]): string {
  const byJob = [...Map.groupBy(results, ({ day }) => day.job)];
  return byJob
    .map(([job, ofJob]) =>
      formatWide(job, gridOf(ofJob), widest(ofJob.map(resultCell)), resultCell).join('\n'),
    )
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
  /** Where the vessels come from, and what is unknown. */
  readonly warning: string;
}

/** Grid, totals, and why days failed; one character a day if `columns` have no room for row counts. */
export function formatStatus(shown: ShownCoverage, columns: number, colours: Colours = {}): string {
  const { job, cells, summary, warning } = shown;
  const grid = summary.vesselDays === 0 ? [job, 'no vessel-days'] : formatGrid(shown, columns, colours);
  const totals = ['', totalsLine(summary), ...marksLines(summary), ...(warning === '' ? [] : [warning])];
  return [...grid, ...totals, ...reasonLines(cells, colours)].join('\n');
}

function formatGrid({ job, cells, summary }: ShownCoverage, columns: number, colours: Colours): string[] {
  const grid = gridOf(cells);
  const published = ({ state, rows }: Coverage) => (state === 'published' ? (rows ?? 0) : 0);
  const mostRows = cells.reduce((most, cell) => Math.max(most, published(cell)), 0);
  const states = COVERAGE_STATES.filter((state) => summary.totals[state] > 0);
  const width = widest(states.map((state) => wideCell(state, mostRows)));
  const wide = ({ state, rows }: Coverage) => paint(colours, SIGNS[state][1], wideCell(state, rows ?? 0));
  if (labelWidth(job, grid) + grid.dates.length * (GAP.length + width) <= columns)
    return formatWide(job, grid, width, wide);
  const symbols = new Map(states.map((state) => [state, paint(colours, SIGNS[state][1], SIGNS[state][0])]));
  const legend = states.map((state) => `${symbols.get(state)} ${stateWord(state)}`).join(GAP);
  return [...formatNarrow(job, grid, columns, ({ state }) => symbols.get(state)!), '', legend];
}

function wideCell(state: CoverageState, rows: number): string {
  if (state === 'published') return formatCount(rows);
  return state === 'not-asked-for' ? 'not asked' : stateWord(state);
}

function widest(texts: Iterable<string>): number {
  let width = MIN_CELL_WIDTH;
  for (const text of texts) width = Math.max(width, widthOf(text));
  return width;
}

function stateWord(state: CoverageState): string {
  return state.replaceAll('-', ' ');
}

/** `90 vessel-days: 87 complete, 2 missing, 1 refused; 111,111,111 rows published` */
function totalsLine({ vesselDays, totals, rows }: CoverageSummary): string {
  const parts = COVERAGE_STATES.filter((state) => totals[state] > 0).map(
    (state) => `${formatCount(totals[state])} ${stateWord(state)}`,
  );
  const days = countOf(vesselDays, 'vessel-day');
  return `${days}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}; ${formatCount(rows)} rows published`;
}

function marksLines({ totals, oldestGap, lastPublished }: CoverageSummary): string[] {
  const notAsked =
    'not asked for: neither the job nor a backfill covers these days; name their dates (run --from D --to D) to export them';
  return [
    ...(totals['not-asked-for'] > 0 ? [notAsked] : []),
    `oldest gap: ${oldestGap === null ? 'none' : formatVesselDay(oldestGap)}`,
    `last success: ${lastPublished === null ? 'none' : `${formatVesselDay(lastPublished)} at ${lastPublished.finishedAt}`}`,
  ];
}

/** Why days failed or were refused, each with its vessel-day; a common reason is printed once. */
function reasonLines(cells: readonly Coverage[], colours: Colours): string[] {
  const begun = cells.filter((cell) => cell.begun).length;
  const bad = cells.flatMap(({ day, state, code, message }) =>
    message === undefined ? [] : [{ day, state, code, reason: withoutDay(message, day) }],
  );
  const byReason = Map.groupBy(bad, ({ state, reason }) => `${state} ${reason}`);
  const byCode = () => Map.groupBy(bad, ({ state, code }) => `${state} ${code}`);
  const groups = [...(byReason.size <= SHOWN_REASONS ? byReason : byCode()).values()];
  const lines = groups.slice(0, SHOWN_REASONS).map(([first, ...others]) => {
    const { state, day, reason } = first!;
    const more = others.length === 0 ? '' : ` (and ${formatCount(others.length)} more of this kind)`;
    return `${paint(colours, SIGNS[state][1], `${state}:`)} ${day.vessel}/${day.date}: ${reason}${more}`;
  });
  if (begun > 0) lines.push(`${formatCount(begun)} interrupted: the next run continues them`);
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Most messages begin with their vessel-day, which is printed before them already. */
function withoutDay(message: string, day: VesselDay): string {
  const place = [formatVesselDay(day), `${day.vessel}/${day.date}`].find((text) =>
    message.startsWith(`${text}: `),
  );
  return place === undefined ? message : message.slice(place.length + 2);
}

/** Cells by vessel and date; undefined: there is no such vessel-day. */
interface Grid<Cell> {
  readonly vessels: readonly string[];
  readonly dates: readonly string[];
  cellOf(vessel: string, date: string): Cell | undefined;
}

/** Texts are made a line at a time, because a fleet may be large. */
function gridOf<Cell extends { readonly day: VesselDay }>(cells: readonly Cell[]): Grid<Cell> {
  const byDate = (of: readonly Cell[]) => new Map(of.map((cell) => [cell.day.date, cell]));
  const ofVessels = Map.groupBy(cells, ({ day }) => day.vessel);
  const byPlace = new Map([...ofVessels].map(([vessel, of]) => [vessel, byDate(of)]));
  return {
    vessels: [...byPlace.keys()].sort(),
    dates: [...new Set(cells.map(({ day }) => day.date))].sort(),
    cellOf: (vessel, date) => byPlace.get(vessel)?.get(date),
  };
}

const GAP = '  ';

function labelWidth(job: string, { vessels }: Pick<Grid<unknown>, 'vessels'>): number {
  return Math.max(job.length, vessels[0]?.length ?? 0);
}

/** Every text in a column of `width`. */
function formatWide<Cell>(job: string, grid: Grid<Cell>, width: number, textOf: (cell: Cell) => string) {
  const label = labelWidth(job, grid);
  const line = (head: string, texts: readonly string[]) =>
    [head.padEnd(label), ...texts.map((text) => ' '.repeat(width - widthOf(text)) + text)].join(GAP);
  const text = (cell: Cell | undefined) => (cell === undefined ? '' : textOf(cell));
  const rowOf = (vessel: string) => grid.dates.map((date) => text(grid.cellOf(vessel, date)));
  return [line(job, grid.dates), ...grid.vessels.map((vessel) => line(vessel, rowOf(vessel)))];
}

/** As many dates at a time as fit, one character each. */
function formatNarrow<Cell>(
  job: string,
  { vessels, dates: all, cellOf }: Grid<Cell>,
  columns: number,
  textOf: (cell: Cell) => string,
): string[] {
  const label = labelWidth(job, { vessels });
  const perBlock = Math.max(8, columns - label - GAP.length);
  const line = (head: string, text: string) => `${head.padEnd(label)}${GAP}${text}`.trimEnd();
  const text = (cell: Cell | undefined) => (cell === undefined ? ' ' : textOf(cell));
  const lines: string[] = [];
  for (let at = 0; at < all.length; at += perBlock) {
    const dates = all.slice(at, at + perBlock);
    const firsts = dates.filter((date) => date.endsWith('-01'));
    const fifths = dates.filter((date) => Number(date.slice(8)) % 5 === 0);
    const months = ruler(dates, [...firsts, dates[0]!], (date) => date.slice(0, 7));
    const days = ruler(dates, [...firsts, ...fifths], (date) => date.slice(8));
    const rowOf = (vessel: string) => dates.map((date) => text(cellOf(vessel, date))).join('');
    const rows = vessels.map((vessel) => line(vessel, rowOf(vessel)));
    lines.push(...(at === 0 ? [] : ['']), line(job, months), line('', days), ...rows);
  }
  return lines;
}

/** Labels above their dates; if two would touch, only the first is shown. */
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
