import type { SchemaElement } from 'hyparquet';
import type { Column } from './columns.ts';

/** The root of a file's schema. */
export function rootElement(columns: readonly Column[]): SchemaElement {
  return { name: 'schema', num_children: columns.length };
}

/** A column as Parquet's schema describes it. */
export function schemaElement({ name, type, required, fieldId }: Column): SchemaElement {
  const common = { name, repetition_type: required ? 'REQUIRED' : 'OPTIONAL', field_id: fieldId } as const;
  switch (type) {
    case 'long':
      return { ...common, type: 'INT64' };
    case 'double':
      return { ...common, type: 'DOUBLE' };
    case 'timestamp':
      return {
        ...common,
        type: 'INT64',
        converted_type: 'TIMESTAMP_MICROS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
      };
    default:
      return { ...common, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
  }
}
