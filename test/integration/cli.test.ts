/** The command as a user types it: its output, its exit code; in a process of its own where that is what is tried. */

import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  acceptService,
  expectExactDay,
  lakeFiles,
  readObject,
  receiptOf,
  unfinishedFiles,
} from '../helpers/lake.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import {
  callCli,
  DATE,
  exportEnv,
  FEW_EXPRESSIONS,
  FEW_SERIES,
  mustExport,
  newLake,
  OTHER_VESSEL,
  runCli,
  serviceForTests,
  startCli,
  startProgram,
  VESSEL,
  writeJobs,
} from '../helpers/run.ts';
import { isLong } from '../helpers/tiers.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const node = `"${process.execPath}" "${join(import.meta.dirname, '../../src/bin.js')}"`;
const ONE_DAY = ['--from', DATE, '--to', '2026-01-06'];

const service = await serviceForTests({ vessels: 2, readingsPerDay: 7_000 });
let jobsDir: string;
let scratch: TestLake;

beforeAll(async () => {
  jobsDir = await writeJobs({ measurements: FEW_SERIES });
});

beforeEach(async () => {
  scratch = await newLake();
});

afterEach(async () => {
  await scratch[Symbol.asyncDispose]();
});

afterAll(async () => {
  await rm(jobsDir, { recursive: true });
});

function envFor(lake: TestLake, jobs = jobsDir) {
  return { ...exportEnv(service, lake.url, jobs), LOG_LEVEL: 'info' };
}

test('--help and --version', async () => {
  const [help, version, ofRun] = await Promise.all([
    callCli(['--help']),
    runCli(['--version']),
    callCli(['run', '--help']),
  ]);
  expect(help.code).toBe(0);
  for (const command of ['demo', 'run', 'service', 'config']) expect(help.stdout).toContain(command);
  expect(version).toMatchObject({ code: 0, stderr: '' });
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(ofRun.stdout).toContain('--allow-shrink');
});

test('what cannot be understood exits with 2 and says what there is', async () => {
  const [command, option, nothing, number] = await Promise.all([
    callCli(['exprot']),
    callCli(['run', '--form', DATE]),
    callCli([]),
    callCli(['service', '--port', 'http']),
  ]);
  expect(command).toMatchObject({ code: 2, stdout: '' });
  expect(command.stderr).toContain("unknown command 'exprot'");
  expect(option.code).toBe(2);
  expect(option.stderr).toContain('--form');
  expect(nothing.code).toBe(2);
  expect(nothing.stdout + nothing.stderr).toContain('Usage: vessel-export');
  expect(number.code).toBe(2);
  expect(number.stderr).toContain('expected a whole number');
});

test('every command has a help with examples, and none of it is wider than a terminal', async () => {
  const names = [...(await callCli(['--help'])).stdout.matchAll(/^ {2}([a-z]+) /gm)].map(
    (match) => match[1]!,
  );
  expect(names).toEqual(expect.arrayContaining(['demo', 'run', 'backfill', 'completion']));
  const lines = [
    ...names.filter((name) => name !== 'help' && name !== 'vessel'),
    'backfill list',
    'backfill cancel',
  ];
  for (const line of lines) {
    const { code, stdout } = await callCli([...line.split(' '), '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: vessel-export ${line} `));
    expect(stdout).toMatch(new RegExp(`\nExamples:\n  vessel-export ${line}`));
    expect(stdout.split('\n').filter((text) => text.length > 80)).toEqual([]);
  }
  expect((await callCli(['backfill', 'pause', '--help'])).stdout).not.toContain('--detach');
});

test('what is nearly right is answered with what is', async () => {
  const [command, option, job, action] = await Promise.all([
    callCli(['satus']),
    callCli(['status', '--discovr']),
    callCli(['run', 'measurments'], envFor(scratch)),
    callCli(['backfill', 'pause']),
  ]);
  expect(command.stderr).toContain('Did you mean status?');
  expect(option.stderr).toContain('Did you mean --discover?');
  expect(job.stderr).toMatch(/no job 'measurments'.*did you mean 'measurements'\?/);
  expect([command, option, job, action].map(({ code }) => code)).toEqual([2, 2, 2, 2]);
});

test('bash completes commands, options and the names of jobs', async () => {
  const { stdout: script } = await callCli(['completion', 'bash']);
  await writeFile(join(scratch.dir, 'script.bash'), script);
  const line = `vessel-export() { ${node} "$@"; }; source ./script.bash
    COMP_WORDS=(vessel-export run --f); COMP_CWORD=2; _vessel_export; printf '%s\n' "\${COMPREPLY[@]}"`;
  const typed = await startProgram(['bash', '-c', line], {}, scratch.dir).ended;
  expect(typed.stdout).toBe('--from\n--force\n');
  // What the script asks.
  const complete = async (...words: string[]) => {
    const { stdout } = await callCli(['complete', '--', ...words], { JOBS_DIR: jobsDir });
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0]]));
  };
  expect(await complete('rec')).toEqual(['reconcile']);
  expect(await complete('run', '--force', 'm')).toEqual(['measurements']);
  expect(await complete('backfill', '')).toEqual(['list', 'pause', 'resume', 'cancel', 'measurements']);
  expect(await complete('run', '--from', '')).toEqual([]);
  expect(await complete('completion', '')).toEqual(['bash', 'zsh', 'fish']);
});

