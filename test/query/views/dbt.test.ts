/** What `views --for dbt` prints, taken for templates by Jinja itself, as dbt does, and then run by DuckDB. */
import { pathToFileURL } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { viewsCommand } from '../../../src/cli/commands/views.ts';
import { commandRun } from '../../helpers/command-run.ts';
import { MARKER, TEXTS } from '../../helpers/hostile-sql.ts';
import { newLake, type TestLake } from '../../helpers/run.ts';
import { sqlParsersForTests } from '../../helpers/sql-parsers.ts';
import { filesOfDbt } from './dbt-files.ts';
import { PLANTED_JOBS, plantLake } from './planted-lake.ts';
import { DEFAULTS } from './view-lake.ts';

const open = sqlParsersForTests();

/** Names that Jinja would run, among all others: two series have each. */
const TEMPLATES = [
  `{{ env_var("${MARKER}") }}`,
  `{% do run_query("${MARKER}") %}`,
  `{{ ref("${MARKER}") }}`,
  `{% endraw %}{{ env_var("${MARKER}") }}{% raw %}`,
  `{# ${MARKER} #}{{ "{{" }} env_var("${MARKER}") {{ "}}" }}`,
  `FROM "readings" {{ env_var("${MARKER}") }}`,
  '{%- if',
  '{',
  '}}',
];
const SERIES = [...TEMPLATES, ...TEXTS].flatMap((text, n) => {
  const series = {
    shortName: `${text.slice(0, 900)}#${n}`,
    text,
    domains: { raalabs: { id: text }, [text]: text },
  };
  return [
    { ...series, timeSeriesId: `${text}${n}` },
    { ...series, timeSeriesId: `b${n}` },
  ];
});

/** Files by their names. */
async function files({ url }: TestLake): Promise<Map<string, string>> {
  const options = { ...DEFAULTS, for: 'dbt', columns: ['all'] };
  const { code, stdout, stderr } = await commandRun({ lakeUrl: url, jobs: PLANTED_JOBS }, (context) =>
    viewsCommand(context, options),
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('error') });
  return filesOfDbt(stdout);
}

describe.skipIf(open === undefined)('for dbt', () => {
  const parsers = open?.();
  let lake: TestLake;
  beforeAll(async () => {
    lake = await plantLake(SERIES);
  });
  afterAll(async () => {
    await parsers?.[Symbol.asyncDispose]();
    await lake?.[Symbol.asyncDispose]();
  });

  test('no name is a template, and the models have every reading of every name', async () => {
    const made = await files(lake);
    const models = ['series', 'readings', 'wide'].map((name) => `models/${name}.sql`);
    const project = ['dbt_project.yml', 'profiles.yml', 'macros/say_vessel_days.sql'];
    const described = [...project, 'models/sources.yml', 'models/models.yml'];
    expect([...made.keys()]).toEqual([...described, ...models]);
    const { sources } = parse(made.get('models/sources.yml')!);
    const relations: Record<string, string> = { series: 'series', readings: 'readings' };
    for (const { name, description, config } of sources[0].tables) {
      // dbt renders these too, and then fills in what stands in single braces.
      for (const text of [name, description, config.meta.external_location]) {
        expect(await parsers!.render(text)).toEqual({ text, called: [] });
        expect(text).not.toMatch(/[{}]/);
      }
      relations[`lake/${name}`] = config.meta.external_location;
    }
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const called = [];
    for (const name of ['series', 'readings', 'wide']) {
      const rendered = await parsers!.render(made.get(`models/${name}.sql`)!, relations);
      called.push(...rendered.called);
      expect((await connection.extractStatements(rendered.text)).count).toBe(1);
      await connection.run(`CREATE VIEW ${name} AS ${rendered.text}`);
    }
    expect(called).toEqual([
      ['source', 'lake', 'metadata'],
      ['source', 'lake', 'measurements'],
      ['ref', 'series'],
      ['ref', 'readings'],
    ]);
    const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRows();
    expect(await rows('SELECT count(*) FROM series')).toEqual([[BigInt(SERIES.length)]]);
    const tags = await rows('SELECT DISTINCT tag FROM readings ORDER BY tag');
    expect(tags.flat().sort()).toEqual([...new Set(SERIES.map(({ shortName }) => shortName))].sort());
    const [cells] = await rows('SELECT * EXCLUDE (vessel, date, timestamp) FROM wide');
    expect(cells!.map(Number).sort((a, b) => a - b)).toEqual(SERIES.map((_, index) => index + 1));
    connection.closeSync();
    instance.closeSync();
  });

  test('a lake in a folder whose name is a template is read where it is', async () => {
    await using odd = await newLake();
    const inner = `${odd.dir}/{{ env_var('${MARKER}') }} {x}`;
    const planted = { dir: inner, url: pathToFileURL(inner).href, [Symbol.asyncDispose]: async () => {} };
    await plantLake([{ timeSeriesId: 'a', shortName: 'Level', text: 'm', domains: {} }], planted);
    const made = await files(planted);
    const { sources } = parse(made.get('models/sources.yml')!);
    const location = sources[0].tables[1].config.meta.external_location;
    expect(await parsers!.render(location)).toEqual({ text: location, called: [] });
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const { text } = await parsers!.render(made.get('models/series.sql')!, {
      'lake/metadata': sources[0].tables[0].config.meta.external_location,
    });
    expect((await connection.runAndReadAll(text)).getRows()).toHaveLength(1);
    connection.closeSync();
    instance.closeSync();
  });

  test('what is not spelled would be run', async () => {
    const { text, called } = await parsers!.render(`SELECT '${TEMPLATES[0]}' -- ${TEMPLATES[1]}`);
    expect(text).toBe("SELECT '<env_var>' -- ");
    expect(called).toEqual([
      ['env_var', MARKER],
      ['run_query', MARKER],
    ]);
  });
});
