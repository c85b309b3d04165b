/** `sources.yml` and models for dbt on DuckDB: the same views, whose sources dbt knows. */
import type { Source, View, ViewedLake } from './dialect.ts';
import { relation } from './dialect.ts';
import { duckdb, jobRows } from './dialects/duckdb.ts';
import { VIEWS, viewsOf } from './views.ts';
import type { WideOptions } from './wide.ts';

/** Of the views: those that need no more than the sources of the lake's objects. */
const MODELS: ReadonlySet<string> = new Set(['series', 'readings', 'wide']);

/** The files one after the other, each below its name. */
export function dbtFiles(lake: ViewedLake, wide: WideOptions | undefined): string {
  const models = viewsOf(duckdb, lake, wide).filter(({ name }) => MODELS.has(name));
  return [
    '# For dbt with the adapter dbt-duckdb. As documented; the tests of vessel-export run the SQL of the models.',
    '# --- models/sources.yml',
    ...sourcesYaml(lake),
    ...models.flatMap((view) => [
      `-- --- models/${view.name}.sql`,
      `-- ${VIEWS[view.name]}`,
      model(lake, view, models),
    ]),
    '',
  ].join('\n');
}

function sourcesYaml(lake: ViewedLake): string[] {
  return [
    'version: 2',
    'sources:',
    '  - name: lake',
    '    tables:',
    ...lake.sources.flatMap((source) => [
      `      - name: ${source.relation}`,
      `        description: ${JSON.stringify(`job ${source.job}: ${source.dataset}`)}`,
      '        config:',
      '          meta:',
      `            external_location: ${JSON.stringify(jobRows(lake, source.job, source.dataset))}`,
    ]),
  ];
}

/** The view's query, with dbt's names of what it reads. */
function model(lake: ViewedLake, view: View, models: readonly View[]): string {
  const named = (name: string, call: string): [string, string] => [
    `${relation(duckdb, lake, name)} `,
    `{{ ${call} }} `,
  ];
  const calls = [
    ...lake.sources.map((source: Source) => named(source.relation, `source('lake', '${source.relation}')`)),
    ...models.map(({ name }) => named(name, `ref('${name}')`)),
  ];
  // Relations stand behind FROM and JOIN alone.
  return `${view.body} `
    .replace(/\b(FROM|JOIN) ("(?:[^"]|"")*"(?:\."(?:[^"]|"")*")?\s)/g, (whole, word, name) => {
      const call = calls.find(([own]) => own.trim() === name.trim());
      return call === undefined ? whole : `${word} ${call[1].trim()}${name.at(-1)}`;
    })
    .trimEnd();
}
