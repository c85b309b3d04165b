/**
 * `npm run dbt`: dbt itself builds the project that `views --for dbt --out` writes, with DuckDB and with Spark, of a lake whose every
 * name is a template and of one in which vessel-days get lost, are refused and come late. `bash .ci/install-dbt` brings it.
 * Ends with 1 where something does not hold. `npm run dbt -- dbt` has one adapter alone.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { viewsCommand } from '../../src/cli/commands/views.ts';
import { addDays, type Layout } from '../../src/core/model/index.ts';
import type { JobDefinition } from '../../src/runtime/config/jobs.ts';
import { commandRun } from '../helpers/command-run.ts';
import { TEXTS } from '../helpers/hostile-sql.ts';
import { openLakeApp } from '../helpers/lake-app.ts';
import { DATE, newLake, OTHER_VESSEL, startTestService, VESSEL } from '../helpers/run.ts';
import { PLANTED_JOBS, plantLake } from '../query/views/planted-lake.ts';
import { DEFAULTS } from '../query/views/view-lake.ts';

const SECRET = 'do-not-show-this';
const TEMPLATES = [
  '{{ env_var("DBT_SECRET_OF_TEST") }}',
  '{% do exceptions.raise_compiler_error("x") %}',
  '{%- if',
];
/** Counts the rows of each model in the database that dbt has made. */
const COUNT = `
import duckdb, json, sys
connection = duckdb.connect(sys.argv[1], read_only=True)
row = connection.execute("SELECT * EXCLUDE (vessel, date, timestamp) FROM wide").fetchone()
counts = [connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("series", "readings")]
print(json.dumps([*counts, sorted(row)]))
`;

const script = readFileSync(join(import.meta.dirname, '../../.ci/install-dbt'), 'utf8');
const version = /^version=(\S+)$/m.exec(script)?.[1];
const { DBT_DIR, XDG_CACHE_HOME, PATH, JAVA_HOME } = process.env;
const installed =
  DBT_DIR ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'vessel-export', `dbt-${version}`);
if (!existsSync(join(installed, 'installed')))
  throw new Error(`no dbt in ${installed}: bash .ci/install-dbt brings it`);

type Jobs = Readonly<Record<string, JobDefinition>>;
const [, , ...only] = process.argv;