test('a reader who goes away ends the command quietly', async () => {
  for (const stream of ['stdout', 'stderr'] as const) {
    const cli = startCli(stream === 'stdout' ? ['status'] : ['run', '--vessel', 'wrong'], envFor(scratch));
    cli.process[stream]!.destroy();
    const ended = await cli.ended;
    expect(ended).toMatchObject({ code: 141, stdout: '', stderr: '' });
  }
});

test('output that cannot be written is a failure', async () => {
  const ended = await startProgram(['bash', '-c', `${node} status > /dev/full`], envFor(scratch)).ended;
  expect(ended.code).toBe(1);
  expect(ended.stderr).toMatch(/^error: cannot write the output: ENOSPC.*\n$/);
});

test('colours are for terminals, unless they are asked for or refused', async () => {
  const env = { ...envFor(scratch), LAKE_URL: 'file:lake' };
  const [plain, forced, refused] = await Promise.all([
    runCli(['config'], env),
    runCli(['config'], { ...env, FORCE_COLOR: '1' }),
    runCli(['config', '--no-color'], { ...env, FORCE_COLOR: '1' }),
  ]);
  const escapes = /\u001b\[/;
  expect(plain.stdout + plain.stderr).not.toMatch(escapes);
  expect(forced.stdout).toMatch(/\u001b\[31mnot valid: file:lake\u001b\[39m/);
  expect(forced.stderr).toMatch(/\u001b\[31mfault:/);
  expect(refused.stdout + refused.stderr).toBe(plain.stdout + plain.stderr);
});

/** How long it waited between its tries, by its log. */
const waitsMs = (stderr: string) => [...stderr.matchAll(/"delayMs":(\d+)/g)].map(([, ms]) => Number(ms));
const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

test('a service that nobody can reach is named within seconds, with its setting', async () => {
  const gone = { ...envFor(scratch), QUERY_AUTH_URL: 'http://127.0.0.1:1/auth' };
  const baseUrl = 'https://no-such-host.invalid/fleet';
  await mustExport({ service, lakeUrl: scratch.url });
  await using moved = await newLake();
  await cp(scratch.dir, moved.dir, { recursive: true });
  await acceptService(moved.dir, { baseUrl });
  const wrong = { ...envFor(scratch), LAKE_URL: moved.url, QUERY_BASE_URL: baseUrl };
  const commands = [
    ['run', '--from', '2026-01-06', '--to', '2026-01-07'],
    ['plan', ...ONE_DAY, '--vessel', OTHER_VESSEL],
    ['status', '--discover'],
    ['reconcile', '--from', '2026-01-05'],
    ['verify', '--deep', ...ONE_DAY],
  ];
  const discovered = await writeJobs({ measurements: { ...FEW_SERIES, vessels: { discover: 'flat/*/*' } } });
  try {
    const all = commands.map((args) =>
      Promise.all([
        callCli(args, { ...gone, JOBS_DIR: discovered }),
        callCli(args, { ...wrong, JOBS_DIR: discovered }),
      ]),
    );
    for (const ran of await Promise.all(all)) {
      expect(ran.map(({ code }) => code)).toEqual([1, 1]);
      for (const { stderr } of ran) expect(sum(waitsMs(stderr)), stderr).toBeLessThan(5_000);
      expect(ran[0].stderr).toMatch(/error: .*http:\/\/127\.0\.0\.1:1 .*ECONNREFUSED.*check QUERY_AUTH_URL/);
      expect(ran[1].stderr).toMatch(/error: .*no-such-host\.invalid .*; check QUERY_BASE_URL/);
      expect(ran[0].stderr).toMatch(/"host":"127\.0\.0\.1:1","setting":"QUERY_AUTH_URL"/);
    }
  } finally {
    await rm(discovered, { recursive: true });
  }
});

test('a wrong clients file is described in plain words, without its secrets', async () => {
  const file = join(scratch.dir, 'clients.json');
  const good = { clientId: 'a', clientSecret: 'long-enough', vessels: '*' };
  const wrong = [{ clientSecret: 'hush' }, { vessels: ['9321483'] }, { more: 1 }];
  await writeFile(file, JSON.stringify([good, ...wrong.map((more) => ({ ...good, ...more }))]));
  const { code, stderr } = await runCli(['service', '--port', '0', '--clients', file]);
  expect(code).toBe(2);
  for (const part of [
    'client 2 clientSecret is too short, expected at least 8 characters',
    'client 3 vessels expected "*" or a list such as ["IMO9321483"]',
    'client 4 has keys that are not known',
  ])
    expect(JSON.parse(stderr).msg).toContain(part);
  expect(stderr).not.toMatch(/hush|too_small|long-enough/);
});

test('wrong dates and vessels exit with 2, all named at once, before anything else is looked at', async () => {
  const args = ['run', '--from', '2026-02-30', '--to', 'tomorrow', '--vessel', '9321483', 'IMO12'];
  const wrong = await callCli(args);
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  for (const part of ['2026-02-30', 'tomorrow', "'9321483'", "'IMO12'"]) expect(wrong.stderr).toContain(part);
  const empty = await callCli(['run', '--from', '2026-01-06', '--to', '2026-01-06'], envFor(scratch));
  expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('--to is exclusive') });
  expect([...(await lakeFiles(scratch.dir)).keys()]).toEqual([]);
});

test('every missing and wrong setting, and every fault of a job file, is named at once', async () => {
  const broken = await writeJobs({ one: { dataset: 'mesurements', select: [], verify: 'maybe' } });
  const [missing, wrong] = await Promise.all([
    runCli(['run'], {}, scratch.dir),
    callCli(['run'], {
      ...envFor(scratch, broken),
      QUERY_CLIENT_SECRET: 'not-to-be-seen',
      QUERY_CLIENT_SECRET_FILE: '/nowhere',
      LAKE_URL: 'https://user:not-to-be-seen@example.com',
      LOG_LEVEL: 'loud',
    }),
  ]);
  await rm(broken, { recursive: true });
  expect([missing.code, wrong.code]).toEqual([2, 2]);
  const required = ['BASE_URL', 'AUTH_URL', 'CLIENT_ID', 'CLIENT_SECRET'].map((name) => `QUERY_${name}`);
  for (const name of [...required, 'LAKE_URL', 'JOBS_DIR']) expect(missing.stderr).toContain(`- ${name}`);
  for (const part of [
    ...['QUERY_CLIENT_SECRET_FILE: both are set', 'LAKE_URL', 'loud', 'one.yaml: select: '],
    ...['one.yaml: dataset: got "mesurements"', 'one.yaml: verify: got "maybe"'],
  ])
    expect(wrong.stderr).toContain(part);
  expect(wrong.stderr).not.toContain('not-to-be-seen');
});

test('config shows every setting and where it came from, and no secret', async () => {
  const [text, faulty] = await Promise.all([
    callCli(['config'], envFor(scratch)),
    callCli(['config', '--json'], { ...envFor(scratch), QUERY_CLIENT_SECRET: '', LAKE_URL: '' }),
  ]);
  expect(text.code).toBe(0);
  expect(text.stdout).toMatch(new RegExp(`QUERY_BASE_URL +${service.baseUrl} +environment`));
  expect(text.stdout).toMatch(/QUERY_CLIENT_SECRET +\*\*\* +environment/);
  expect(text.stdout).toMatch(/QUERY_API_VERSION +2026-09-10 +default/);
  expect(text.stdout).toMatch(/measurements +measurements +IMO9321483 +flat/);
  expect(text.stdout + text.stderr).not.toContain(service.clientSecret);
  expect(faulty.code).toBe(2);
  expect(JSON.parse(faulty.stdout).faults).toHaveLength(2);
});

test('run exports and says so; again, nothing is asked and nothing is done', async () => {
  await using lake = await newLake();
  const first = await callCli(['run', ...ONE_DAY], envFor(lake));
  expect(first.code).toBe(0);
  expect(first.stdout).toMatch(/^1 vessel-days?: 1 published \([\d,]+ rows\)\nwrote .*\n$/);
  const { rows, object } = (await receiptOf(lake.dir, DAY))!;
  const closing = /\nwrote ([\d,]+) rows \(([\d.]+) kB\) in \d+ s to (\S+)\n$/.exec(first.stdout)!;
  expect(closing.slice(1)).toEqual([
    rows.toLocaleString('en-US'),
    (object!.sizeBytes / 1_000).toPrecision(3),
    lake.url,
  ]);
  await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS });
  const before = service.requests.length;
  const files = await lakeFiles(lake.dir);
  const second = await callCli(['run', ...ONE_DAY, '--json'], envFor(lake));
  expect(second.code).toBe(0);
  expect(JSON.parse(second.stdout)).toMatchObject({
    days: [{ ...DAY, state: 'published', exported: false }],
  });
  expect(service.requests.length).toBe(before);
  expect(await lakeFiles(lake.dir)).toEqual(files);
});

