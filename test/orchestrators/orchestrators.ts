/**
 * `npm run orchestrators`: the examples of examples/ in Dagster and Airflow themselves, on an embedded service and a lake of
 * their own: a day is exported, refused, fails, and is changed by late data. `bash .ci/install-orchestrators` brings both.
 * Ends with 1 where something does not hold. `npm run orchestrators -- dagster` runs one alone.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { addDays, dayRange } from '../../src/core/model/index.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { receiptOf } from '../helpers/lake.ts';
import { exportEnv, FEW_SERIES, newLake, startTestService, VESSEL, writeJobs } from '../helpers/run.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const { XDG_CACHE_HOME, ORCHESTRATORS_DIR, PATH } = process.env;
const cache = ORCHESTRATORS_DIR ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'vessel-export');
const script = readFileSync(join(ROOT, '.ci/install-orchestrators'), 'utf8');
/** Recent: the look-backs end today. */
const DATE = addDays(new Date().toISOString().slice(0, 10), -3);
const NEXT = addDays(DATE, 1);
/** An hour of DATE, whose readings come late or go. */
const HOUR = { fromMicros: dayRange(DATE).fromMicros, toMicros: dayRange(DATE).fromMicros + 3_600_000_000 };

function installed(name: string): string {
  const version = new RegExp(`^${name}=(\\S+)$`, 'm').exec(script)?.[1];
  const folder = join(cache, `${name}-${version}`);
  if (!existsSync(join(folder, 'installed')))
    throw new Error(`no ${name} in ${folder}: bash .ci/install-orchestrators brings it`);
  return folder;
}

/** A service, a lake and a folder, and programs of an orchestrator that know of them. */
async function openPlace(name: string) {
  const opening = new AsyncDisposableStack();
  const bin = join(installed(name), 'bin');
  const service = await startTestService({ readingsPerDay: 1_000 });
  opening.defer(() => service.close());
  const lake = opening.use(await newLake());
  const home = await mkdtemp(join(tmpdir(), `vessel-export-${name}-`));
  opening.defer(() => rm(home, { recursive: true, force: true }));
  const jobs = await writeJobs({ measurements: FEW_SERIES });
  opening.defer(() => rm(jobs, { recursive: true }));
  const env: Record<string, string> = {
    ...exportEnv(service, lake.url, jobs),
    ...{ PATH: `${bin}:${PATH}`, HOME: home, EXAMPLE: join(ROOT, 'examples', name), LOG_LEVEL: 'warn' },
    VESSEL_EXPORT: `${process.execPath} ${join(ROOT, 'src/bin.js')}`,
    ...{ VESSEL_EXPORT_SINCE: addDays(DATE, -7), VESSEL_EXPORT_RETRIES: '0' },
    VESSEL_EXPORT_LOOK_BACK_DAYS: '4',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const run = async (
    program: string,
    args: readonly string[],
    more: Record<string, string> = {},
    input = '',
  ) => {
    const child = spawn(join(bin, program), args, { cwd: home, env: { ...env, ...more } });
    child.stdin.end(input);
    const [stdout, stderr, [code]] = await Promise.all([
      child.stdout.toArray(),
      child.stderr.toArray(),
      new Promise<[number]>((done) => child.once('close', (...ended) => done(ended as never))),
    ]);
    return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
  };
  return { service, lake, home, env, run, [Symbol.asyncDispose]: () => opening.disposeAsync() };
}

async function dagster(): Promise<void> {
  await using place = await openPlace('dagster');
  const { service, run } = place;
  const drive = async (args: readonly string[], more: Record<string, string> = {}) => {
    const env = { DAGSTER_HOME: place.home, ...more };
    const { code, stdout, stderr } = await run(
      'python',
      [join(import.meta.dirname, 'drive_dagster.py'), ...args],
      env,
    );
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout.trim().split('\n').at(-1)!);
  };
  const defined = await run('dagster', [
    'definitions',
    'validate',
    '-f',
    join(ROOT, 'examples/dagster/vessel_lake.py'),
  ]);
  assert.equal(defined.code, 0, defined.stderr);

  service.overlay.removeReadings(undefined, HOUR);
  const first = await drive(['materialize', DATE]);
  assert.equal(first.status, 'SUCCESS', JSON.stringify(first));
  assert.deepEqual([first.checks.complete.passed, first.checks.verified.passed], [true, true]);
  assert.ok(first.materialized[0].rows > 0);
  assert.deepEqual((await drive(['sensor'])).dates, []);

  service.overlay.reset();
  const late = await drive(['sensor']);
  assert.deepEqual(
    [late.dates, late.runs[0].status, late.runs[0].checks.complete.passed],
    [[DATE], 'SUCCESS', true],
  );
  assert.ok(late.runs[0].materialized[0].rows > first.materialized[0].rows);
  assert.deepEqual((await drive(['sensor'])).dates, []);

  service.overlay.removeReadings(undefined, HOUR);
  const refused = (await drive(['sensor'])).runs[0];
  assert.equal(refused.checks.complete.passed, false);
  assert.match(
    refused.checks.complete.metadata.not_complete.join(),
    new RegExp(`${DATE}: refused, .*--allow-shrink`),
  );
  const { checks } = await drive(['materialize', DATE]);
  assert.equal(checks.complete.passed, false);
  service.overlay.reset();

  const failed = await drive(['materialize', NEXT], { QUERY_CLIENT_SECRET: 'a-wrong-secret' });
  assert.equal(failed.status, 'FAILURE');
  assert.equal(failed.materialized.length, 0);
  assert.equal((await drive(['materialize', NEXT])).status, 'SUCCESS');
  console.log('dagster: exported, late data by the sensor, a refused day red, a failed run failed; all held');
}

