/** The README is a promise: its SQL runs on a lake, its tables name what there is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VARIABLES } from '../src/config/variables.ts';
import { systemClock } from '../src/model/index.ts';
import { duckRows } from './helpers/lake.ts';
import type { TestLake, TestService } from './helpers/run.ts';
import { DATE, mustExport, newLake, runCli, startTestService } from './helpers/run.ts';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
let service: TestService;
let lake: TestLake;

beforeAll(async () => {
  service = await startTestService({ vessels: 2 });
  lake = await newLake();
  const select = ['flat/{vessel}/*'];
  const vessels = { discover: 'flat/*/*' };
  await mustExport({
    service,
    lakeUrl: lake.url,
    jobs: { measurements: { dataset: 'measurements', vessels, select } },
  });
  // A snapshot is taken on the day itself: here it is noon of that day, whatever the machine's clock says.
  const clock = { ...systemClock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
  const jobs = { metadata: { dataset: 'metadata', vessels, select } };
  await mustExport({ service, lakeUrl: lake.url, jobs, overrides: { clock } });
});
afterAll(async () => {
  await service.close();
  await lake[Symbol.asyncDispose]();
});

const blocks = [...readme.matchAll(/```sql\n-- duckdb\n([\s\S]*?)```/g)].map((match) => match[1]!);

test.for(blocks.map((sql, index) => [index + 1, sql] as const))(
  'DuckDB block %i gives rows',
  async ([, sql]) => {
    const rows = await duckRows(sql.replaceAll("'lake/", `'${lake.dir}/`));
    expect(rows.length).toBeGreaterThan(0);
  },
);

test('there are DuckDB blocks to run', () => {
  expect(blocks.length).toBeGreaterThan(2);
});

test('the settings table names every variable, and no other', () => {
  const table = readme.slice(readme.indexOf('### Settings'), readme.indexOf('## The lake'));
  const named = new Set([...table.matchAll(/`([A-Z][A-Z0-9_]{5,})(?:=\d)?`/g)].map((match) => match[1]!));
  const foreign = ['AWS_REGION', 'AWS_ENDPOINT_URL_S3', 'QUERY_CLIENT_SECRET_FILE', 'REDIS_URL_FILE'];
  for (const name of foreign) named.delete(name);
  expect([...named].sort()).toEqual(VARIABLES.map(({ name }) => name as string).sort());
});

test('every command is described, and every described command exists', async () => {
  const { stdout } = await runCli(['--help']);
  const there = [...stdout.matchAll(/^ {2}([a-z]+)(?: \[| {2,})/gm)].map((match) => match[1]!);
  const table = readme.slice(readme.indexOf('### Commands'), readme.indexOf('### Settings'));
  const described = [...table.matchAll(/^\| `vessel-export ([a-z]+)/gm)].map((match) => match[1]!);
  expect(described.sort()).toEqual(there.filter((name) => name !== 'help').sort());
});

test('every dependency has its reason', () => {
  const table = readme.slice(readme.indexOf('## Dependencies'));
  const reasoned = [...table.matchAll(/`([@a-z][\w./@-]*)`/g)].map((match) => match[1]!);
  expect(reasoned.sort()).toEqual(Object.keys(manifest.dependencies).sort());
});