test('where vessels are discovered, the second run asks for nothing else', async () => {
  await using lake = await newLake();
  const jobs = await writeJobs({ measurements: { ...FEW_SERIES, vessels: { discover: 'flat/*/*' } } });
  try {
    const first = await callCli(['run', ...ONE_DAY, '--json'], envFor(lake, jobs));
    expect(JSON.parse(first.stdout).days).toMatchObject([{ state: 'published' }, { state: 'published' }]);
    const before = service.requests.length;
    const second = await callCli(['run', ...ONE_DAY], envFor(lake, jobs));
    expect(second.stdout).toContain('nothing to do');
    expect(service.requests.slice(before).map(({ family }) => family)).toEqual(['token', 'metadata']);
    const third = await callCli(['run', ...ONE_DAY, '--vessel', OTHER_VESSEL, '--json'], envFor(lake, jobs));
    expect(JSON.parse(third.stdout).days).toMatchObject([
      { vessel: OTHER_VESSEL, state: 'published', exported: false },
    ]);
    expect(service.requests.length).toBe(before + 2);
  } finally {
    await rm(jobs, { recursive: true });
  }
});

test('run exits with 1 when a vessel-day fails, and exports the others', async () => {
  await using lake = await newLake();
  const args = ['run', ...ONE_DAY, '--vessel', VESSEL, 'IMO1234567', '--json'];
  const { code, stdout, stderr } = await callCli(args, envFor(lake));
  expect(code).toBe(1);
  const { days } = JSON.parse(stdout);
  expect(days).toHaveLength(2);
  expect(stderr).toContain('failed: measurements/IMO1234567/2026-01-05');
  expect(stderr).toContain(`check 'select' in ${join(jobsDir, 'measurements.yaml')}`);
  expect(await receiptOf(lake.dir, DAY)).toBeDefined();
});

