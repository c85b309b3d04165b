import { expect, it } from 'vitest';
import type { SeriesMetadata } from '../../../src/core/model/index.ts';
import { encodeMetadata } from '../../../src/parquet/write/index.ts';
import { bareSeries, fileOf } from './lake-file.ts';
import { encoderHere, readerHere } from './readers.ts';

const reader = await readerHere();
const encoder = encoderHere(1);

const bare = bareSeries('IMO9321483/bare', 'b');
const full: SeriesMetadata = {
  id: 'IMO9321483/ME RPM',
  timeSeriesId: 'a',
  source: 'AMS',
  dataProvider: 'Provider',
  unitOfMeasure: '°C',
  scale: 0.1,
  vesselName: 'Ærø "Star"',
  vesselImo: '9321483',
  jsmea: {
    id: 'IMO9321483/x///',
    namingRule: 'jsmea_mac',
    category: 'ME',
    subcategory: 'Cyl',
    content: '',
    item: 'T',
  },
  flat: { id: 'IMO9321483/ME RPM', shortName: 'ME RPM' },
  maker: { id: 'IMO9321483/AMS/1', name: 'Rpm', description: 'Speed', rangeHigh: 120.0, rangeLow: -0 },
  domainsJson: '{"flat":{"id":"IMO9321483/ME RPM","new field":[1.0]}}',
};
const FULL_ROW = [
  ...['a', 'IMO9321483/ME RPM', 'AMS', 'Provider', '°C', 0.1, 'Ærø "Star"', '9321483'],
  ...['IMO9321483/x///', 'jsmea_mac', 'ME', 'Cyl', '', 'T', 'IMO9321483/ME RPM', 'ME RPM'],
  ...['IMO9321483/AMS/1', 'Rpm', 'Speed', 120, -0, full.domainsJson],
];
const BARE_ROW = ['b', 'IMO9321483/bare', ...Array(19).fill(null), '{}'];

it('has one row a series with every field, sorted by time series id', async () => {
  const group = await encodeMetadata([bare, full], encoder);
  expect(group).toMatchObject({ rows: 2, minMicros: 0, maxMicros: 0, runs: { ids: [] } });
  const file = fileOf('metadata', [group]);
  const query = 'select * exclude (file_row_number) from read_parquet(FILE, file_row_number = true)';
  expect(await reader.query(file, query)).toEqual([FULL_ROW, BARE_ROW]);
  const columns = await reader.query(file, 'select column_name, column_type from (describe from FILE)');
  expect(columns.map(([name]) => name)).toEqual([
    ...'time_series_id id source data_provider unit_of_measure scale vessel_name vessel_imo'.split(' '),
    ...'jsmea_id jsmea_naming_rule jsmea_category jsmea_subcategory jsmea_content jsmea_item'.split(' '),
    ...'flat_id flat_short_name maker_id maker_name maker_description maker_range_high'.split(' '),
    ...'maker_range_low domains_json'.split(' '),
  ]);
  const doubles = columns.filter(([, type]) => type === 'DOUBLE').map(([name]) => name);
  expect(doubles).toEqual(['scale', 'maker_range_high', 'maker_range_low']);
});

it('gives the same bytes in any order of the series, in this thread too', async () => {
  const twice = { ...full, source: 'another' };
  const series = [bare, full, twice, { ...bare, timeSeriesId: 'é' }];
  const expected = fileOf('metadata', [await encodeMetadata(series, encoder)]);
  const other = fileOf('metadata', [await encodeMetadata([...series].reverse())]);
  expect(other.equals(expected)).toBe(true);
});

it('refuses to encode no series', async () => {
  await expect(encodeMetadata([], encoder)).rejects.toThrow(RangeError);
});
