import { expect, test } from 'vitest';
import { DataError, FatalError } from '../../../src/core/errors.ts';
import { type Action, formatActions } from '../../../src/lake/table/actions.ts';
import { parseActions } from '../../../src/lake/table/parse-actions.ts';
import { addOf, removeOf } from './fixtures.ts';

const KEY = 'measurements/_delta_log/00000000000000000007.json';
const parse = (...lines: string[]) => parseActions(Buffer.from(lines.join('\n')), KEY);

test('what is written is read again, and says what the protocol asks for', () => {
  const add = addOf('a b%20ü?#', '2026-01-05');
  const actions: Action[] = [
    { commitInfo: { timestamp: 12, operation: 'WRITE', txnId: 'x' } },
    { protocol: { minReaderVersion: 1, minWriterVersion: 2 } },
    {
      metaData: {
        ...{ id: 'i', name: 'n', description: 'd', format: { provider: 'parquet', options: { a: 'b' } } },
        ...{ schemaString: '{}', partitionColumns: ['vessel', 'date'] },
        ...{ configuration: { a: 'b' }, createdTime: 7 },
      },
    },
    add,
    removeOf(addOf('old', '2026-01-05'), 99),
    { remove: { path: 'bare.parquet', deletionTimestamp: 3, dataChange: true } },
    { txn: { appId: 'a', version: 7, lastUpdated: 8 } },
    { add: { ...add.add, tags: { a: 'b', c: null } } },
  ];
  const text = formatActions(actions);
  expect(parse(text)).toEqual(actions);
  const wire = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  // A path is a relative URI: what is no character of one is encoded, and `=` and `/` stay.
  expect(wire[3].add.path).toBe('vessel=IMO9321483/date=2026-01-05/a%20b%2520%C3%BC%3F%23.parquet');
  expect(wire[3].add).toMatchObject({ size: 1001, modificationTime: 1_790_000_000_000, dataChange: true });
  expect(wire[4].remove).toMatchObject({ extendedFileMetadata: true, size: 1001, deletionTimestamp: 99 });
  expect(wire[5].remove).not.toHaveProperty('extendedFileMetadata');
  expect(wire[2].metaData.format).toEqual({ provider: 'parquet', options: { a: 'b' } });
  expect(wire[6].txn).toEqual({ appId: 'a', version: 7, lastUpdated: 8 });
});

test('unknown fields and actions are passed over, and lines may end as they like', () => {
  const found = parse(
    '{"domainMetadata":{"domain":"a"}}',
    '',
    '{"cdc":{"path":"x"}}\r',
    '{"add":{"path":"a%20b","partitionValues":{"vessel":null},"size":1,"modificationTime":2,"dataChange":true,"new":[1]}}',
  );
  const add = {
    path: 'a b',
    partitionValues: { vessel: null },
    size: 1,
    modificationTime: 2,
    dataChange: true,
  };
  expect(found).toEqual([{ add }]);
});

test.for([
  ['no JSON', '{"add":', /line 2: found no JSON .*expected an action/],
  ['no object', '[]', /line 2: found an action \[\], expected an object/],
  ['a path that is none', '{"add":{"path":7}}', /line 2: found add\.path 7, expected a text/],
  ['half an encoding', '{"remove":{"path":"a%2"}}', /found the path "a%2"/],
  ['a size below nothing', '{"add":{"path":"a","partitionValues":{},"size":-1}}', /add\.size -1/],
  ['a size beyond numbers', '{"add":{"path":"a","partitionValues":{},"size":1e30}}', /add\.size/],
  [
    'a partition that is no text',
    '{"add":{"path":"a","partitionValues":{"date":5}}}',
    /partitionValues \{"date":5\}/,
  ],
  ['columns that are no list', '{"metaData":{"id":"a","partitionColumns":"x"}}', /partitionColumns "x"/],
  ['a version that is none', '{"protocol":{"minReaderVersion":"1"}}', /protocol\.minReaderVersion/],
] as const)('%s is named with file and line', ([, line, message]) => {
  const read = () => parse('{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}', line);
  expect(read).toThrow(DataError);
  expect(read).toThrow(message);
  expect(read).toThrow(KEY);
});

test('a file with a deletion vector is none of ours, and no damage', () => {
  expect(() => parse('{"add":{"path":"a","deletionVector":{"x":1}}}')).toThrow(FatalError);
});

test('a line as long as a file is not parsed', () => {
  expect(() => parse(`{"a":"${'x'.repeat(5 << 20)}"}`)).toThrow(/characters, expected at most/);
});
