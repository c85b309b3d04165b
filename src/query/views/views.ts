/** The views of a lake in the order in which they build on each other. */

import type { Sql } from '../../core/duckdb/sql-text.ts';
import { comment, commentText, joinSql, sql } from '../../core/duckdb/sql-text.ts';
import { coverageView } from './coverage.ts';
import type { Dialect, View, ViewedLake } from './dialect.ts';
import { relation } from './dialect.ts';
import { readingsView, windowsView } from './readings.ts';
import { seriesView } from './series.ts';
import type { WideOptions } from './wide.ts';
import { wideView } from './wide.ts';

/** What each view is, for the comment above it. */
export const VIEWS: Readonly<Record<string, string>> = {
  series: 'what each series is: the newest snapshot that has it',
  readings: 'one row per reading; value: as a double, text: what is no number, as JSON',
  windows: 'one row per series and window of the statistics job',
  receipts: 'one row per published vessel-day, and how it was proven',
  coverage: 'what the receipts say of each job and vessel',
  wide: 'one row per vessel and window, a column per series',
};

/** Those that a lake can have; `receipts` is made by its dialect, before `coverage`. */
export function viewsOf(d: Dialect, lake: ViewedLake, wide: WideOptions | undefined): View[] {
  const source = (dataset: string) => lake.sources.find((one) => one.dataset === dataset);
  const [metadata, measurements, statistics] = ['metadata', 'measurements', 'statistics'].map(source);
  return [
    ...(metadata === undefined ? [] : [seriesView(d, lake, metadata)]),
    ...(measurements === undefined ? [] : [readingsView(d, lake, measurements)]),
    ...(statistics === undefined ? [] : [windowsView(d, lake, statistics)]),
    ...(lake.receiptJobs.length === 0 ? [] : [coverageView(d, lake)]),
    ...(wide === undefined || measurements === undefined ? [] : [wideView(d, lake, wide)]),
  ];
}

/** `CREATE VIEW`, and what its columns mean. */
export function viewStatements(d: Dialect, lake: ViewedLake, { name, body, comments }: View): Sql[] {
  const qualified = relation(d, lake, name);
  const { commentOn } = d;
  const said =
    commentOn === undefined
      ? []
      : [...comments].map(([column, text]) => commentOn(qualified, column, commentText(text)));
  return [sql`${d.createView} ${qualified} AS\n${body}`, ...said];
}

/** Everything as a script. */
export function viewScript(d: Dialect, lake: ViewedLake, wide: WideOptions | undefined): Sql {
  const part = (title: string, statements: readonly Sql[]) =>
    sql`\n${comment(title)}${joinSql(
      statements.map((one) => sql`${one};\n`),
      sql``,
    )}`;
  return joinSql(
    [
      ...d.notes(lake).map((note) => sql`-- ${note}\n`),
      ...lake.sources.map((source) => part(`job ${source.job}: ${source.dataset}`, d.source(lake, source))),
      ...(lake.receiptJobs.length > 0 ? [part(`receipts: ${VIEWS.receipts}`, d.receipts(lake))] : []),
      ...viewsOf(d, lake, wide).map((view) =>
        part(`${view.name}: ${VIEWS[view.name]}`, viewStatements(d, lake, view)),
      ),
    ],
    sql``,
  );
}
