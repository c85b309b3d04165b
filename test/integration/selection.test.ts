/** What `select` selects: each series once, only the vessel's own, under the name of the first expression. */

import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { objectKey } from '../../src/lake/keys.ts';

import { expectExactDay, lakeReadings, receiptOf, serviceNames } from '../helpers/lake.ts';
import {
  DATE,
  FEW_EXPRESSIONS,
  FEW_SERIES,
  MEASUREMENTS,
  mustExport,
  newLake,
  OTHER_VESSEL,
  runExport,
  serviceForTests,
  serviceOfTest,
  VESSEL,
} from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const service = await serviceForTests({ vessels: 2, readingsPerDay: 4_000 });
let ids: string[];

beforeAll(async () => {
  ids = [...(await serviceNames(service, [`flat/${VESSEL}/*`])).keys()];
});

/** Export the day with these expressions; its readings, and whether the lake equals the service. */
async function exportSelection(select: readonly string[], env: Record<string, string> = {}) {
  await using lake = await newLake();
  const jobs = { measurements: { ...MEASUREMENTS, select } };
  await mustExport({ service, lakeUrl: lake.url, jobs, env });
  const expressions = select.map((expression) => expression.replaceAll('{vessel}', VESSEL));
  const lines = await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions });
  const receipt = await receiptOf(lake.dir, DAY);
  return { lines, series: receipt!.series, names: new Set(lines.map((line) => line.split('\t')[2]!)) };
}

