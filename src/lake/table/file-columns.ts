/** What a Parquet file says of its own columns, for files that join a table long after they were written. */
import type { SchemaElement } from 'hyparquet';
import { parquetMetadata } from 'hyparquet/src/metadata.js';
import { DataError, messageOf } from '../../core/errors.ts';
import type { DatasetColumn } from './schema.ts';

/** The columns of a file, from bytes that end with its footer. Throws DataError `damaged-file` naming `key`. */
export function fileColumns(footer: Uint8Array, key: string): DatasetColumn[] {
  let schema: readonly SchemaElement[];
  try {
    ({ schema } = parquetMetadata(Uint8Array.from(footer).buffer, { geoparquet: false }));
  } catch (error) {
    throw new DataError(
      'damaged-file',
      `${key}: found no Parquet footer (${messageOf(error)}), expected one; verify, and export the day again`,
    );
  }
  return columnsOf(schema, key);
}

/** The same from the schema of a footer that is read. */
export function columnsOf(schema: readonly SchemaElement[], key: string): DatasetColumn[] {
  return schema.slice(1).map((element) => ({ name: element.name, type: typeOf(element, key) }));
}

function typeOf({ name, type, logical_type: logical }: SchemaElement, key: string): DatasetColumn['type'] {
  if (logical?.type === 'TIMESTAMP' && logical.unit === 'MICROS') return 'timestamp';
  if (logical?.type === 'STRING') return 'text';
  if (type === 'DOUBLE') return 'double';
  if (type === 'INT64' && logical === undefined) return 'long';
  throw new DataError(
    'damaged-file',
    `${key}: found the column ${name} of type ${type}, expected one that vessel-export writes; export the day again`,
  );
}
