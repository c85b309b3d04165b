import { expect, test } from 'vitest';
import { FatalError, RefusedError } from '../../../src/core/errors.ts';
import type { TableMetadata } from '../../../src/lake/table/actions.ts';
import {
  checkTable,
  extendedMetadata,
  newTableMetadata,
  PROTOCOL,
  parseSchema,
  schemaFaults,
  type TableContent,
} from '../../../src/lake/table/schema.ts';
import { MEASUREMENTS } from './fixtures.ts';

const STATISTICS: TableContent = {
  job: 'daily',
  dataset: 'statistics',
  columns: [
    { name: 'timestamp', type: 'timestamp' },
    { name: 'time_series_id', type: 'series' },
    { name: 'count', type: 'long' },
    { name: 'mean', type: 'double' },
    { name: 'first_val_json', type: 'text' },
  ],
};
const fieldsOf = ({ schemaString }: TableMetadata) =>
  parseSchema(schemaString, 'x').map(({ name, type }) => `${name} ${type}`);

test('a new table has the columns of its dataset and those of its folders', () => {
  const metadata = newTableMetadata(STATISTICS, 5);
  expect(fieldsOf(metadata)).toEqual([
    'timestamp timestamp',
    'time_series_id string',
    'count long',
    'mean double',
    'first_val_json string',
    'vessel string',
    'date date',
  ]);
  expect(metadata.partitionColumns).toEqual(['vessel', 'date']);
  const { fields } = JSON.parse(metadata.schemaString);
  expect(fields.every((field: { nullable: boolean }) => field.nullable)).toBe(true);
});

test('columns are only ever added, behind the others', () => {
  const metadata = newTableMetadata(STATISTICS, 5);
  expect(extendedMetadata(metadata, STATISTICS)).toBeUndefined();
  const fewer = { ...STATISTICS, columns: STATISTICS.columns.slice(0, 3) };
  expect(extendedMetadata(metadata, fewer)).toBeUndefined();
  const more = { ...STATISTICS, columns: [...fewer.columns, { name: 'max', type: 'double' } as const] };
  const extended = extendedMetadata(metadata, more)!;
  expect(fieldsOf(extended)).toEqual([...fieldsOf(metadata), 'max double']);
  expect(extended.id).toBe(metadata.id);
});

test('another dataset, and a column of another type, are refused with advice', () => {
  const metadata = newTableMetadata(STATISTICS, 5);
  const other = { ...MEASUREMENTS, job: 'daily' };
  expect(() => extendedMetadata(metadata, other)).toThrow(RefusedError);
  expect(() => extendedMetadata(metadata, other)).toThrow(
    /daily: .*statistics, expected measurements; give .* a new name/,
  );
  const retyped = { ...STATISTICS, columns: [{ name: 'count', type: 'double' } as const] };
  expect(() => extendedMetadata(metadata, retyped)).toThrow(/count of type long, expected double/);
});

test.for([
  ['"name":"count"', '"name":"counted"', 'no column count'],
  ['"type":"date","nullable":true', '"type":"string","nullable":true', 'date string'],
  ['"type":"double","nullable":true', '"type":"double","nullable":false', 'mean double not null'],
])('columns that are not those of the files are found: %s became %s', ([from, to, found]) => {
  const metadata = newTableMetadata(STATISTICS, 5);
  expect(schemaFaults(metadata, STATISTICS.columns, 'x')).toEqual([]);
  const schemaString = metadata.schemaString.replace(from!, to!);
  expect(schemaFaults({ ...metadata, schemaString }, STATISTICS.columns, 'x')).toMatchObject([{ found }]);
});

test.for([
  ['protocol 3/7', { minReaderVersion: 3, minWriterVersion: 7 }, {}],
  ['a newer writer', { minReaderVersion: 1, minWriterVersion: 3 }, {}],
  ['other partitions', PROTOCOL, { partitionColumns: ['date'] }],
  ['a table that is only appended to', PROTOCOL, { configuration: { 'delta.appendOnly': 'true' } }],
  ['conditions on columns', PROTOCOL, { schemaString: '{"metadata":{"delta.invariants":"x"}}' }],
] as const)('a table with %s is left alone', ([, protocol, changed]) => {
  const metadata = newTableMetadata(MEASUREMENTS, 5);
  checkTable('job', PROTOCOL, metadata);
  expect(() => checkTable('job', protocol, { ...metadata, ...changed })).toThrow(FatalError);
});