test.for<[what: string, select: string[], names: string[] | RegExp, atLeast?: number]>([
  ['a tag with spaces', ['flat/{vessel}/Speed Over Ground'], ['Speed Over Ground']],
  [
    'tags beyond ASCII, and a tag with a slash',
    ['flat/{vessel}/Maskintelegraf Ærø', 'flat/{vessel}/Fuel/Distance Ratio'],
    ['Maskintelegraf Ærø', 'Fuel/Distance Ratio'],
  ],
  [
    'several expressions of one domain',
    ['flat/{vessel}/Shaft *', 'flat/{vessel}/Draught Fore'],
    /^(Shaft .*|Draught Fore)$/,
    3,
  ],
  [
    'jsmea with levels left out at the end',
    ['jsmea/{vessel}/jsmea_mac/MainEngine'],
    /^jsmea_mac\/MainEngine\//,
    2,
  ],
  ['vis-3-8a without a secondary item', ['vis-3-8a/{vessel}/411.1/C101/meta/qty-load/cnt-engine'], /./, 1],
  ['vis-3-8a with one', ['vis-3-8a/{vessel}/411.2-1/C101/sec/411.2-1/C101.72/meta/*/*'], /./, 1],
  ['vis-3-8a with wildcards', ['vis-3-8a/{vessel}/411.1/*/meta/*/*'], /./, 4],
  ['names of a maker', ['maker/{vessel}/mac/*'], /^mac\//, 61],
  ['a code of a maker with a slash', ['maker/{vessel}/calc/CALC/1'], ['calc/CALC/1']],
])('%s', async ([, select, expected, atLeast = 1]) => {
  const found = await exportSelection(select);
  const names = [...found.names].map((name) => name.slice(VESSEL.length + 1));
  if (Array.isArray(expected)) expect(names.sort()).toEqual(expected.sort());
  else expect(names.filter((name) => !expected.test(name))).toEqual([]);
  expect(found.series).toBeGreaterThanOrEqual(atLeast);
});

for (const version of ['2025-10-31', '2026-09-10']) {
  test(`overlapping expressions yield each series once, version ${version}`, async () => {
    const select = ['jsmea/{vessel}/jsmea_nav/*/*/*/*/*/*', 'flat/{vessel}/*', 'maker/{vessel}/*/*'];
    const { series, names } = await exportSelection(select, { QUERY_API_VERSION: version });
    expect(series).toBeGreaterThan(120);
    expect([...names].some((name) => name.startsWith(`${VESSEL}/jsmea_nav/`))).toBe(true);
    expect(names).toContain(`${VESSEL}/Shaft Power`);
  });
}

test('many series by their ids fit the limits on a URL and on an expression', async () => {
  // A long address leaves less room in the URL, as more series would.
  const tenant = 'fleet'.padEnd(1_500, 'x');
  const far = await serviceOfTest({ tenant, readingsPerDay: 2_000 });
  await using lake = await newLake();
  const select = ['jsmea/{vessel}/*', 'flat/{vessel}/*'];
  await mustExport({
    service: far,
    lakeUrl: lake.url,
    jobs: { measurements: { ...MEASUREMENTS, select } },
  });
  const expressions = select.map((expression) => expression.replaceAll('{vessel}', VESSEL));
  await expectExactDay(far, { lakeDir: lake.dir, day: DAY, expressions });
});

test('a series in two domains has the name of the first expression', async () => {
  const jsmea = 'jsmea/{vessel}/jsmea_mac/Propulsion/*/*/*/*/*';
  const first = await exportSelection([jsmea, 'flat/{vessel}/Shaft *']);
  const second = await exportSelection(['flat/{vessel}/Shaft *', jsmea]);
  expect(first.names).toContain(`${VESSEL}/jsmea_mac/Propulsion/Shaft///Power/`);
  expect(second.names).toContain(`${VESSEL}/Shaft Power`);
  expect(first.series).toBe(second.series);
});

for (const version of ['2025-10-31', '2026-09-10']) {
  test(`jsmea with empty levels means series whose levels are empty, version ${version}`, async () => {
    const names = async (pattern: string) => {
      await using lake = await newLake();
      const jobs = { measurements: { ...MEASUREMENTS, select: [`jsmea/{vessel}/jsmea_mac/${pattern}`] } };
      await mustExport({ service, lakeUrl: lake.url, jobs, env: { QUERY_API_VERSION: version } });
      const { lines } = await lakeReadings(join(lake.dir, objectKey(DAY)));
      return new Set(lines.map((line) => line.split('\t')[2]!.replace(`${VESSEL}/jsmea_mac/`, '')));
    };
    expect(await names('Propulsion/Shaft///Power/')).toEqual(new Set(['Propulsion/Shaft///Power/']));
    expect(await names('AuxEngine/Engine1///*/')).toEqual(
      new Set(['Power', 'Hours', 'RotationalFrequency'].map((item) => `AuxEngine/Engine1///${item}/`)),
    );
    expect(await names('MainEngine//LubOil/Inlet/*/')).toEqual(
      new Set(['MainEngine//LubOil/Inlet/Press/', 'MainEngine//LubOil/Inlet/Temp/']),
    );
  });
}

test('ids of two vessels: only the own ones are exported', async () => {
  const others = [...(await serviceNames(service, [`flat/${OTHER_VESSEL}/*`])).keys()];
  await using lake = await newLake();
  const select = [`id/${[...ids.slice(0, 30), ...others.slice(0, 30)].join(',')}`];
  const jobs = { measurements: { ...MEASUREMENTS, vessels: [VESSEL, OTHER_VESSEL], select } };
  await mustExport({ service, lakeUrl: lake.url, jobs });
  for (const vessel of [VESSEL, OTHER_VESSEL]) {
    const day = { ...DAY, vessel };
    const lines = await expectExactDay(service, { lakeDir: lake.dir, day, expressions: select });
    const own = new Set(vessel === VESSEL ? ids : others);
    expect(lines.filter((line) => !own.has(line.split('\t')[1]!))).toEqual([]);
    expect(lines.length).toBeGreaterThan(100);
  }
});

test('series without a name in a domain come through the domain id, named by it', async () => {
  const { lines } = await exportSelection([`id/${ids.slice(0, 3).join(',')}`]);
  expect(lines.filter((line) => line.split('\t')[1] !== line.split('\t')[2])).toEqual([]);
});

test('an expression that matches nothing fails the day, unless it is optional', async () => {
  await using lake = await newLake();
  const select = ['flat/{vessel}/Shaft Power', 'flat/{vessel}/No Such Tag'];
  const jobsOf = (second: unknown) => ({
    measurements: { ...MEASUREMENTS, select: ['flat/{vessel}/Shaft Power', second] },
  });
  const { code, results } = await runExport({ service, lakeUrl: lake.url, jobs: jobsOf(select[1]) });
  expect(code).toBe(1);
  expect(results).toMatchObject([{ state: 'failed', code: 'no-series' }]);
  expect(results[0]!.message).toMatch(/'flat\/IMO9321483\/No Such Tag' matches no series.*optional: true/);
  const optional = { expression: select[1], optional: true };
  await mustExport({ service, lakeUrl: lake.url, jobs: jobsOf(optional) });
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({ unmatchedExpressions: [1] });
  await expectExactDay(service, {
    lakeDir: lake.dir,
    day: DAY,
    expressions: [`flat/${VESSEL}/Shaft Power`],
  });
});

test('credentials for one vessel do not see the other', async () => {
  const clients = [{ clientId: 'one', clientSecret: 'a-long-enough-secret', vessels: [VESSEL] }];
  const limited = await serviceOfTest({ vessels: 2, readingsPerDay: 2_000, clients });
  await using lake = await newLake();
  const jobs = { measurements: { ...FEW_SERIES, vessels: [VESSEL, OTHER_VESSEL] } };
  const { code, results } = await runExport({ service: limited, lakeUrl: lake.url, jobs });
  expect(code).toBe(1);
  expect(results.map(({ vessel, state }) => [vessel, state]).sort()).toEqual([
    [VESSEL, 'published'],
    [OTHER_VESSEL, 'failed'],
  ]);
  await expectExactDay(limited, { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS });
});