/** A project of the lake, which `build` has dbt build as if it were `asOf`. */
async function openProject(lakeUrl: string, jobs: object, adapter: string, columns?: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'vessel-export-dbt-'));
  const write = (more = {}) =>
    commandRun({ lakeUrl, jobs: jobs as never }, (context) =>
      viewsCommand(context, { ...DEFAULTS, for: adapter, out: folder, ...(columns && { columns }), ...more }),
    );
  const written = await write();
  assert.equal(written.code, 0, written.stderr);
  const env = {
    ...{ PATH, HOME: folder, DBT_SEND_ANONYMOUS_USAGE_STATS: 'false', DBT_SECRET_OF_TEST: SECRET },
    ...(JAVA_HOME && { JAVA_HOME }),
  };
  const run = (program: string, args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(join(installed, 'bin', program), args, {
      ...{ cwd: folder, env, encoding: 'utf8' as const, maxBuffer: 1e9 },
    });
    return { code: status, said: `${stdout}\n${stderr}` };
  };
  return {
    folder,
    write,
    run,
    dbt(command: string, vars: object = {}) {
      const args = ['--no-version-check', '--no-use-colors', command, '--vars', JSON.stringify(vars)];
      const { code, said } = run('dbt', args);
      const named = [...said.matchAll(/(no_vessel_day_\w+|rows_are\w+): (\S+: .*)$/gm)];
      const tally = /Done\. (PASS=\d+ WARN=\d+ ERROR=\d+)/.exec(said)?.[1] ?? said;
      return { code, said, tally, named: named.map(([, test, what]) => `${test} ${what}`) };
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

async function ofTemplates(): Promise<void> {
  const series = [...TEMPLATES, ...TEXTS].flatMap((text, n) =>
    [`${text}${n}`, `b${n}`].map((timeSeriesId) => ({
      ...{ timeSeriesId, shortName: `${text}#${n}`, text },
      domains: { raalabs: { id: text }, [text]: text },
    })),
  );
  await using lake = await plantLake(series);
  await using project = await openProject(lake.url, PLANTED_JOBS, 'dbt', ['all']);
  const { said, tally } = project.dbt('build');
  assert.equal(tally, 'PASS=4 WARN=0 ERROR=0', said);
  const counted = project.run('python', ['-c', COUNT, join(project.folder, 'vessel_lake.duckdb')]).said;
  const [allSeries, readings, cells] = JSON.parse(counted);
  assert.equal(allSeries, series.length);
  assert.equal(readings, series.length);
  assert.deepEqual(
    cells.sort((a: number, b: number) => a - b),
    series.map((_, index) => index + 1),
  );
  for (const entry of await readdir(project.folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    assert.equal(bytes.includes(SECRET), false, `${entry.name} has the value of a variable`);
  }
  console.log(`dbt ${version}: models of ${series.length} series whose names are templates; all held`);
}

const statusesOf = (results: readonly { readonly status: string }[]) =>
  results.map(({ status }) => status).sort();

/** A day is missing, one was refused, two are late; then all is green. */
async function ofStates(adapter: string, layout: Layout): Promise<void> {
  const vessels = [VESSEL, OTHER_VESSEL];
  const common = { vessels, select: ['flat/{vessel}/S*'] };
  const jobs: Jobs = {
    measurements: { dataset: 'measurements', ...common },
    statistics: { dataset: 'statistics', ...common, window: '1h', aggregations: ['mean'] },
  };
  const service = await startTestService({ vessels: 2, readingsPerDay: 1_000 });
  await using lake = await newLake();
  const app = await openLakeApp({ service, lakeUrl: lake.url, jobs, env: { LAKE_LAYOUT: layout } });
  const [second, third, after] = [1, 2, 3].map((days) => addDays(DATE, days)) as [string, string, string];
  try {
    await app.run({ from: DATE, to: second });
    await app.run({ from: second, to: third, vessels: [VESSEL] });
    await app.run({ from: second, to: third, vessels: [OTHER_VESSEL], jobs: ['statistics'] });
    await app.run({ from: third, to: after });
    await using project = await openProject(lake.url, jobs, adapter);

    service.faults = ({ family }) =>
      family === 'statistics' ? { kind: 'statistics-counts', scale: 0.5 } : undefined;
    const forced = { jobs: ['measurements'], vessels: [VESSEL], force: true };
    assert.deepEqual(statusesOf(await app.run(forced)), ['refused']);
    service.faults = undefined;
    const later = { as_of: `${addDays(after, 2)}T13:00:00`, left_vessels: [OTHER_VESSEL] };
    const bad = project.dbt('build', later);
    const refused = `no_vessel_day_is_refused measurements/${VESSEL}/${DATE}: refused: `;
    assert.deepEqual(
      [bad.code, bad.named.map((line) => (line.startsWith(refused) ? refused : line)).sort()],
      [
        1,
        [
          ...Object.keys(jobs).map((job) => `no_vessel_day_is_late ${job}/${VESSEL}/${after}: late`),
          `no_vessel_day_is_missing measurements/${OTHER_VESSEL}/${second}: missing`,
          refused,
        ],
      ],
      bad.said,
    );

    assert.deepEqual(statusesOf(await app.run(forced)), ['published']);
    const filled = await app.run({ from: second, to: third });
    assert.deepEqual(statusesOf(filled), ['done', 'done', 'done', 'published']);
    const green = project.dbt('build', { as_of: `${after}T13:00:00` });
    assert.deepEqual([green.code, green.named], [0, []], green.said);
    assert.match(green.tally, /WARN=0 ERROR=0/);

    const own = join(project.folder, 'models/coverage.sql');
    await writeFile(own, 'SELECT 1 AS mine');
    const refusal = await project.write();
    assert.equal(refusal.code, 2);
    assert.match(refusal.stderr, /other files of these names: models\/coverage\.sql; --overwrite/);
    assert.equal(await readFile(own, 'utf8'), 'SELECT 1 AS mine');
    assert.equal((await project.write({ overwrite: true })).stdout, `replaced ${own}\n`);
    console.log(
      `dbt ${version}, ${adapter}, ${layout}: ${green.tally}; missing, refused and late days fail it by name`,
    );
  } finally {
    await app[Symbol.asyncDispose]();
    await service.close();
  }
}

if (only.length === 0 || only.includes('templates')) await ofTemplates();
for (const [adapter, layout] of [
  ['dbt', 'plain'],
  ['dbt-spark', 'plain'],
] as const)
  if (only.length === 0 || only.includes(adapter)) await ofStates(adapter, layout);
