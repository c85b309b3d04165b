/** The columns of a table in Delta's words, and how they may change: columns are added, and never taken away. */

import { RefusedError, shortName } from '../../core/errors.ts';
import type { Dataset } from '../../core/model/index.ts';
import { uniqueId } from '../../core/unique-id.ts';
import type { Protocol, TableMetadata } from './actions.ts';
import { damagedLog, PARQUET, unsupportedTable } from './parse-actions.ts';

/** Every reader can read it; a writer has to know no more than we do. */
export const PROTOCOL: Protocol = { minReaderVersion: 1, minWriterVersion: 2 };

const PARTITION_COLUMNS: readonly string[] = ['vessel', 'date'];

export interface DatasetColumn {
  readonly name: string;
  readonly type: 'timestamp' | 'long' | 'double' | 'text' | 'series';
}

interface TableField {
  readonly name: string;
  readonly type: 'timestamp' | 'long' | 'double' | 'string' | 'date';
  readonly isNullable?: boolean;
}

const TYPES = {
  ...({ timestamp: 'timestamp', long: 'long', double: 'double' } as const),
  ...({ text: 'string', series: 'string' } as const),
};
const FIELD_TYPES: readonly string[] = ['timestamp', 'long', 'double', 'string', 'date'];
const PARTITION_FIELDS: readonly TableField[] = [
  { name: 'vessel', type: 'string' },
  { name: 'date', type: 'date' },
];
/** Where a table says which dataset it holds; readers pass over it. */
const DATASET_KEY = 'vessel_export.dataset';

export interface TableContent {
  readonly job: string;
  readonly dataset: Dataset;
  readonly columns: readonly DatasetColumn[];
}

export function newTableMetadata(content: TableContent, nowMs: number): TableMetadata {
  const fields = [...content.columns.map(fieldOf), ...PARTITION_FIELDS];
  return {
    id: uniqueId(),
    name: content.job,
    format: PARQUET,
    schemaString: JSON.stringify({ type: 'struct', fields: fields.map(wireField) }),
    partitionColumns: PARTITION_COLUMNS,
    configuration: { [DATASET_KEY]: content.dataset },
    createdTime: nowMs,
  };
}

/** The metadata with columns of `content` added behind the others; undefined: it has them. Throws RefusedError `table-schema`. */
export function extendedMetadata(current: TableMetadata, content: TableContent): TableMetadata | undefined {
  const found = current.configuration[DATASET_KEY];
  if (found !== content.dataset)
    throw refused(content.job, `a table of ${shortName(found ?? 'no dataset of ours')}`, content.dataset);
  const fields = parseSchema(current.schemaString, content.job);
  const types = new Map(fields.map(({ name, type }) => [name, type]));
  const added: TableField[] = [];
  for (const column of content.columns) {
    const { name, type } = fieldOf(column);
    const present = types.get(name);
    if (present === undefined) added.push({ name, type });
    else if (present !== type) throw refused(content.job, `the column ${name} of type ${present}`, type);
  }
  if (added.length === 0) return undefined;
  // What we did not write of the schema stays as it is.
  const schema = JSON.parse(current.schemaString) as { fields: unknown[] };
  return {
    ...current,
    schemaString: JSON.stringify({ ...schema, fields: [...schema.fields, ...added.map(wireField)] }),
  };
}

/** The metadata of a table that has these columns for certain; what `current` says besides, and of a column, stays. */
export function tableMetadata(
  content: TableContent,
  nowMs: number,
  current: TableMetadata | undefined,
): TableMetadata {
  const metadata = newTableMetadata(content, nowMs);
  if (current === undefined) return metadata;
  const { format, partitionColumns } = metadata;
  const configuration = { ...current.configuration, ...metadata.configuration };
  const fields = new Map<string, object>();
  for (const field of rawFields(current)) fields.set(field.name, { ...field, nullable: true });
  for (const { name, type, ...rest } of rawFields(metadata))
    fields.set(name, { ...rest, ...fields.get(name), name, type });
  const schemaString = JSON.stringify({ type: 'struct', fields: [...fields.values()] });
  return { ...current, format, partitionColumns, configuration, schemaString };
}

