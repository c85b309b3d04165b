/** `vessels` and `series`: what the service has, in the words of a job, and the same from the lake alone. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { seriesCommand, vesselsCommand } from '../../../src/cli/commands/catalogue.ts';
import { systemClock } from '../../../src/core/model/index.ts';
import { detailKey } from '../../../src/lake/keys.ts';
import { SCHEMAS_DIR } from '../../cli/commands/schemas.ts';
import { commandRun } from '../../helpers/command-run.ts';
import { askService } from '../../helpers/lake.ts';
import type { JobFile, TestLake, TestService } from '../../helpers/run.ts';
import {
  DATE,
  mustExport,
  newLake,
  OTHER_VESSEL,
  QUICK_LIMITS,
  startTestService,
  VESSEL,
} from '../../helpers/run.ts';

const clock = { ...systemClock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
const JOBS: Readonly<Record<string, JobFile>> = {
  power: { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/*Power'] },
  aggregates: {
    dataset: 'statistics',
    vessels: { discover: 'flat/*/*' },
    select: ['jsmea/{vessel}/*/Propulsion'],
    window: '1h',
  },
  metadata: { dataset: 'metadata', vessels: { discover: 'flat/*/*' }, select: ['flat/{vessel}/*'] },
};

let service: TestService;
let lake: TestLake;
beforeAll(async () => {
  service = await startTestService({ vessels: 2, readingsPerDay: 2_000 });
  lake = await newLake();
  const { metadata, power } = JOBS;
  await mustExport({ service, lakeUrl: lake.url, jobs: { metadata: metadata! }, overrides: { clock } });
  await mustExport({
    service,
    lakeUrl: lake.url,
    jobs: { power: power! },
    args: { from: '2026-01-04', to: DATE },
  });
});
afterAll(async () => {
  await service.close();
  await lake[Symbol.asyncDispose]();
});

interface Listed {
  readonly select: string;
  readonly vessel: string;
  readonly names: Readonly<Record<string, string>>;
  readonly lastTime: string | null;
  readonly [name: string]: unknown;
}
type Command = Parameters<typeof commandRun>[1];
const overrides = { clock, clientLimits: QUICK_LIMITS } as const;

function run(command: Command, more: Partial<Parameters<typeof commandRun>[0]> = {}) {
  // The clocks differ by months here.
  const quiet = { LOG_LEVEL: 'error' };
  return commandRun(
    { service, lakeUrl: lake.url, jobs: JOBS, ...more, env: { ...quiet, ...more.env } },
    command,
  );
}

async function printed(name: 'series' | 'vessels', command: Command, more = {}): Promise<Listed[]> {
  const ran = await run(command, more);
  expect(ran.stderr).toBe('');
  expect(ran.code).toBe(0);
  const value = JSON.parse(ran.stdout);
  z.fromJSONSchema(JSON.parse(readFileSync(join(SCHEMAS_DIR, `${name}.schema.json`), 'utf8'))).parse(value);
  return value[name];
}

const listSeries =
  (vessel: string | undefined, options: Partial<Parameters<typeof seriesCommand>[2]>): Command =>
  (context) =>
    seriesCommand(context, vessel, { days: 1, json: true, ...options }, overrides);

/** The day's readings of the vessel up to noon, asked of the service another way. */
async function readingsOf(
  id: string,
  range = 'from=2026-01-04T12:00:00Z&to=2026-01-05T12:00:00Z',
): Promise<{ timestamp: string; value: unknown }[]> {
  return JSON.parse(await askService(service, `/measurements/id/${id}?${range}`));
}

