/** A service and a lake whose names steer terminals and have no end: nothing of that reaches a terminal, a note, a receipt. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CommandContext } from '../../src/cli/commands/context.ts';
import { gcCommand } from '../../src/cli/commands/gc.ts';
import { planCommand } from '../../src/cli/commands/plan.ts';
import { reconcileCommand } from '../../src/cli/commands/reconcile.ts';
import { runCommand } from '../../src/cli/commands/run.ts';
import { statusCommand } from '../../src/cli/commands/status.ts';
import { verifyCommand } from '../../src/cli/commands/verify.ts';
import { acceptedKey, noteKey, objectKey, receiptKey } from '../../src/lake/keys.ts';
import type { CommandRun } from '../helpers/command-run.ts';
import { commandRun } from '../helpers/command-run.ts';
import type { Fault } from '../helpers/faulty-service/faults.ts';
import { hostileNames, LONG_NAME_CHARS, longName, unseenIn } from '../helpers/hostile-text.ts';
import { duckRows, lakeFiles, noteOf, receiptOf } from '../helpers/lake.ts';
import { makeReceipt } from '../helpers/ledger.ts';
import type { JobFile, TestLake } from '../helpers/run.ts';
import { DATE, newLake, QUICK_LIMITS, serviceForTests, VESSEL } from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const RANGE = { from: DATE, to: '2026-01-06' };
const JOBS: Readonly<Record<string, JobFile>> = {
  measurements: { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/S*'] },
};
const OVERRIDES = { clientLimits: QUICK_LIMITS, encoderThreads: 0 as const };

const service = await serviceForTests({ readingsPerDay: 1_000 });
let lake: TestLake;

beforeEach(async () => {
  lake = await newLake();
});
afterEach(async () => {
  await lake[Symbol.asyncDispose]();
});
/** Every name that metadata gives, but for ids and numbers of vessels, is hostile; one has 300 kB. */
const cursedMetadata: Fault = {
  kind: 'rewrite',
  rewrite(body) {
    const names = [longName, ...Object.values(hostileNames).filter((name) => name.isWellFormed())];
    let n = 0;
    const curse = (value: unknown, key = ''): unknown => {
      if (['timeSeriesId', 'imo', 'vesselImo'].includes(key)) return value;
      if (typeof value === 'string') return `${names[n++ % names.length]}${value}`;
      if (Array.isArray(value)) return value.map((one) => curse(one));
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, curse(one, name)]));
    };
    return JSON.stringify(curse(JSON.parse(body)));
  },
};

type Act = (context: CommandContext, options: object) => Promise<number>;
const COMMANDS: Readonly<Record<string, Act>> = {
  run: (context, options) => runCommand(context, [], { ...RANGE, ...options }, OVERRIDES),
  plan: (context, options) => planCommand(context, [], { ...RANGE, ...options }, OVERRIDES),
  status: (context, options) => statusCommand(context, [], { ...RANGE, ...options }),
  discover: (context, options) =>
    statusCommand(context, [], { ...RANGE, discover: true, ...options }, OVERRIDES),
  verify: (context, options) => verifyCommand(context, [], { ...RANGE, ...options }),
  deep: (context, options) => verifyCommand(context, [], { ...RANGE, deep: true, ...options }, OVERRIDES),
  reconcile: (context, options) => reconcileCommand(context, [], { ...RANGE, ...options }, OVERRIDES),
  gc: (context, options) => gcCommand(context, options),
};

/** Longest line that a command may print: a message and the words around it, or JSON of a line of log. */
const MAX_LINE_CHARS = 2_000 + 600;

function expectHarmless({ stdout, stderr }: CommandRun): void {
  for (const line of `${stdout}\n${stderr}`.split('\n')) {
    expect(unseenIn(line), line.slice(0, 300)).toEqual([]);
    expect(line.length, line.slice(0, 300)).toBeLessThanOrEqual(MAX_LINE_CHARS);
  }
}