test('a lake that cannot be written ends the run with 1 and a reason', async () => {
  const path = join(scratch.dir, 'a-file');
  await writeFile(path, '');
  const { code, stderr } = await callCli(['run', ...ONE_DAY], {
    ...envFor(scratch),
    LAKE_URL: `${scratch.url}/a-file`,
  });
  expect(code).toBe(1);
  expect(stderr).toContain('a-file');
  expect(stderr).not.toContain('internal error');
});

for (const signal of isLong ? (['SIGINT', 'SIGTERM'] as const) : (['SIGINT'] as const)) {
  test(`${signal} in mid-export exits with 130, and the next run makes the same bytes`, async () => {
    await using lake = await newLake();
    await using undisturbed = await newLake();
    const stalled = new Promise<void>((resolve) => {
      service.faults = ({ family }) => {
        if (family !== 'measurements') return undefined;
        resolve();
        return { kind: 'stall', at: 'body', afterBytes: 20_000 };
      };
    });
    const cli = startCli(['run', ...ONE_DAY, '--json'], envFor(lake));
    await stalled;
    cli.process.kill(signal);
    const ended = await cli.ended;
    service.faults = undefined;
    expect(ended).toMatchObject({ code: 130, signal: null });
    expect(ended.stderr).toContain('run the same command again to finish');
    expect(await readObject(lake.dir, DAY)).toBeUndefined();
    expect(await receiptOf(lake.dir, DAY)).toBeUndefined();

    expect((await callCli(['run', ...ONE_DAY], envFor(lake))).code).toBe(0);
    await mustExport({ service, lakeUrl: undisturbed.url });
    expect(await readObject(lake.dir, DAY)).toEqual(await readObject(undisturbed.dir, DAY));
    expect(await unfinishedFiles(lake.dir)).toEqual([]);
  });
}