test('series of a vessel: names in every domain, units, ranges, last readings, and which job selects them', async () => {
  const series = await printed('series', listSeries('9321483', {}));
  expect(series.length).toBeGreaterThan(100);
  expect(new Set(series.map(({ vessel }) => vessel))).toEqual(new Set([VESSEL]));
  const power = series.find(({ select }) => select === 'flat/{vessel}/Shaft Power')!;
  expect(power).toMatchObject({
    names: {
      flat: `${VESSEL}/Shaft Power`,
      jsmea: `${VESSEL}/jsmea_mac/Propulsion/Shaft///Power/`,
      maker: `${VESSEL}/mac/JE-6001`,
      'vis-3-8a': expect.stringContaining(`${VESSEL}/`),
    },
    ...{ unit: 'kW', rangeLow: 0, rangeHigh: 30_000, type: 'number' },
    jobs: ['aggregates', 'metadata', 'power'],
  });
  const readings = await readingsOf(String(power.timeSeriesId));
  expect(power).toMatchObject({ readings: readings.length, lastTime: readings.at(-1)!.timestamp });
  expect(JSON.parse(String(power.lastValue))).toBe(readings.at(-1)!.value);
  expect(series.find(({ select }) => select === 'flat/{vessel}/GPS Position')).toMatchObject({
    type: 'json',
  });
  // A series without a flat name is there too, and says what it can be selected by.
  const nameless = series.filter(({ names }) => names.flat === undefined);
  expect(nameless.length).toBeGreaterThan(0);
  for (const { select } of nameless) expect(select).toMatch(/^(maker|jsmea|id)\//);
});

test('each way to select it, as series says it, selects it', async () => {
  const series = await printed('series', listSeries(VESSEL, { days: 0 }));
  const [first, last] = [series[0]!, series.findLast(({ names }) => names.flat === undefined)!];
  for (const { select, timeSeriesId } of [first, last]) {
    const asked = await printed('series', listSeries(VESSEL, { days: 0, select: [select] }), { jobs: {} });
    expect(asked.map((one) => one.timeSeriesId)).toContain(timeSeriesId);
    expect(asked.length).toBeLessThan(5);
  }
});

test('the older version of the API says the same', async () => {
  const env = { QUERY_API_VERSION: '2025-10-31' };
  const facts = (all: Listed[]) =>
    all.map(({ timeSeriesId, names, unit, lastTime, jobs }) => ({
      timeSeriesId,
      names,
      unit,
      lastTime,
      jobs,
    }));
  const [newer, older] = [
    await printed('series', listSeries(VESSEL, { search: 'shaft' })),
    await printed('series', listSeries(VESSEL, { search: 'shaft' }), { env }),
  ];
  expect(newer.length).toBeGreaterThan(1);
  expect(facts(older)).toEqual(facts(newer));
});

test('--search finds in names, units and descriptions; what finds nothing says so and exits with 1', async () => {
  const all = await printed('series', listSeries(undefined, { days: 0 }));
  const found = await printed('series', listSeries(undefined, { days: 0, search: 'je-6001' }));
  expect(found.map(({ select, vessel }) => ({ select, vessel }))).toEqual([
    { select: 'flat/{vessel}/Shaft Power', vessel: VESSEL },
    { select: 'flat/{vessel}/Shaft Power', vessel: OTHER_VESSEL },
  ]);
  const none = await run(listSeries(undefined, { days: 0, search: 'warp drive', json: false }));
  expect(none).toMatchObject({ code: 1, stdout: '' });
  expect(none.stderr).toBe(
    `nothing of ${all.length} series has 'warp drive' in its names, description, unit or source\n`,
  );
});

test('as CSV, with a column a domain', async () => {
  const { stdout } = await run(listSeries(VESSEL, { search: 'GPS Position', json: false, csv: true }));
  const [head, ...lines] = stdout.trimEnd().split('\n');
  expect(head).toMatch(/^vessel,vessel_name,select,unit,.*,flat,jsmea,maker$/);
  expect(lines.length).toBeGreaterThan(0);
  // A value with quotes and commas is one cell.
  for (const line of lines) expect(line).toMatch(/,"\{""lat"":[-\d.]+,""lon"":[-\d.]+\}",/);
});

test('on a narrow terminal the names in other domains give way, and that is said', async () => {
  const text = listSeries(VESSEL, { search: 'power', json: false });
  const wide = await run(text);
  expect(wide.stdout).toContain('jsmea/{vessel}/jsmea_mac/Propulsion/Shaft///Power/');
  const { code, stdout } = await run((context) =>
    text({ ...context, stdout: { ...context.stdout, isTTY: true, columns: 120 } }),
  );
  expect(code).toBe(0);
  expect(stdout).not.toContain('jsmea/');
  expect(stdout).toContain('--json and --csv have them');
});

test('vessels, with their last reading', async () => {
  const vessels = await printed('vessels', (context) =>
    vesselsCommand(context, { days: 1, json: true }, overrides),
  );
  const series = await printed('series', listSeries(undefined, {}));
  expect(vessels.map(({ vessel, name, jobs }) => ({ vessel, name, jobs }))).toEqual([
    { vessel: VESSEL, name: 'Nordlys', jobs: ['aggregates', 'metadata', 'power'] },
    { vessel: OTHER_VESSEL, name: 'Havgula', jobs: ['aggregates', 'metadata'] },
  ]);
  for (const { vessel, lastTime, series: count } of vessels) {
    const own = series.filter((one) => one.vessel === vessel && one.names.flat !== undefined);
    expect(count).toBe(own.length);
    expect(lastTime).toBe(
      own
        .map((one) => one.lastTime ?? '')
        .sort()
        .at(-1),
    );
  }
});

test('from the lake alone, the same but for readings, and for a job that has discovered nothing yet', async () => {
  service.faults = () => ({ kind: 'status', status: 500 });
  const noReadings = ({ type, lastTime, lastValue, readings, ...entry }: Listed) => ({
    ...entry,
    jobs: (entry.jobs as string[]).filter((name) => name !== 'aggregates'),
  });
  const fromLake = await printed('series', listSeries(VESSEL, { lake: true }));
  const vessels = await printed('vessels', (context) =>
    vesselsCommand(context, { days: 1, json: true, lake: true }, overrides),
  );
  service.faults = undefined;
  const fromService = await printed('series', listSeries(VESSEL, { select: ['flat/{vessel}/*'] }));
  expect(fromLake.map(noReadings)).toEqual(fromService.map(noReadings));
  expect(fromLake.flatMap(({ jobs }) => jobs)).not.toContain('aggregates');
  expect(vessels).toMatchObject([
    { vessel: VESSEL, name: 'Nordlys', jobs: ['metadata', 'power'], series: fromLake.length },
    { vessel: OTHER_VESSEL, lastTime: null, jobs: ['metadata'] },
  ]);
  expect(vessels[0]!.lastTime).toMatch(/^2026-01-04T/);
});

test('from the lake, last readings are those of the newest exported day', async () => {
  const all = await printed('series', listSeries(VESSEL, { lake: true }));
  const power = all.find(({ select }) => select === 'flat/{vessel}/Shaft Power')!;
  const readings = await readingsOf(String(power.timeSeriesId), 'from=2026-01-04&to=2026-01-05');
  expect(readings.length).toBeGreaterThan(0);
  expect(power).toMatchObject({ lastTime: readings.at(-1)!.timestamp, readings: readings.length });
  // What no job exports, and what was not looked for, is not known.
  const unknown = { lastTime: null, readings: null };
  expect(all.find(({ select }) => select === 'flat/{vessel}/Roll')).toMatchObject(unknown);
  const [none] = await printed('series', listSeries(VESSEL, { lake: true, days: 0, search: 'JE-6001' }));
  expect(none).toMatchObject(unknown);
  // A damaged detail is said, and hides no series.
  const detail = join(lake.dir, detailKey({ job: 'power', vessel: VESSEL, date: '2026-01-04' }));
  const bytes = readFileSync(detail);
  writeFileSync(detail, 'no gzip');
  const ran = await run(listSeries(VESSEL, { lake: true }), { env: { LOG_LEVEL: 'warn' } });
  writeFileSync(detail, bytes);
  expect(ran.stderr).toContain('the last readings are not known: the detail is not that of the receipt');
  expect(JSON.parse(ran.stdout).series).toHaveLength(all.length);
});

test('from the lake, a job that discovers its vessels has those that it has published lately', async () => {
  await using other = await newLake();
  const { metadata } = JOBS;
  const found: JobFile = { ...metadata!, dataset: 'measurements', select: ['flat/{vessel}/*Power'] };
  const jobs = { metadata: metadata!, found };
  const place = { service, lakeUrl: other.url };
  await mustExport({ ...place, jobs: { metadata: metadata! }, overrides: { clock } });
  const jobsOf = async () => {
    const all = await printed('series', listSeries(undefined, { lake: true, search: 'JE-6001' }), {
      ...{ lakeUrl: other.url, jobs },
    });
    return all.map((one) => [one.vessel, one.jobs]);
  };
  const exported = async (vessels: string[], from: string, to: string) =>
    mustExport({ ...place, jobs: { found: { ...found, vessels } }, args: { from, to } });
  await exported([VESSEL, OTHER_VESSEL], '2025-12-20', '2025-12-21');
  expect(await jobsOf()).toEqual([
    [VESSEL, ['found', 'metadata']],
    [OTHER_VESSEL, ['found', 'metadata']],
  ]);
  await exported([VESSEL], '2026-01-03', '2026-01-04');
  expect(await jobsOf()).toEqual([
    [VESSEL, ['found', 'metadata']],
    [OTHER_VESSEL, ['metadata']],
  ]);
});

test('a job file that is wrong does not keep anybody from looking for names', async () => {
  const broken = { ...JOBS, wrong: { dataset: 'nothing' } };
  const ran = await run(listSeries(VESSEL, { days: 0, search: 'Shaft Power' }), {
    jobs: broken,
    lakeUrl: '',
    env: { LOG_LEVEL: 'warn' },
  });
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('wrong.yaml: dataset');
});

test('what cannot be: a vessel that is none, two forms at once, a vessel that is not there, a lake without snapshots', async () => {
  const cases: [Command, RegExp, number][] = [
    [listSeries('Nordlys', {}), /got the vessel 'Nordlys', expected IMO and seven digits/, 2],
    [listSeries(VESSEL, { csv: true }), /--csv: given together with --json/, 2],
    [listSeries('IMO9999993', {}), /lists no series of IMO9999993.*check its number/, 1],
    [listSeries('IMO9999993', { lake: true }), /has no snapshot of IMO9999993 of metadata/, 1],
  ];
  for (const [command, words, code] of cases) {
    const ran = await run(command);
    expect(ran.stderr).toMatch(words);
    expect(ran).toMatchObject({ code, stdout: '' });
  }
  const none = await run(listSeries(VESSEL, { lake: true }), { jobs: { power: JOBS.power! } });
  expect(none.stderr).toMatch(/no job has dataset: metadata/);
});

test('nothing of the past is a last reading', async () => {
  const later = { ...systemClock, nowMs: () => Date.parse('2019-06-01T12:00:00Z') };
  const series = await printed('series', (context) =>
    seriesCommand(
      context,
      VESSEL,
      { days: 1, json: true, search: 'Shaft Power' },
      { ...overrides, clock: later },
    ),
  );
  expect(series).toMatchObject([{ lastTime: null, type: null, readings: 0 }]);
});
