/** What a person is shown of a job's coverage, kept as its cells are made. */
import type { Coverage, CoverageState } from '../../audit/status/cells.ts';

export interface ShownCells {
  add(cell: Coverage): void;
  /** Both sorted. */
  vessels(): string[];
  dates(): string[];
  stateOf(vessel: string, date: string): CoverageState | undefined;
  /** Of the published day; 0 where there is none. */
  rowsOf(vessel: string, date: string): number;
  /** Of any day that is published. */
  readonly mostRows: number;
  /** Cells that say why, with all that they say. */
  readonly reasons: readonly Coverage[];
  /** How many were broken off. */
  readonly begun: number;
}

/** By the number of the vessel. */
interface ShownDate {
  readonly states: (CoverageState | undefined)[];
  readonly rows: number[];
}

/** Two words a vessel-day, where an object takes ten times that: a month of a large fleet has hundreds of thousands. */
export function createShownCells(): ShownCells {
  const numbers = new Map<string, number>();
  const dates = new Map<string, ShownDate>();
  const reasons: Coverage[] = [];
  let mostRows = 0;
  let begun = 0;
  const at = (vessel: string) => numbers.get(vessel) ?? -1;
  return {
    add(cell) {
      const { vessel, date } = cell.day;
      const shown = dates.get(date) ?? { states: [], rows: [] };
      dates.set(date, shown);
      const number = numbers.get(vessel) ?? numbers.size;
      numbers.set(vessel, number);
      shown.states[number] = cell.state;
      shown.rows[number] = cell.rows ?? 0;
      if (cell.state === 'published') mostRows = Math.max(mostRows, cell.rows ?? 0);
      if (cell.message !== undefined) reasons.push(cell);
      if (cell.begun === true) begun++;
    },
    vessels: () => [...numbers.keys()].sort(),
    dates: () => [...dates.keys()].sort(),
    stateOf: (vessel, date) => dates.get(date)?.states[at(vessel)],
    rowsOf: (vessel, date) => dates.get(date)?.rows[at(vessel)] ?? 0,
    get mostRows() {
      return mostRows;
    },
    reasons,
    get begun() {
      return begun;
    },
  };
}
