/** What others have written into a table: it is kept, or the table is left alone and said to be theirs. */
import { parquetMetadata } from 'hyparquet';
import { beforeEach, expect, test } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import { openTable, type Table } from '../../../src/lake/table/table.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';
import { collect, expectFault, keysOf } from '../../store/store-suite.ts';
import {
  addOf,
  append,
  LOG_FOLDER,
  MEASUREMENTS,
  newTable,
  placeOf,
  removeOf,
  type TablePlace,
} from './fixtures.ts';

const DATE = '2026-01-05';
let store: ObjectStore;
let place: TablePlace;
let table: Table;
beforeEach(async () => {
  store = createMemoryStore();
  place = placeOf(store);
  table = await newTable(place);
  await append(table, addOf('a', DATE));
});

const versionName = (version: number) => String(version).padStart(20, '0');
const keyOf = (version: number, end = '.json') => `${LOG_FOLDER}${versionName(version)}${end}`;

/** Another writer's entry, behind what is there. */
async function writeEntry(version: number, ...lines: object[]): Promise<void> {
  await store.put(keyOf(version), Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
}

test('comments, transactions, tags and settings of others survive checkpoints and new columns', async () => {
  const { schemaString, ...metadata } = table.metadata!;
  const schema = JSON.parse(schemaString);
  schema.fields[0].metadata = { comment: 'when' };
  const { createdTime, ...rest } = metadata;
  const wire = { ...rest, createdTime, description: 'of the fleet', schemaString: JSON.stringify(schema) };
  const [tagged] = [addOf('tagged', '2026-01-06')];
  await writeEntry(
    2,
    { metaData: { ...wire, configuration: { ...metadata.configuration, 'theirs.setting': 'x' } } },
    { txn: { appId: 'loader', version: 9, lastUpdated: 1 } },
    { txn: { appId: 'other', version: 3 } },
    { txn: { appId: 'loader', version: 10, lastUpdated: 2 } },
  );
  await table.refresh();
  await append(table, { add: { ...tagged!.add, tags: { colour: 'red', none: null } } });
  await append(table, removeOf(addOf('a', DATE), place.clock.nowMs()));
  for (let round = 0; round < 2; round++) {
    await table.checkpoint();
    for (let version = 0; version <= table.version; version++) await store.remove(keyOf(version));
    table = await openTable(place);
    const columns = [...MEASUREMENTS.columns, { name: `more${round}`, type: 'double' as const }];
    await append(table, ...table.preparation({ ...MEASUREMENTS, columns }));
  }
  expect(table.metadata).toMatchObject({
    ...{ id: metadata.id, description: 'of the fleet', createdTime },
    configuration: { 'vessel_export.dataset': 'measurements', 'theirs.setting': 'x' },
  });
  expect(JSON.parse(table.metadata!.schemaString).fields).toMatchObject([
    { name: 'timestamp', metadata: { comment: 'when' } },
    ...[{}, {}, {}, {}],
    ...[{ name: 'more0' }, { name: 'more1' }],
  ]);
  const files = await collect(table.files());
  expect(files.map(({ path, tags }) => [path, tags])).toEqual([
    [tagged!.add.path, { colour: 'red', none: null }],
  ]);
  await table.checkpoint();
  const { schema: columns } = parquetMetadata(
    (await store.get(keyOf(table.version, '.checkpoint.parquet')))!.bytes,
  );
  expect(columns.filter(({ name }) => name === 'tags')).toHaveLength(1);
});

const UPGRADE = {
  protocol: {
    ...{ minReaderVersion: 3, minWriterVersion: 7 },
    ...{ readerFeatures: ['deletionVectors'], writerFeatures: ['deletionVectors'] },
  },
};
const DELETED = {
  add: {
    ...{ path: addOf('a', DATE).add.path, partitionValues: { vessel: 'IMO9321483', date: DATE }, size: 1 },
    ...{ modificationTime: 1, dataChange: true },
    deletionVector: { storageType: 'u', pathOrInlineDv: 'ab', offset: 1, sizeInBytes: 36, cardinality: 6 },
  },
};

test.for([
  ['has deletion vectors', () => writeEntry(2, UPGRADE, DELETED)],
  ['has deletion vectors, told before the upgrade', () => writeEntry(2, DELETED, UPGRADE)],
  ['maps columns', () => writeEntry(2, { protocol: { minReaderVersion: 2, minWriterVersion: 5 } })],
  ['asks more of writers', () => writeEntry(2, { protocol: { minReaderVersion: 1, minWriterVersion: 3 } })],
  [
    'was upgraded before an entry that we cannot read',
    async () => {
      await writeEntry(2, UPGRADE);
      await writeEntry(3, { add: { path: 7 } });
    },
  ],
  [
    'has checkpoints of a newer form, and no entries before them',
    async () => {
      await writeEntry(2, UPGRADE);
      await store.put(keyOf(2, '.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json'), Buffer.from('{}'));
      for (const version of [0, 1]) await store.remove(keyOf(version));
    },
  ],
  [
    'has files of another format',
    async () => {
      const { schemaString, partitionColumns, configuration, id } = table.metadata!;
      const format = { provider: 'orc', options: {} };
      await writeEntry(2, { metaData: { id, format, schemaString, partitionColumns, configuration } });
    },
  ],
] as const)('a table that %s is not called damaged', async ([, change]) => {
  await change();
  for (const look of [() => openTable(place), () => table.refresh()]) {
    const fault = await expectFault(look, FatalError, 'unsupported-table');
    expect(fault.message).toContain('changed by another writer');
  }
  // Whoever goes on after that writes nothing to it.
  const before = await keysOf(store, LOG_FOLDER);
  expect(await table.commit(table.version, 'WRITE', [addOf('b', DATE)])).toBe(false);
  await expectFault(() => table.refresh(), FatalError, 'unsupported-table');
  expect(await keysOf(store, LOG_FOLDER)).toEqual(before);
});