/** Undefined where it is refused. */
async function tokenOf(of: Pick<TestService, 'authUrl' | 'clientId' | 'clientSecret'>) {
  const answer = await fetch(`${of.authUrl}/oauth2/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${of.clientId}:${of.clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return ((await answer.json()) as { access_token?: string }).access_token;
}

test('service prints one line of JSON, serves by it, and ends on SIGTERM', async () => {
  const cli = startCli([...'service --port 0 --tenant acme --vessels 1 --readings-per-day 2000'.split(' ')]);
  try {
    await cli.until('stdout', /\n/);
    const own = JSON.parse(cli.stdout) as TestService;
    expect(Object.keys(own).sort()).toEqual(['authUrl', 'baseUrl', 'clientId', 'clientSecret']);
    expect(own.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/acme$/);
    await using lake = await newLake();
    await mustExport({ service: own, lakeUrl: lake.url });
    await expectExactDay(own, { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS });
    const { port } = new URL(own.baseUrl);
    const second = await callCli(['service', '--port', port]);
    expect(second.code).toBe(2);
    expect(second.stderr).toMatch(
      new RegExp(`127.0.0.1:${port}: .*address already in use.*0 takes a free port`),
    );
  } finally {
    cli.process.kill('SIGTERM');
  }
  expect(await cli.ended).toMatchObject({ code: 0, signal: null });
  expect(cli.stdout.trim().split('\n')).toHaveLength(1);
});

test('service --clients prints no secret; --access-log writes a line an answer', async () => {
  const file = join(scratch.dir, 'clients.json');
  const client = { clientId: 'reader', clientSecret: 'a secret of the file', vessels: '*' };
  await writeFile(file, JSON.stringify([client]));
  const cli = startCli(['service', '--port', '0', '--vessels', '1', '--clients', file, '--access-log']);
  try {
    await cli.until('stdout', /\n/);
    const said = JSON.parse(cli.stdout) as { baseUrl: string; authUrl: string };
    const { clientId } = client;
    expect(said).toEqual({ baseUrl: expect.any(String), authUrl: expect.any(String), clientId });
    const token = await tokenOf({ ...said, ...client });
    await tokenOf({ ...said, ...client, clientSecret: 'what was tried' });
    await fetch(`${said.baseUrl}/metadata/flat/${VESSEL}/Roll`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await cli.until('stderr', /Roll"/);
    expect(JSON.parse(`[${cli.stderr.trim().replaceAll('\n', ',')}]`)).toMatchObject([
      { level: 'info', msg: 'request', clientId: 'reader', path: '/auth/oauth2/token', status: 200 },
      { level: 'warn', msg: 'a login failed at the token endpoint', name: 'reader', address: '127.0.0.1' },
      { level: 'info', msg: 'request', method: 'POST', path: '/auth/oauth2/token', status: 401 },
      { level: 'info', msg: 'request', method: 'GET', clientId: 'reader', status: 200 },
    ]);
    for (const secret of [client.clientSecret, 'what was tried', token!])
      expect(cli.stdout + cli.stderr).not.toContain(secret);
  } finally {
    cli.process.kill('SIGTERM');
  }
  expect((await cli.ended).code).toBe(0);
});

for (const signal of isLong ? (['SIGINT', 'SIGTERM'] as const) : (['SIGTERM'] as const)) {
  test(`${signal} ends a service that is read by many, and by some who do not read on`, async () => {
    const cli = startCli([...'service --port 0 --vessels 1 --readings-per-day 1000'.split(' ')]);
    const clients = new AbortController();
    try {
      await cli.until('stdout', /\n/);
      const own = JSON.parse(cli.stdout) as TestService;
      const headers = { authorization: `Bearer ${await tokenOf(own)}` };
      const get = (path: string) => fetch(own.baseUrl + path, { headers, signal: clients.signal });
      const year = `${VESSEL}/*?from=2025-01-01&to=2026-01-01`;
      const open = await Promise.all([
        ...['json', 'ndjson', 'parquet'].map((format) => get(`/measurements/flat/${year}&format=${format}`)),
        get(`/statistics/flat/${year}&window=none&aggregations=mean,stddev`),
      ]);
      expect(open.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      // The one without an end in sight is read, the others are left standing.
      const reading = open[1]!.arrayBuffer().catch(() => 'broken off');
      cli.process.kill(signal);
      expect(await cli.ended).toMatchObject({ code: 0, signal: null });
      expect(await reading).toBe('broken off');
    } finally {
      clients.abort();
      cli.process.kill('SIGKILL');
    }
  });
}
