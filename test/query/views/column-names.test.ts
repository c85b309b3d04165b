import { expect, test } from 'vitest';
import type { Job } from '../../../src/core/model/index.ts';
import { findSources } from '../../../src/query/sql/lake-sources.ts';
import { columnName, columnNames } from '../../../src/query/views/column-names.ts';
import { DIALECTS } from '../../../src/query/views/dialects/index.ts';
import { seriesView } from '../../../src/query/views/series.ts';
import { chooseColumns } from '../../../src/query/views/wide-columns.ts';
import { lakeOf } from './scripts.ts';

test.for([
  ['ME Fuel Oil Consumption', 'me_fuel_oil_consumption'],
  ['Temp. Zylinder Ä (°C)', 'temp_zylinder_a_c'],
  ['2nd Deck', 'c_2nd_deck'],
  ['風速', ''],
  ["x'; DROP TABLE y --", 'x_drop_table_y'],
])('%s becomes %s', ([name, expected]) => {
  expect(columnName(name!)).toBe(expected);
});

test('names that collide are told apart, and keep their names whatever their order', () => {
  const names = ['ME RPM', 'ME-RPM', 'Vessel', '風速', '風向', 'x'.repeat(80), 'Shaft Power'];
  const columns = columnNames(names, ['vessel', 'date', 'timestamp']);
  const all = [...columns.values()];
  expect(new Set(all).size).toBe(names.length);
  for (const column of all) expect(column).toMatch(/^[a-z][a-z0-9_]{0,62}$/);
  expect(columns.get('Shaft Power')).toBe('shaft_power');
  expect(columns.get('Vessel')).not.toBe('vessel');
  expect(columns.get('ME RPM')).toMatch(/^me_rpm_[0-9a-f]{6}$/);
  expect([...columnNames([...names].reverse(), ['vessel', 'date', 'timestamp'])].sort()).toEqual(
    [...columns].sort(),
  );
});

const series = (vessel: string, timeSeriesId: string, tag: string, unit: string | null = 'kW') => ({
  vessel,
  timeSeriesId,
  tag,
  unit,
});
const FLEET = [
  series('IMO1', 'aaaaaaaa-1', 'Power'),
  series('IMO2', 'bbbbbbbb-2', 'Power', 'MW'),
  series('IMO1', 'cccccccc-3', 'Level', '%'),
  series('IMO1', 'dddddddd-4', 'Level', '%'),
  series('IMO2', 'eeeeeeee-5', 'Level', '%'),
  series('IMO2', 'ffffffff-6', 'Only here'),
  series('IMO2', 'gggggggg-7', 'break\nout'),
];

test('series of one vessel that share a name have a column each', () => {
  const { columns, warnings } = chooseColumns(FLEET, 'shared');
  expect(columns.map(({ name, tag, ids, notIds }) => ({ name, tag, ids, notIds }))).toEqual([
    { name: 'level', tag: 'Level', ids: [], notIds: ['cccccccc-3', 'dddddddd-4'] },
    { name: 'level_cccccccc', tag: 'Level', ids: ['cccccccc-3'], notIds: [] },
    { name: 'level_dddddddd', tag: 'Level', ids: ['dddddddd-4'], notIds: [] },
    { name: 'power', tag: 'Power', ids: [], notIds: [] },
  ]);
  expect(warnings).toEqual(["'Power' has several units, which one column does not tell: MW, kW"]);
  expect(columns.at(-1)!.comment).toBe('Power [MW, kW]');
});

test('all are all, a list is that list, and a name that fills a script has no column', () => {
  expect(chooseColumns(FLEET, 'all').columns.map(({ tag }) => tag)).toContain('Only here');
  expect(chooseColumns(FLEET, ['Only here']).columns).toHaveLength(1);
  expect(chooseColumns(FLEET, ['break\nout']).columns).toMatchObject([{ name: 'break_out' }]);
  expect(() => chooseColumns([], 'shared')).toThrow(/no series that every vessel has/);
  const { columns, warnings } = chooseColumns(
    [...FLEET, series('IMO1', 'hhhhhhhh-8', 'x'.repeat(300_000))],
    'all',
  );
  expect(columns.map(({ tag }) => tag)).not.toContain('x'.repeat(300_000));
  expect(warnings.at(0)).toMatch(/^'x+…' has no column: a name of more than 1000 characters$/);
});

