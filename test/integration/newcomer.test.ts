/** The newcomer's path, typed into a real terminal: init against a running service, check, series, plan, run, sql with a chart. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { duckRows } from '../helpers/lake.ts';
import { serviceForTests, startProgram } from '../helpers/run.ts';
import type { TempFolder } from '../helpers/temp.ts';
import { newTempFolder } from '../helpers/temp.ts';

const BIN = resolve(import.meta.dirname, '../../src/bin.js');

const service = await serviceForTests({ vessels: 2 });
let folder: TempFolder;
beforeEach(async () => {
  folder = await newTempFolder();
});
afterEach(() => folder.remove());
function hasTerminals(): boolean {
  if (spawnSync('script', ['--version']).status === 0) return true;
  const reason = "no 'script' of util-linux on PATH, which opens terminals";
  if (process.env.CI) throw new Error(`the tests in a terminal must run here (CI is set): ${reason}`);
  process.stderr.write(`\n*** THE TESTS IN A TERMINAL WERE NOT RUN: ${reason} ***\n\n`);
  return false;
}

/** What is seen at the terminal of a command, typing each answer when its question is there. */
async function typed(
  args: readonly string[],
  answers: readonly (readonly [question: RegExp, answer: string])[],
) {
  const command = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qefc', `stty cols 120; ${command}`, '/dev/null'], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, TERM: 'xterm', NO_COLOR: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
    // A question that nobody expected would wait for ever.
    timeout: 50_000,
  });
  let seen = '';
  let from = 0;
  const waiting = [...answers];
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    seen += more;
    const [question, answer] = waiting[0] ?? [];
    const found = question?.exec(seen.slice(from));
    if (!found) return;
    from += found.index + found[0].length;
    waiting.shift();
    child.stdin.write(answer === '^C' ? '\u0003' : `${answer}\r`);
  });
  const [code] = await once(child, 'close');
  return { code: code as number, seen, unasked: waiting.length };
}

const cli = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  startProgram([process.execPath, BIN, ...args], env, folder.path).ended;

const QUESTIONS = {
  base: /my-tenant\)(?: \[[^\]\n]*\])?: /,
  auth: /auth\.example\.com\)(?: \[[^\]\n]*\])?: /,
  id: /Client id(?: \[[^\]\n]*\])?: /,
  secret: /Client secret(?: \[[^\]\n]*\])?: /,
  lake: /bucket\/prefix[^\n]*: /,
};

