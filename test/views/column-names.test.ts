import { expect, test } from 'vitest';
import { columnName, columnNames } from '../../src/views/column-names.ts';
import { chooseColumns } from '../../src/views/wide-columns.ts';

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
  expect(columns.at(-1)!.comment).toBe('Power [MW; kW]');
});

test('all are all that can be named, a list is that list', () => {
  expect(chooseColumns(FLEET, 'all').columns.map(({ tag }) => tag)).toContain('Only here');
  // A line end would end the comment beside the column.
  expect(chooseColumns(FLEET, 'all').columns.map(({ tag }) => tag)).not.toContain('break\nout');
  expect(chooseColumns(FLEET, ['Only here']).columns).toHaveLength(1);
  expect(() => chooseColumns(FLEET, ['break\nout'])).toThrow(/--columns/);
  expect(() => chooseColumns([], 'shared')).toThrow(/no series that every vessel has/);
});