test('ids that begin alike, and names that are like others with an id, have a column each', () => {
  const alike = [
    series('IMO1', '0190a1b2-1', 'Level'),
    series('IMO1', '0190a1b2-2', 'Level'),
    series('IMO1', '0190a1b2-3', 'Level 0190a1b2'),
  ];
  const { columns } = chooseColumns(alike, 'all');
  expect(new Set(columns.map(({ name }) => name)).size).toBe(3);
  for (const { name } of columns) expect(name).toMatch(/^level_0190a1b2_[0-9a-f]{6}$/);
});

test('endings that somebody made alike are told apart, and what is taken stays so', () => {
  // As far as six digits go, two of these have one.
  const names = Array.from(
    { length: 20_000 },
    (_, n) => `ME RPM${' '.repeat(1 + (n % 7))}${'.'.repeat(n >> 3)}`,
  );
  const columns = columnNames([...new Set(names)], ['me_rpm']);
  expect(new Set(columns.values()).size).toBe(columns.size);
  expect(columns.size).toBeGreaterThan(4_000);
  expect([...columns.values()].filter((name) => /_2$/.test(name)).length).toBeGreaterThan(0);
});

const seriesColumns = (domains: readonly string[]) => {
  const lake = lakeOf('duckdb', 'plain', undefined, domains);
  const body = seriesView(DIALECTS.duckdb, lake, lake.sources[0]!).body.split('\nSELECT\n').at(-1)!;
  return [...body.matchAll(/"(\w+)",?$/gm)].map(([, name]) => name!);
};

test('domains that would make a column twice are renamed, those of the contract never', () => {
  const own = seriesColumns([]);
  expect(own).toContain('vis_3_8a_verbose_id');
  const odd = [
    ...'x.y x_y X-Y time_series jsmea vis_3_8a VIS-3-8a vis-x vis-x-verbose tag flat:id'.split(' '),
  ];
  const columns = seriesColumns(odd);
  expect(columns.filter((name, index) => columns.indexOf(name) !== index)).toEqual([]);
  expect(columns.filter((name) => name !== name.toLowerCase())).toEqual([]);
  expect(own.filter((name) => !columns.includes(name))).toEqual([]);
  for (const prefix of ['x_y', 'time_series', 'vis_3_8a'])
    expect(
      columns.filter((name) => new RegExp(`^${prefix}_[0-9a-f]{6}_id$`).test(name)).length,
    ).toBeGreaterThan(0);
  expect(seriesColumns(odd.toReversed())).toEqual(columns);
});

test('jobs nearly of one name have tables of their own, and long names stay whole', async () => {
  const job = (name: string, dataset: Job['dataset']) => ({ name, dataset }) as Job;
  const long = 'l'.repeat(63);
  const jobs = [job('a-b', 'measurements'), job('a_b', 'metadata'), job(long, 'statistics')];
  const store = { async *list() {} };
  const { emptySources } = await findSources(store, jobs, []);
  const relations = emptySources.map(({ relation }) => relation);
  expect(new Set(relations).size).toBe(3);
  expect(relations).toContain(long);
  const named = async (name: string) =>
    (await findSources(store, [job(name, 'measurements')], [])).emptySources[0]!.relation;
  expect(await named('readings')).toBe('readings_job');
  expect(await named('constructor')).toBe('constructor');
  expect(await named('lake-objects')).toMatch(/^lake_objects_[0-9a-f]{6}$/);
  const lake = { ...lakeOf('trino', 'plain'), receiptJobs: ['a-b', 'a_b'] };
  const script = DIALECTS.trino.receipts(lake).join(';');
  const tables = [...script.matchAll(/CREATE TABLE IF NOT EXISTS "(\w+)"/g)].map(([, table]) => table);
  expect(new Set(tables).size).toBe(2);
});