describe.skipIf(!hasTerminals())('in a terminal', () => {
  test('each step is right at the first try', async () => {
    const { baseUrl, authUrl, clientId, clientSecret } = service;
    const init = await typed(
      ['init'],
      [
        [QUESTIONS.base, baseUrl],
        [QUESTIONS.auth, authUrl],
        [QUESTIONS.id, clientId],
        [QUESTIONS.secret, clientSecret],
        [QUESTIONS.lake, './my lake'],
      ],
    );
    expect(init).toMatchObject({ code: 0, unasked: 0 });
    expect(init.seen).not.toContain(clientSecret);
    expect(init.seen).toContain('wrote .env (mode 600), jobs/first.yaml, jobs/first-metadata.yaml');
    expect((await stat(join(folder.path, '.env'))).mode & 0o777).toBe(0o600);
    const job = parse(await readFile(join(folder.path, 'jobs/first.yaml'), 'utf8'));
    expect(job.select).toHaveLength(3);
    const [vessel] = job.vessels as [string];

    const check = await typed(['check'], []);
    expect(check.code).toBe(0);
    expect(check.seen).not.toMatch(/ [✗!] /);
    expect(check.seen.match(/✓ first +\S.* selects 1 series of 1 vessel/g)).toHaveLength(3);
    const series = await typed(['series', vessel, '--search', 'temp'], []);
    expect(series.seen).toMatch(/flat\/\{vessel\}\/\S.*Temp +°C/);
    // What it prints goes into the job as it stands.
    const names = [...series.seen.matchAll(/^(flat\/\{vessel\}\/.*?) {2,}/gm)]
      .slice(0, 3)
      .map((match) => match[1]!);
    await writeFile(
      join(folder.path, 'jobs/first.yaml'),
      `dataset: measurements\nvessels: [${vessel}]\nselect:\n${names.map((name) => `  - "${name}"\n`).join('')}`,
    );
    const range = ['--from', '2026-01-05', '--to', '2026-01-06'];
    const plan = await typed(['plan', 'first', ...range], []);
    expect(plan.seen).toContain('1 to do');
    const run = await typed(['run', 'first', ...range], []);
    expect(run).toMatchObject({ code: 0 });
    expect(run.seen).toMatch(/1 vessel-day: 1 published/);
    const sql = await typed(['sql', 'SELECT tag, count(*) AS n FROM readings GROUP BY tag'], []);
    expect(sql).toMatchObject({ code: 0 });
    for (const name of names) expect(sql.seen).toContain(name.replace('flat/{vessel}/', ''));
    const tag = names[0]!.replace('flat/{vessel}/', '');
    const query = `SELECT timestamp, value AS "${tag}" FROM readings WHERE tag = $$${tag}$$`;
    const chart = await typed(['sql', query, '--svg', 'first chart.svg'], []);
    expect(chart).toMatchObject({ code: 0 });
    const svg = await readFile(join(folder.path, 'first chart.svg'), 'utf8');
    expect(svg).toMatch(/<text [^>]*>2026-01-05 0\d:\d\d UTC</);
    expect(svg).toMatch(/<polyline class="line0" points="[\d.]+,[\d.]+ [\d.]+,[\d.]+ /);
    const rows = await duckRows(
      `SELECT id, count(*) AS n FROM read_parquet('${folder.path}/my lake/first/*/*/*.parquet') GROUP BY id`,
    );
    expect(rows.map(([id]) => String(id)).sort()).toEqual(
      names.map((name) => name.replace('flat/{vessel}', vessel)).sort(),
    );
  });

  test('a wrong answer is asked for again, and Enter means what was said before', async () => {
    const { baseUrl, authUrl, clientId, clientSecret } = service;
    const init = await typed(
      ['init', '--client-id', clientId],
      [
        [QUESTIONS.base, 'api.example.com'],
        [/expected an http\(s\) URL[\s\S]*my-tenant\): /, 'http://api.example.com/t'],
        [/in clear all the same\? \[y\/N\] /, ''],
        [QUESTIONS.base, baseUrl],
        [QUESTIONS.auth, authUrl],
        [QUESTIONS.secret, 'hush-hush'],
        [QUESTIONS.lake, ''],
        [/✗ token[\s\S]*Answer again\? \[Y\/n\] /, ''],
        [QUESTIONS.base, ''],
        [QUESTIONS.auth, ''],
        [QUESTIONS.id, ''],
        [QUESTIONS.secret, clientSecret],
        [QUESTIONS.lake, ''],
      ],
    );
    expect(init).toMatchObject({ code: 0, unasked: 0 });
    expect(init.seen).not.toContain('hush-hush');
    const text = await readFile(join(folder.path, '.env'), 'utf8');
    expect(text).toContain(
      `QUERY_CLIENT_SECRET=${clientSecret}\nLAKE_URL=${pathToFileURL(join(folder.path, 'lake')).href}`,
    );
    // What is there is asked about first, and stays.
    const again = await typed(
      ['init'],
      [
        [/\.env is there already.*\[y\/N\] /, ''],
        [/a job with the settings as they are\? \[Y\/n\] /, 'n'],
      ],
    );
    expect(again).toMatchObject({ code: 1, unasked: 0 });
    expect(await readFile(join(folder.path, '.env'), 'utf8')).toBe(text);
  });

  test('Ctrl-C at a question writes nothing', async () => {
    const init = await typed(
      ['init'],
      [
        [QUESTIONS.base, service.baseUrl],
        [QUESTIONS.auth, '^C'],
      ],
    );
    expect(init).toMatchObject({ code: 130, unasked: 0 });
    await expect(stat(join(folder.path, '.env'))).rejects.toThrow('ENOENT');
  });
});