/** A command for people, for a terminal of 80 columns, and for programs: nothing of it is harmful. */
async function expectHarmlessly(name: string, jobs = JOBS): Promise<string> {
  const place = { service, lakeUrl: lake.url, jobs };
  const act = (options: object) => (context: CommandContext) => COMMANDS[name]!(context, options);
  const plain = await commandRun(place, act({}));
  const colour = { isTTY: true, colour: true };
  const terminal = await commandRun({ ...place, columns: 80 }, (context) =>
    COMMANDS[name]!(
      { ...context, stdout: { ...context.stdout, ...colour }, stderr: { ...context.stderr, ...colour } },
      {},
    ),
  );
  const json = await commandRun(place, act({ json: true }));
  if (json.stdout !== '') JSON.parse(json.stdout);
  const ours = /\u001b\[(?:1|2|22|31|32|33|36|39)m|\r\u001b\[2K/g;
  const uncoloured = { code: 0, stdout: '', stderr: '' };
  uncoloured.stdout = terminal.stdout.replace(ours, '');
  uncoloured.stderr = terminal.stderr.replace(ours, '');
  for (const one of [plain, uncoloured, json]) expectHarmless(one);
  return plain.stdout + plain.stderr;
}

/** Notes and receipts of the lake: texts that people read. */
async function expectHarmlessLake(): Promise<void> {
  for (const [key, bytes] of await lakeFiles(lake.dir)) {
    if (!/^_(notes|ledger|accepted)\//.test(key)) continue;
    const text = bytes.toString('utf8');
    expect(unseenIn(text.replaceAll('\n', '')), key).toEqual([]);
    expect(bytes.length, key).toBeLessThan(16_384);
  }
}

test('hostile names in metadata: what fails over them is said in full, and harmlessly', async () => {
  service.faults = ({ family }) => {
    if (family === 'metadata') return cursedMetadata;
    return family === 'statistics' ? { kind: 'statistics-counts', offset: 1 } : undefined;
  };
  const said = await expectHarmlessly('run');
  expect(said).toContain('counts-disagree');
  const note = await noteOf(lake.dir, DAY);
  // The name does not push out what matters.
  expect(note?.message).toMatch(/ fetched, \d+ counted by the source.*report this to the operator/);
  expect(note?.message).toContain(`${VESSEL}/${DATE}`);
  for (const name of ['status', 'discover', 'verify', 'plan', 'reconcile', 'gc'])
    await expectHarmlessly(name);
  await expectHarmlessLake();
});

test('hostile names in metadata: what is stored of them is exact', async () => {
  service.faults = ({ family }) => (family === 'metadata' ? cursedMetadata : undefined);
  await expectHarmlessly('run');
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({ rows: expect.any(Number) });
  const path = join(lake.dir, objectKey(DAY));
  const rows = await duckRows(`SELECT DISTINCT id FROM read_parquet('${path}')`);
  const names = rows.map(([id]) => String(id));
  expect(names.some((name) => name.startsWith(longName))).toBe(true);
  expect(names.some((name) => name.startsWith(hostileNames.escape))).toBe(true);
  for (const name of ['status', 'verify', 'deep', 'plan', 'reconcile']) await expectHarmlessly(name);
  await expectHarmlessLake();
});

test('hostile numbers of vessels are told of, each on a line of its own', async () => {
  let n = 0;
  const numbers = [longName, ...Object.values(hostileNames).filter((name) => name.isWellFormed())];
  service.faults = ({ family }) =>
    family !== 'metadata'
      ? undefined
      : {
          kind: 'rewrite',
          rewrite: (body) =>
            body.replaceAll(/"imo":\s*"?\d+"?/g, (imo) =>
              n++ % 2 === 0 ? imo : `"imo":${JSON.stringify(numbers[n % numbers.length])}`,
            ),
        };
  const jobs = { measurements: { ...JOBS.measurements, vessels: { discover: 'flat/*/*' } } };
  expect(await expectHarmlessly('discover', jobs)).toContain(
    'as the IMO number of a vessel, expected seven digits',
  );
  for (const name of ['plan', 'run']) await expectHarmlessly(name, jobs);
});

test.for([
  ['the error of a refusal', { kind: 'status', status: 403, message: longName }],
  ['the error of a fault', { kind: 'status', status: 500, message: hostileNames.all }],
  [
    'a page that is none of the service',
    { kind: 'garbage', body: `<html>${longName}`, contentType: longName.slice(0, 0) || 'text/html' },
  ],
  ['a redirect', { kind: 'redirect', location: `https://x.example/${'y'.repeat(8_000)}` }],
  ['an api-version', { kind: 'api-version', value: 'x'.repeat(8_000) }],
] as [string, Fault][])('%s is shown harmlessly', async ([, fault]) => {
  service.faults = ({ family }) => (family === 'metadata' ? fault : undefined);
  for (const name of ['run', 'plan', 'status']) await expectHarmlessly(name);
  await expectHarmlessLake();
});

test('a hostile lake: keys, notes, receipts, warnings and what was accepted', async () => {
  const put = async (key: string, content: unknown) => {
    await mkdir(dirname(join(lake.dir, key)), { recursive: true });
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(join(lake.dir, key), text);
  };
  const at = (date: string, vessel = VESSEL) => ({ ...DAY, date, vessel });
  const comparedWith = { date: '2026-01-04', finishedAt: '2026-01-05T06:00:00Z', series: 10 };
  const names = [longName, ...Object.values(hostileNames)];
  const remark = { kind: 'fewer-series', missing: 20, names, comparedWith, since: DATE } as const;
  await put(receiptKey(DAY), { ...makeReceipt(DAY), selectedSeries: 2, remark });
  await put(receiptKey(at('2026-01-06')), { ...makeReceipt(at('2026-01-06')), finishedAt: longName });
  await put(receiptKey(at('2026-01-07')), { ...makeReceipt(DAY), job: `../../${hostileNames.escape}` });
  await put(receiptKey(at('2026-01-08')), { ...makeReceipt(DAY), rows: hostileNames.all });
  await put(receiptKey(at('2026-01-09')), longName);
  await put(receiptKey(at('2026-01-10')), { receiptVersion: longName });
  const note = { noteVersion: 1, state: 'failed', code: hostileNames.all, message: longName, at: longName };
  await put(noteKey(at('2026-01-11')), { ...note, ...at('2026-01-11'), at: '2026-01-12T00:00:00Z' });
  await put(noteKey(at('2026-01-12')), { ...note, state: hostileNames.escape });
  await put(acceptedKey(DAY.job, VESSEL), { series: longName, at: 5 });
  const claim = { claimVersion: 1, epoch: 3, attempt: longName, owner: { host: longName, pid: 1 } };
  const claimOf = (date: string) => `_checkpoints/${DAY.job}/date=${date}/vessel=${VESSEL}/3.json`;
  await put(claimOf('2026-01-13'), claim);
  await put(claimOf('2026-01-14'), { claimVersion: 1, epoch: 3, heartbeatMs: 1e300 });
  for (const name of Object.values(hostileNames)) {
    const file = name.replaceAll('/', '_').toWellFormed();
    await put(`${DAY.job}/vessel=${VESSEL}/date=${DATE}/${file}`, 'x');
    await put(`_ledger/${DAY.job}/date=${DATE}/vessel=${file}.json`, 'x');
    await put(`_notes/${file}/date=${DATE}/vessel=${VESSEL}.json`, 'x');
  }
  const long = { from: DATE, to: '2026-01-16' };
  for (const name of ['status', 'verify', 'plan', 'reconcile', 'gc', 'run']) {
    const act = (options: object) => (context: CommandContext) =>
      COMMANDS[name]!(context, { ...long, ...options });
    for (const options of name === 'gc' ? [{}, { json: true }] : [{}, { json: true }, { ndjson: true }]) {
      const ran = await commandRun({ service, lakeUrl: lake.url, jobs: JOBS }, act(options));
      expectHarmless(ran);
      expect(ran.stdout + ran.stderr).not.toContain('internal');
    }
  }
  const status = await commandRun({ service, lakeUrl: lake.url, jobs: JOBS }, (context) =>
    COMMANDS.status!(context, { ...long, json: true }),
  );
  expect(status.stdout.length).toBeLessThan(LONG_NAME_CHARS / 4);
});
