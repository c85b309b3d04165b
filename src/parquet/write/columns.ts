import type { SchemaElement } from 'hyparquet';
import { AGGREGATIONS, type Aggregation, aggregationColumns, type Dataset } from '../../core/model/index.ts';

/**
 * The columns of the three datasets. A change here changes the bytes of every published day: raise `FORMAT_VERSION` with it.
 *
 * All was chosen by measurement. The bounds of a column chunk prune hardly anything, for each row group spans all series; those of pages do
 * where the column is sorted. DELTA_BINARY_PACKED halves timestamps; doubles that are measured are smaller and faster PLAIN, those that
 * repeat by dictionary, and BYTE_STREAM_SPLIT makes readings with few decimals half as large again.
 */

/** Constant, without a version: the same data give the same bytes whoever wrote them. */
export const CREATED_BY = 'vessel-export';

export const TIMESTAMP = 'timestamp';

export type ColumnType =
  | 'timestamp'
  | 'long'
  | 'double'
  /** UTF-8 text, each value its own. */
  | 'text'
  /** UTF-8 text that belongs to the row's series; every such column of a row group shares one index. */
  | 'series';

export interface Column {
  readonly name: string;
  /** Parquet's field id: the same for a name for ever, so that Iceberg and Delta can map columns by it. */
  readonly fieldId: number;
  readonly type: ColumnType;
  readonly required: boolean;
  readonly statistics: 'chunk' | 'page';
  readonly dictionary: boolean;
}

type Unnumbered = Omit<Column, 'fieldId'>;

function cells(name: string, type: 'timestamp' | 'long' | 'double', required = false): Unnumbered {
  const isTime = type === 'timestamp';
  return { name, type, required, statistics: isTime ? 'page' : 'chunk', dictionary: !isTime };
}

function text(name: string, dictionary: boolean): Unnumbered {
  return { name, type: 'text', required: false, statistics: 'chunk', dictionary };
}

const SERIES_COLUMNS: readonly Unnumbered[] = [
  { name: 'time_series_id', type: 'series', required: true, statistics: 'page', dictionary: true },
  { name: 'id', type: 'series', required: false, statistics: 'chunk', dictionary: true },
];

const numbered = (columns: readonly Unnumbered[], from = 1): Column[] =>
  columns.map((column, i) => ({ ...column, fieldId: from + i }));

export const MEASUREMENT_COLUMNS: readonly Column[] = numbered([
  cells(TIMESTAMP, 'timestamp', true),
  ...SERIES_COLUMNS,
  cells('long_value', 'long'),
  cells('double_value', 'double'),
  text('json_value', false),
]);

const repeatedTexts = (...names: readonly string[]) => names.map((name) => text(name, true));

/** New ones go to the end: the numbers of the others stay. */
export const METADATA_COLUMNS: readonly Column[] = numbered(
  [
    ...SERIES_COLUMNS,
    ...repeatedTexts('source', 'data_provider', 'unit_of_measure'),
    cells('scale', 'double'),
    ...repeatedTexts('vessel_name', 'vessel_imo'),
    ...repeatedTexts('jsmea_id', 'jsmea_naming_rule', 'jsmea_category', 'jsmea_subcategory', 'jsmea_content'),
    ...repeatedTexts('jsmea_item', 'flat_id', 'flat_short_name'),
    ...repeatedTexts('maker_id', 'maker_name', 'maker_description'),
    cells('maker_range_high', 'double'),
    cells('maker_range_low', 'double'),
    text('domains_json', false),
  ],
  2,
);

/** All columns that a job of statistics may have; its own are those of its aggregations, with the same numbers. */
const STATISTICS_COLUMNS: readonly Column[] = numbered([
  cells(TIMESTAMP, 'timestamp', true),
  ...SERIES_COLUMNS,
  ...AGGREGATIONS.flatMap(aggregationColumns).map(({ name, type }) =>
    type === 'text' ? text(name, false) : cells(name, type),
  ),
]);
const STATISTICS_BY_NAME = new Map(STATISTICS_COLUMNS.map((column) => [column.name, column]));

export function statisticsColumns(aggregations: readonly Aggregation[]): readonly Column[] {
  const own = aggregations.flatMap(aggregationColumns).map(({ name }) => name);
  return [TIMESTAMP, ...SERIES_COLUMNS.map(({ name }) => name), ...own].map(
    (name) => STATISTICS_BY_NAME.get(name)!,
  );
}

/** The columns of what a job exports, in the order of its files. */
export function datasetColumns({
  dataset,
  aggregations,
}: {
  readonly dataset: Dataset;
  /** Statistics only. */
  readonly aggregations?: readonly Aggregation[] | undefined;
}): readonly Column[] {
  if (dataset === 'measurements') return MEASUREMENT_COLUMNS;
  return dataset === 'statistics' ? statisticsColumns(aggregations ?? []) : METADATA_COLUMNS;
}

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

/** What the footer says of a column chunk whatever its values are. */
export interface ChunkColumn {
  readonly path: readonly string[];
  readonly type: NonNullable<SchemaElement['type']>;
  readonly isIndexed: boolean;
}

export function chunkColumn({ name, type, statistics }: Column): ChunkColumn {
  return { path: [name], type: PHYSICAL_TYPES[type], isIndexed: statistics === 'page' };
}

export function schemaElement({ name, type, required, fieldId }: Column): SchemaElement {
  const common: SchemaElement = {
    ...({ name, repetition_type: required ? 'REQUIRED' : 'OPTIONAL', field_id: fieldId } as const),
    type: PHYSICAL_TYPES[type],
  };
  if (type === 'long' || type === 'double') return common;
  if (type !== 'timestamp') return { ...common, converted_type: 'UTF8', logical_type: { type: 'STRING' } };
  const logical_type = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' } as const;
  return { ...common, converted_type: 'TIMESTAMP_MICROS', logical_type };
}