describe('without a terminal', () => {
  const options = () => [
    '--base-url',
    service.baseUrl,
    '--auth-url',
    service.authUrl,
    '--client-id',
    service.clientId,
  ];

  test('everything comes from options and environment; what is missing is listed', async () => {
    const bare = await cli(['init']);
    expect(bare.code).toBe(2);
    expect(bare.stderr).toMatch(/QUERY_BASE_URL: not known, expected --base-url/);
    expect(bare.stderr).toMatch(/QUERY_CLIENT_SECRET: not known, expected --client-secret-file/);
    const secret = join(folder.path, 'secret.txt');
    await writeFile(secret, `${service.clientSecret}\n`);
    const init = await cli([
      'init',
      ...options(),
      '--client-secret-file',
      'secret.txt',
      '--lake-url',
      'lake',
    ]);
    expect(init.stderr).toContain('✓ delete');
    expect(init).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('wrote .env (mode 600), jobs/first.yaml, jobs/first-metadata.yaml'),
    });
    // A file that is named stays the place of the secret.
    const text = await readFile(join(folder.path, '.env'), 'utf8');
    expect(text).toContain('QUERY_CLIENT_SECRET_FILE=secret.txt');
    expect(text).not.toContain(service.clientSecret);
    expect((await cli(['check', 'first'])).code).toBe(0);
  });

  test("README's lines, where the package's examples lie beside the first job, end with its rows", async () => {
    await cp(resolve(import.meta.dirname, '../../jobs'), join(folder.path, 'jobs'), { recursive: true });
    await writeFile(join(folder.path, 'secret.txt'), service.clientSecret);
    const secret = ['--client-secret-file', 'secret.txt', '--lake-url', 'lake'];
    const init = await cli(['init', ...options(), ...secret]);
    expect(init.stdout).toContain('ignored, by JOBS_EXCLUDED: measurements, metadata, statistics');
    const run = await cli(['run']);
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/^4 vessel-days: 2 published/m) });
    expect(run.stderr).toMatch(/yesterday and today\): 2 days[\s\S]*2 vessel-days of 1 vessel to export/);
    const query = 'SELECT DISTINCT unit IS NULL AS unnamed FROM readings';
    const rows = 'unnamed\nfalse\n';
    expect((await cli(['sql', query, '--csv'])).stdout).toBe(rows);
    // The option takes several names, and the query is none.
    expect((await cli(['sql', '--csv', '--job', 'first', query])).stdout).toBe(rows);
    expect((await cli(['sql', 'SELECT count(*) > 0 AS n FROM wide', '--csv'])).stdout).toBe('n\ntrue\n');
    const settings = await readFile(join(folder.path, '.env'), 'utf8');
    const second = await cli(['init', '--job-only', '--job', 'second']);
    expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^wrote jobs\/second.yaml\n/) });
    expect(await readFile(join(folder.path, '.env'), 'utf8')).toBe(settings);
    // A job that the lake has never seen does not stand in for one that it has.
    expect((await cli(['sql', query, '--csv'])).stdout).toBe(rows);
  });

  test('nothing is overwritten unless it is said, and then what else the file holds is kept', async () => {
    const path = join(folder.path, '.env');
    await writeFile(path, "LAKE_URL=file:///elsewhere\nS3_PORT='8 333'\nQUERY_CLIENT_SECRET=old\n", {
      mode: 0o644,
    });
    const env = { QUERY_CLIENT_SECRET: service.clientSecret, LOG_LEVEL: 'error' };
    const refused = await cli(['init', ...options()], env);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--overwrite') });
    expect(await readFile(path, 'utf8')).toContain('QUERY_CLIENT_SECRET=old');
    const init = await cli(['init', ...options(), '--lake-url', './lake', '--overwrite'], env);
    expect(init.code).toBe(0);
    const text = await readFile(path, 'utf8');
    expect(text).toContain(`QUERY_CLIENT_SECRET=${service.clientSecret}\n`);
    expect(text).toContain("S3_PORT='8 333'");
    expect(text).not.toContain('elsewhere');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('what fails the check is not written, unless --no-check says so', async () => {
    const env = { QUERY_CLIENT_SECRET: 'hush-hush' };
    const failed = await cli(['init', ...options(), '--lake-url', './lake'], env);
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(/✗ token.*credentials were refused[\s\S]*nothing was written/);
    await expect(stat(join(folder.path, '.env'))).rejects.toThrow('ENOENT');
    const unchecked = await cli(
      ['init', ...options(), '--lake-url', './lake', '--no-check', '--job', 'all'],
      env,
    );
    expect(unchecked.code).toBe(0);
    const job = parse(await readFile(join(folder.path, 'jobs/all.yaml'), 'utf8'));
    expect(job).toMatchObject({ vessels: { discover: 'flat/*/*' }, select: ['flat/{vessel}/*'] });
    expect((await cli(['config'])).code).toBe(0);
    const outside = await cli(['init', ...options(), '--job', '../x', '--overwrite'], env);
    expect(outside).toMatchObject({ code: 2, stderr: expect.stringContaining("--job: got '../x'") });
  });
});