/** As they stand there; none where that cannot be told. */
function rawFields({
  schemaString,
}: TableMetadata): readonly { readonly name: string; readonly type: unknown }[] {
  try {
    parseSchema(schemaString, '');
    return JSON.parse(schemaString).fields;
  } catch {
    return [];
  }
}

/** How the columns of a table differ from those of its files and folders. Throws DataError `damaged-log`. */
export function schemaFaults(
  { schemaString }: TableMetadata,
  columns: readonly DatasetColumn[],
  where: string,
): { readonly found: string; readonly expected: string }[] {
  const fields = new Map(parseSchema(schemaString, where).map((field) => [field.name, field]));
  const expected = [...columns.map(fieldOf), ...PARTITION_FIELDS];
  return expected.flatMap(({ name, type }) => {
    const found = fields.get(name);
    if (found?.type === type && found.isNullable) return [];
    const words = found && `${name} ${found.type}${found.isNullable ? '' : ' not null'}`;
    return [{ found: words ?? `no column ${name}`, expected: `${name} ${type}` }];
  });
}

export function parseSchema(schemaString: string, where: string): TableField[] {
  let schema: { type?: unknown; fields?: unknown };
  try {
    schema = JSON.parse(schemaString);
  } catch {
    throw damagedLog(where, 'a schemaString that is no JSON', 'the columns of the table');
  }
  if (schema?.type !== 'struct' || !Array.isArray(schema.fields))
    throw damagedLog(where, 'a schemaString that is no struct', 'the columns of the table');
  return schema.fields.map((field: { name?: unknown; type?: unknown; nullable?: unknown } | null) => {
    if (typeof field?.name !== 'string' || field.type === undefined)
      throw damagedLog(where, 'a column without name or type', 'columns with both');
    // Types that we do not write compare unequal to all of ours, and so are never written to.
    const isOurs = FIELD_TYPES.includes(field.type as string);
    const type = (isOurs ? field.type : shortName(JSON.stringify(field.type))) as TableField['type'];
    return { name: field.name, type, isNullable: field.nullable !== false };
  });
}

/** Throws FatalError `unsupported-table` where reading, or writing, needs more than we know. */
export function checkTable(job: string, protocol: Protocol, metadata: TableMetadata): void {
  const { minReaderVersion: reader, minWriterVersion: writer } = protocol;
  const { partitionColumns, configuration, format } = metadata;
  const must = (holds: boolean, found: string, expected: string) => {
    if (!holds) throw unsupportedTable(job, found, expected);
  };
  const { minReaderVersion, minWriterVersion } = PROTOCOL;
  const isKnown = reader <= minReaderVersion && writer <= minWriterVersion;
  must(isKnown, `protocol ${reader}/${writer}`, `${minReaderVersion}/${minWriterVersion}`);
  const { provider } = PARQUET;
  must(format.provider === provider, `files of the format ${shortName(format.provider)}`, provider);
  const [found, expected] = [partitionColumns.join(', '), PARTITION_COLUMNS.join(', ')];
  must(found === expected, `partitions by ${shortName(found)}`, expected);
  const isAppended = configuration['delta.appendOnly'] === 'true';
  must(!isAppended, 'delta.appendOnly', 'a table whose days can be replaced');
  const hasInvariants = metadata.schemaString.includes('delta.invariants');
  must(!hasInvariants, 'delta.invariants on a column', 'columns without them');
}

function fieldOf({ name, type }: DatasetColumn): TableField {
  return { name, type: TYPES[type] };
}

/** Nullable, whatever the files promise: a column that is required now may be missing in files to come. */
function wireField({ name, type }: TableField): object {
  return { name, type, nullable: true, metadata: {} };
}

function refused(job: string, found: string, expected: string): RefusedError {
  return new RefusedError(
    'table-schema',
    `${job}: its table cannot take these rows: found ${found}, expected ${expected}; give the changed job a new name, and so a table of its own`,
  );
}
