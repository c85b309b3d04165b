/**
 * `sources.yml` and models for dbt on DuckDB: the same views, whose sources dbt knows. dbt takes every file for a template of
 * Jinja before anything else. What is named cannot begin one: nothing that sql-text.ts has spelled has a brace in it.
 */
import { comment, joinSql, type Sql, sql, yamlText } from '../../core/duckdb/sql-text.ts';
import type { Dialect, ViewedLake } from './dialect.ts';
import { duckdb, jobRows } from './dialects/duckdb.ts';
import { VIEWS, viewsOf } from './views.ts';
import type { WideOptions } from './wide.ts';

/** Of the views: those that need no more than the sources of the lake's objects. */
const MODELS: ReadonlySet<string> = new Set(['series', 'readings', 'wide']);

/** The files one after the other, each below its name. */
export function dbtFiles(lake: ViewedLake, wide: WideOptions | undefined): Sql {
  const isSource = (name: string) => lake.sources.some(({ relation }) => relation === name);
  const dbt: Dialect = {
    ...duckdb,
    relation: (name) =>
      isSource(name)
        ? sql`{{ source('lake', ${duckdb.literal(name)}) }}`
        : sql`{{ ref(${duckdb.literal(name)}) }}`,
  };
  const models = viewsOf(dbt, lake, wide).filter(({ name }) => MODELS.has(name));
  const parts = [
    sql`# For dbt with the adapter dbt-duckdb. A test of vessel-export has dbt itself build these models.\n`,
    sql`# --- models/sources.yml\nversion: 2\nsources:\n  - name: lake\n    tables:\n`,
    ...lake.sources.map(
      ({ relation, job, dataset }) =>
        sql`      - name: ${yamlText(relation)}
        description: ${yamlText(`job ${job}: ${dataset}`)}
        config:
          meta:
            external_location: ${yamlText(jobRows(lake, job, dataset))}
`,
    ),
    ...models.map(
      ({ name, body }) => sql`${comment(`--- models/${name}.sql`)}${comment(VIEWS[name]!)}${body}\n`,
    ),
  ];
  return joinSql(parts, sql``);
}
