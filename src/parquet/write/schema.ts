import type { SchemaElement } from 'hyparquet';
import type { ChunkColumn } from './column-chunk.ts';
import type { Column } from './columns.ts';

/** The root of a file's schema. */
export function rootElement(columns: readonly Column[]): SchemaElement {
  return { name: 'schema', num_children: columns.length };
}

const PHYSICAL_TYPES = {
  timestamp: 'INT64',
  long: 'INT64',
  double: 'DOUBLE',
  text: 'BYTE_ARRAY',
  series: 'BYTE_ARRAY',
} as const;

/** A column as its chunks describe it. */
export function chunkColumn({ name, type, statistics }: Column): ChunkColumn {
  return { path: [name], type: PHYSICAL_TYPES[type], isIndexed: statistics === 'page' };
}

/** A column as Parquet's schema describes it. */
export function schemaElement({ name, type, required, fieldId }: Column): SchemaElement {
  const common: SchemaElement = {
    ...({ name, repetition_type: required ? 'REQUIRED' : 'OPTIONAL', field_id: fieldId } as const),
    type: PHYSICAL_TYPES[type],
  };
  switch (type) {
    case 'long':
    case 'double':
      return common;
    case 'timestamp':
      return {
        ...common,
        converted_type: 'TIMESTAMP_MICROS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
      };
    default:
      return { ...common, converted_type: 'UTF8', logical_type: { type: 'STRING' } };
  }
}
