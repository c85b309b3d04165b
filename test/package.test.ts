/** The package as a user gets it: packed, installed into an empty folder, run, imported. */
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { duckRows } from './helpers/lake.ts';
import type { RanCli, TestService } from './helpers/run.ts';
import { DATE, MEASUREMENTS, startProgram, startTestService, VESSEL } from './helpers/run.ts';
import { newTempFolder } from './helpers/temp.ts';
import { isLong } from './helpers/tiers.ts';

const ROOT = join(import.meta.dirname, '..');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const scratch = await newTempFolder();
/** The folder of a user, empty but for the package. */
const app = join(scratch.path, 'app');
let service: TestService;
/** Paths in the tarball. */
let packed: string[];

beforeAll(async () => {
  service = await startTestService();
  const tarball = await pack();
  const { stdout } = await succeed(['tar', '-tzf', tarball], scratch.path);
  packed = stdout
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));
  await mkdir(app);
  if (isLong) await succeed(['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', tarball], app);
  else await install(tarball);
  // All of the source is compiled here.
}, 240_000);
afterAll(async () => {
  await service?.close();
  await scratch.remove();
});

/** Run a program with the Node of this process and npm's own settings; its exit code must be 0. */
async function succeed(
  words: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<RanCli> {
  const npms = /^(home|npm_config_(registry|cache|userconfig)|(https?_|no_)proxy|node_extra_ca_certs)$/i;
  const kept = Object.entries(process.env).filter(([name]) => npms.test(name));
  const path = `${dirname(process.execPath)}:${process.env.PATH}`;
  const ran = await startProgram(
    words,
    { ...Object.fromEntries(kept), PATH: path, ...env } as Record<string, string>,
    cwd,
  ).ended;
  expect(ran.code, `${words.join(' ')}\n${ran.stdout}\n${ran.stderr}`).toBe(0);
  return ran;
}

/** As npm does, but that what the package depends on, and nothing else, is linked to that of the checkout. */
async function install(tarball: string): Promise<void> {
  const modules = join(app, 'node_modules');
  const own = join(modules, manifest.name);
  await mkdir(own, { recursive: true });
  await succeed(['tar', '-xzf', tarball, '--strip-components=1', '-C', own], app);
  for (const name of Object.keys(manifest.dependencies)) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  await mkdir(join(modules, '.bin'));
  for (const [name, path] of Object.entries<string>(manifest.bin)) {
    await chmod(join(own, path), 0o755);
    symlinkSync(join(own, path), join(modules, '.bin', name));
  }
}

/** `npm pack` in a copy of the checkout: the path of the tarball. */
async function pack(): Promise<string> {
  const copy = join(scratch.path, 'checkout');
  const left = new Set(['node_modules', '.git', 'dist', 'lake', 'demo-lake'].map((name) => join(ROOT, name)));
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !left.has(path) });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  await succeed(['npm', 'pack', '--pack-destination', scratch.path], copy);
  return join(scratch.path, readdirSync(scratch.path).find((name) => name.endsWith('.tgz'))!);
}

function filesBelow(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
}

