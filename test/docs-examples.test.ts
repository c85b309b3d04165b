/** What README and docs/ show runs as it stands: commands, queries and programs; and the picture is what the demo prints. */
import { readFileSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PICTURE, ROOT } from '../docs/tools/generate.ts';
import { demoOutput, withoutNumbers } from '../docs/tools/picture.ts';
import { buildProgram } from '../src/cli/command-line.ts';
import { firstJobText } from '../src/cli/commands/first-job.ts';
import { COMMANDS } from '../src/cli/commands/table.ts';
import { systemClock } from '../src/core/model/index.ts';
import { duckRows, receiptOf } from './helpers/lake.ts';
import { blocksOf, namesIn, SHELL_LINES } from './helpers/pages.ts';
import type { TestLake, TestService } from './helpers/run.ts';
import {
  DATE,
  exportEnv,
  mustExport,
  newLake,
  startProgram,
  startTestService,
  VESSEL,
} from './helpers/run.ts';
import { newTempFolder } from './helpers/temp.ts';

let service: TestService;
let lake: TestLake;

beforeAll(async () => {
  service = await startTestService({ readingsPerDay: 1_000 });
  lake = await newLake();
  const all = { vessels: { discover: 'flat/*/*' }, select: ['flat/{vessel}/*'] };
  await mustExport({
    service,
    lakeUrl: lake.url,
    jobs: { measurements: { dataset: 'measurements', ...all } },
  });
  // A snapshot is taken on the day itself: here it is noon of that day, whatever the machine's clock says.
  const clock = { ...systemClock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
  const jobs = { metadata: { dataset: 'metadata', ...all } };
  await mustExport({ service, lakeUrl: lake.url, jobs, overrides: { clock } });
});
afterAll(async () => {
  await service.close();
  await lake[Symbol.asyncDispose]();
});

test("the picture shows what the demo prints (else 'npm run generate')", async () => {
  const drawn = [...readFileSync(PICTURE, 'utf8').matchAll(/<text [^>]*>([^<]*)<\/text>/g)];
  const [typed, ...lines] = drawn.map((match) => match[1]!.replaceAll('&gt;', '>').replaceAll('&lt;', '<'));
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect([typed, scripts.start]).toEqual(['$ npm start', 'node src/bin.js demo']);
  const printed = new Set((await demoOutput(2_000)).split('\n').map(withoutNumbers));
  expect(lines.filter((line) => !printed.has(withoutNumbers(line.replaceAll('&amp;', '&'))))).toEqual([]);
  expect(lines.length).toBeGreaterThan(15);
});

const queries = blocksOf('sql').filter(({ text }) => text.startsWith('-- duckdb\n'));

test('there are queries to run', () => {
  expect(queries.length).toBeGreaterThan(3);
});

test.for(queries)('the query at $where gives rows', async ({ text }) => {
  const rows = await duckRows(text.replaceAll("'lake/", `'${lake.dir}/`));
  expect(rows.length).toBeGreaterThan(0);
});

test('the table of a receipt in docs/receipts.md names every field of it that is not its place', async () => {
  const receipt = await receiptOf(lake.dir, { job: 'measurements', vessel: VESSEL, date: DATE });
  const place = ['receiptVersion', 'job', 'vessel', 'date', 'dataset'];
  const fields = Object.keys(receipt!).filter((name) => !place.includes(name));
  const named = namesIn('docs/receipts.md', 'What a receipt says').map((name) => name.split('.')[0]!);
  expect([...new Set(named)].sort()).toEqual(fields.sort());
});

/** A command line in this process; what it printed, and its exit code. */
async function typed(words: readonly string[], env: Record<string, string>) {
  let [text, code] = ['', -1];
  const write = (more: string) => {
    text += more;
  };
  const program = buildProgram(COMMANDS, {
    screens: { stdout: write, stderr: write, bold: (title) => title },
    contextOf: () => ({ env, stdout: { write }, stderr: { write }, signal: new AbortController().signal }),
    done: (ended) => {
      code = ended;
    },
  });
  await program.parseAsync(['node', 'vessel-export', ...words]);
  return { code, text };
}

test('the commands that are safe to run succeed as they stand', async () => {
  const looking = ['config', 'check', 'vessels', 'series', 'plan', 'status', 'verify', 'gc'];
  const safe = new Set([...looking, 'run', 'reconcile']);
  await using ownLake = await newLake();
  await using folder = await newTempFolder();
  // The examples, and what `init` adds to them.
  await cp(join(ROOT, 'jobs'), folder.path, { recursive: true });
  await writeFile(join(folder.path, 'first.yaml'), firstJobText(undefined));
  const env = { ...exportEnv(service, ownLake.url, folder.path), LOG_LEVEL: 'warn' };
  for (const { words, where, line } of SHELL_LINES.filter(({ words }) => safe.has(words[0]!))) {
    const { code, text } = await typed(words, env);
    expect(code, `${where}: ${line}\n${text}`).toBe(0);
  }
});

const programs = blocksOf('ts').filter(({ where }) => where.startsWith('README.md'));

test.for(programs)('the program at $where runs', async ({ text }) => {
  await using ownLake = await newLake();
  await using folder = await newTempFolder();
  const program = join(folder.path, 'program.ts');
  const module = JSON.stringify(pathToFileURL(join(ROOT, 'src/index.ts')).href);
  await writeFile(program, text.replaceAll("'vessel-export'", module));
  const env = exportEnv(service, ownLake.url, join(ROOT, 'jobs'));
  const { code, stdout, stderr } = await startProgram([process.execPath, program], env).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).not.toBe('');
});
