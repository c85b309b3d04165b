/**
 * `npm run dbt`: dbt itself builds what `views --for dbt` prints, of a lake whose every name is a template, and its tables are
 * held against the lake. `bash .ci/install-dbt` brings it. Ends with 1 where something does not hold.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { viewsCommand } from '../../src/cli/commands/views.ts';
import { commandRun } from '../helpers/command-run.ts';
import { TEXTS } from '../helpers/hostile-sql.ts';
import { filesOfDbt } from '../query/views/dbt-files.ts';
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
const { DBT_DIR, XDG_CACHE_HOME, PATH } = process.env;
const installed =
  DBT_DIR ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'vessel-export', `dbt-${version}`);
if (!existsSync(join(installed, 'installed')))
  throw new Error(`no dbt in ${installed}: bash .ci/install-dbt brings it`);

const series = [...TEMPLATES, ...TEXTS].flatMap((text, n) =>
  [`${text}${n}`, `b${n}`].map((timeSeriesId) => ({
    ...{ timeSeriesId, shortName: `${text}#${n}`, text },
    domains: { raalabs: { id: text }, [text]: text },
  })),
);
const lake = await plantLake(series);
const project = await mkdtemp(join(tmpdir(), 'vessel-export-dbt-'));
try {
  const printed = await commandRun({ lakeUrl: lake.url, jobs: PLANTED_JOBS }, (context) =>
    viewsCommand(context, { ...DEFAULTS, for: 'dbt', columns: ['all'] }),
  );
  assert.equal(printed.code, 0, printed.stderr);
  await mkdir(join(project, 'models'));
  for (const [name, text] of filesOfDbt(printed.stdout)) await writeFile(join(project, 'models', name), text);
  await writeFile(join(project, 'dbt_project.yml'), 'name: lake\nversion: "1.0"\nprofile: lake\n');
  const database = join(project, 'lake.duckdb');
  await writeFile(
    join(project, 'profiles.yml'),
    `lake:\n  target: test\n  outputs:\n    test: { type: duckdb, path: ${JSON.stringify(database)} }\n`,
  );
  const env = { PATH, HOME: project, DBT_SEND_ANONYMOUS_USAGE_STATS: 'false', DBT_SECRET_OF_TEST: SECRET };
  const run = (program: string, args: readonly string[]) =>
    execFileSync(join(installed, 'bin', program), args, { cwd: project, env, encoding: 'utf8' });
  const said = run('dbt', ['--no-version-check', '--no-use-colors', 'build', '--profiles-dir', '.']);
  assert.match(said, /Done\. PASS=3 WARN=0 ERROR=0 SKIP=0/);
  const [allSeries, readings, cells] = JSON.parse(run('python', ['-c', COUNT, database]));
  assert.equal(allSeries, series.length);
  assert.equal(readings, series.length);
  assert.deepEqual(
    cells.sort((a: number, b: number) => a - b),
    series.map((_, index) => index + 1),
  );
  for (const entry of await readdir(project, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    assert.equal(bytes.includes(SECRET), false, `${entry.name} has the value of a variable`);
  }
  console.log(
    `dbt ${version} has built 3 models of ${series.length} series whose names are templates; all held`,
  );
} finally {
  await rm(project, { recursive: true, force: true });
  await lake[Symbol.asyncDispose]();
}
