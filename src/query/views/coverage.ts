/** `coverage`: what the receipts say of each job and vessel, in one row. */

import { sql } from '../../core/duckdb/sql-text.ts';
import type { Dialect, View, ViewedLake } from './dialect.ts';
import { relation, selectList } from './dialect.ts';

/** Snapshots are left out: they are written only when something has changed, so that a date without one is no gap. */
export function coverageView(d: Dialect, lake: ViewedLake): View {
  const q = d.quote;
  const [first, last] = [sql`min(r.${q('date')})`, sql`max(r.${q('date')})`];
  const items = [
    [sql`r.${q('job')}`, 'job'],
    [sql`r.${q('vessel')}`, 'vessel'],
    [first, 'first_date'],
    [last, 'last_date'],
    [sql`count(*)`, 'days'],
    [sql`${d.days(first, last)} + 1 - count(*)`, 'days_missing'],
    [sql`sum(CASE WHEN r.${q('rows')} = 0 THEN 1 ELSE 0 END)`, 'days_empty'],
    [sql`sum(CASE WHEN r.${q('proof')} = 'exact' THEN 1 ELSE 0 END)`, 'days_exact'],
    [sql`sum(r.${q('rows')})`, 'total_rows'],
    [sql`max(r.${q('finished_at')})`, 'last_finished_at'],
  ] as const;
  const body = sql`SELECT
${selectList(d, items)}
FROM ${relation(d, lake, 'receipts')} r
WHERE r.${q('dataset')} <> 'metadata'
GROUP BY r.${q('job')}, r.${q('vessel')}`;
  return { name: 'coverage', body, comments: new Map() };
}
