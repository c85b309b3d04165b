/** The columns of a checkpoint in the classic form. */
import type { SchemaElement } from '../../parquet/write/plain-file.ts';

const ACTION_KINDS = ['txn', 'add', 'remove', 'metaData', 'protocol'];

const leaf = (name: string, type: 'INT64' | 'INT32' | 'BOOLEAN'): SchemaElement[] => [
  { name, type, repetition_type: 'OPTIONAL' },
];
const text = (name: string, repetition: 'OPTIONAL' | 'REQUIRED' = 'OPTIONAL'): SchemaElement[] => [
  {
    ...{ name, type: 'BYTE_ARRAY', repetition_type: repetition },
    ...{ converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  },
];
const struct = (name: string, ...members: SchemaElement[][]): SchemaElement[] => [
  { name, repetition_type: 'OPTIONAL', num_children: members.length },
  ...members.flat(),
];
const repeated = (
  name: string,
  kind: 'LIST' | 'MAP',
  item: string,
  ...members: SchemaElement[][]
): SchemaElement[] => [
  {
    ...{ name, repetition_type: 'OPTIONAL', num_children: 1 },
    ...{ converted_type: kind, logical_type: { type: kind } },
  },
  { name: item, repetition_type: 'REPEATED', num_children: members.length },
  ...members.flat(),
];
const texts = (name: string): SchemaElement[] => repeated(name, 'LIST', 'list', text('element'));
const textMap = (name: string): SchemaElement[] =>
  repeated(name, 'MAP', 'key_value', text('key', 'REQUIRED'), text('value'));

/** All columns that the protocol has for 1/2, those that we do not use too: some readers ask for each. */
export const CHECKPOINT_SCHEMA: SchemaElement[] = [
  { name: 'schema', num_children: ACTION_KINDS.length },
  ...struct('txn', text('appId'), leaf('version', 'INT64'), leaf('lastUpdated', 'INT64')),
  ...struct(
    'add',
    text('path'),
    textMap('partitionValues'),
    leaf('size', 'INT64'),
    leaf('modificationTime', 'INT64'),
    leaf('dataChange', 'BOOLEAN'),
    text('stats'),
    textMap('tags'),
  ),
  ...struct(
    'remove',
    text('path'),
    leaf('deletionTimestamp', 'INT64'),
    leaf('dataChange', 'BOOLEAN'),
    leaf('extendedFileMetadata', 'BOOLEAN'),
    textMap('partitionValues'),
    leaf('size', 'INT64'),
  ),
  ...struct(
    'metaData',
    text('id'),
    text('name'),
    text('description'),
    struct('format', text('provider'), textMap('options')),
    text('schemaString'),
    texts('partitionColumns'),
    textMap('configuration'),
    leaf('createdTime', 'INT64'),
  ),
  ...struct('protocol', leaf('minReaderVersion', 'INT32'), leaf('minWriterVersion', 'INT32')),
];