test('the tarball holds what runs, and nothing else', () => {
  const modules = filesBelow('src').filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
  const compiled = modules.flatMap((path) => {
    const name = path.replace(/^src\//, 'dist/').replace(/\.ts$/, '');
    return [`${name}.js`, `${name}.js.map`, `${name}.d.ts`];
  });
  const beside = ['package.json', 'README.md', 'LICENSE', 'src/bin.js'];
  beside.push('CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md');
  const docs = filesBelow('docs').filter((path) => !path.startsWith('docs/tools/'));
  const page = filesBelow('src/web/page').filter((path) => !/\.(ts|json)$/.test(path));
  const served = page.map((path) => path.replace(/^src\//, 'dist/'));
  const expected = [
    ...compiled,
    ...served,
    ...beside,
    ...docs,
    ...filesBelow('examples'),
    ...filesBelow('jobs'),
    ...filesBelow('schemas'),
  ];
  expect(packed.toSorted()).toEqual(expected.toSorted());
});

test('what the manifest points to is there, and nothing keeps it from being published', () => {
  const targets = [manifest.exports['.'].types, manifest.exports['.'].default, manifest.bin['vessel-export']];
  expect(packed).toEqual(expect.arrayContaining(targets.map((path) => path.replace(/^\.\//, ''))));
  expect(manifest).not.toHaveProperty('private');
});

test('the command runs, and knows its version', async () => {
  const { stdout } = await succeed(['npx', 'vessel-export', '--version'], app);
  expect(stdout.trim()).toBe(manifest.version);
});

test('the demo exports and queries a lake in an empty folder', async () => {
  const { stdout } = await succeed(['npx', 'vessel-export', 'demo', '--readings-per-day', '1000'], app);
  expect(stdout).toMatch(/15 vessel-days: 15 published/);
  const rows = await duckRows(
    `SELECT count(*) > 0 FROM read_parquet('${app}/demo-lake/measurements/*/*/*.parquet')`,
  );
  expect(rows).toEqual([[true]]);
});

test('the page is served, with the libraries it uses', async () => {
  const env = { LAKE_URL: pathToFileURL(join(app, 'demo-lake')).href, JOBS_DIR: join(ROOT, 'jobs') };
  const bin = join(app, 'node_modules/.bin/vessel-export');
  const cli = startProgram([process.execPath, bin, '--no-env-file', 'web', '--port', '0'], env, app);
  await cli.until('stdout', /\n/);
  const url = cli.stdout.trim();
  const shell = await (await fetch(url)).text();
  const named = [...shell.matchAll(/(?:src|href)="(\/page\/[^"]+)"/g)].map((match) => match[1]!);
  expect(named).toHaveLength(4);
  const libraries = ['uplot/dist/uPlot.esm.js', 'hyparquet/src/index.js', 'fzstd/esm/index.mjs'];
  for (const path of [...named, ...libraries.map((name) => `/vendor/${name}`)]) {
    const answer = await fetch(url + path);
    expect([answer.status, (await answer.text()).length > 0], path).toEqual([200, true]);
  }
  const about = (await (await fetch(`${url}/api/about`)).json()) as { jobs: { name: string }[] };
  expect(about.jobs.map(({ name }) => name)).toContain('measurements');
  cli.process.kill('SIGTERM');
  expect((await cli.ended).code).toBe(0);
});

test('an older Node is told in one line what is needed', async () => {
  const older =
    'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.1.0" } })';
  const bin = join(app, 'node_modules/.bin/vessel-export');
  const words = [process.execPath, '--import', `data:text/javascript,${older}`, bin, 'demo'];
  const { code, stdout, stderr } = await startProgram(words, {}, app).ended;
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^vessel-export needs Node\.js 24 or newer, this is 20\.1\.0\..*\n$/);
});

// Compiled too, against all types of what the package depends on.
test('the examples of docs/programmatic.md are sound TypeScript, and run', { timeout: 240_000 }, async () => {
  const text = readFileSync(join(ROOT, 'docs/programmatic.md'), 'utf8');
  const examples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1]!);
  expect(examples).toHaveLength(2);
  for (const [at, example] of examples.entries()) await writeFile(join(app, `example-${at}.ts`), example);
  // Types that were not found would be `any`, which takes everything.
  const wrong =
    "import type { Receipt } from 'vessel-export';\n// @ts-expect-error a number\nexport const rows: Receipt['rows'] = '1';\n";
  await writeFile(join(app, 'example-wrong.ts'), wrong);
  await writeFile(join(app, 'package.json'), JSON.stringify({ type: 'module' }));
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    strict: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
  };
  await writeFile(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['example-*.ts'] }));
  await succeed([process.execPath, join(ROOT, 'node_modules/typescript/bin/tsc'), '--checkers', '1'], app);

  await mkdir(join(app, 'jobs'));
  await writeFile(join(app, 'jobs/measurements.yaml'), stringify(MEASUREMENTS));
  const env = {
    QUERY_BASE_URL: service.baseUrl,
    QUERY_AUTH_URL: service.authUrl,
    QUERY_CLIENT_ID: service.clientId,
    QUERY_CLIENT_SECRET: service.clientSecret,
    LAKE_URL: pathToFileURL(join(scratch.path, 'lake')).href,
  };
  const first = await succeed([process.execPath, 'example-0.ts'], app, env);
  expect(first.stdout).toMatch(new RegExp(`^${VESSEL} ${DATE} published \\d+ exact\\n$`));
  const second = await succeed([process.execPath, 'example-1.ts'], app, env);
  expect(second.stdout).toBe('0 gaps, 0 findings\n');
});