async function airflow(): Promise<void> {
  await using place = await openPlace('airflow');
  const events: string[] = [];
  await using listener = await startHttpServer(async (request, response) => {
    events.push((await request.toArray()).join(''));
    response.writeHead(201).end();
  });
  const { service, run } = place;
  const env = {
    ...{ AIRFLOW_HOME: place.home, AIRFLOW__CORE__LOAD_EXAMPLES: 'false' },
    ...{ AIRFLOW__CORE__DAGS_FOLDER: join(ROOT, 'examples/airflow'), OPENLINEAGE_URL: listener.url },
  };
  const made = await run('airflow', ['db', 'migrate'], env);
  assert.equal(made.code, 0, made.stderr);
  const drive = async (dag: string, date: string, more: Record<string, string> = {}) => {
    const args = [join(import.meta.dirname, 'drive_airflow.py'), dag, date];
    const { code, stdout, stderr } = await run('python', args, { ...env, ...more });
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    return { ...JSON.parse(stdout.trim().split('\n').at(-1)!), said: `${stdout}\n${stderr}` };
  };

  const receipt = () => receiptOf(place.lake.dir, { job: 'measurements', vessel: VESSEL, date: DATE });
  service.overlay.removeReadings(undefined, HOUR);
  const first = await drive('vessel_lake', NEXT);
  assert.equal(first.state, 'success', first.said);
  const { rows } = first.tasks.export_measurements.value;
  assert.ok(rows > 0);

  service.overlay.reset();
  const late = await drive('vessel_lake_late_data', NEXT);
  assert.equal(late.state, 'success', late.said);
  const { findings, exported } = late.tasks.look_back_measurements.value;
  assert.ok(findings > 0 && exported > 0);
  assert.ok((await receipt())!.rows > rows);

  service.overlay.removeReadings(undefined, HOUR);
  const refused = await drive('vessel_lake_late_data', addDays(NEXT, 1));
  assert.equal(refused.state, 'failed', refused.said);
  assert.match(refused.said, new RegExp(`not exported: measurements/IMO\\d+/${DATE} (refused|would-shrink)`));
  service.overlay.reset();

  const failed = await drive('vessel_lake', addDays(DATE, -2), { QUERY_CLIENT_SECRET: 'a-wrong-secret' });
  assert.deepEqual([failed.state, failed.tasks.export_measurements.state], ['failed', 'failed'], failed.said);
  const wrong = await drive('vessel_lake', addDays(NEXT, 2), { QUERY_BASE_URL: 'nonsense' });
  assert.match(wrong.said, /the settings are wrong/);

  const checked = await run('python', [join(import.meta.dirname, 'check_lineage.py')], {}, events.join('\n'));
  assert.equal(checked.code, 0, checked.stderr);
  assert.equal(JSON.parse(checked.stdout).events, events.length);
  assert.ok(events.length >= 4);
  console.log(
    `airflow: exported, late data exported again, refused and failed days fail their tasks; its client of OpenLineage takes all ${events.length} events`,
  );
}

const [, , ...only] = process.argv;
for (const [name, holds] of Object.entries({ dagster, airflow }))
  if (only.length === 0 || only.includes(name)) await holds();
