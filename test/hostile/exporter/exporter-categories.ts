/** Everything that is sent at the exporter. */
import type { Category } from '../input.ts';
import { GARBLED, HTTP, PACKING } from './answers.ts';
import type { ExporterFace } from './exporter-face.ts';
import { FILES, LAKES } from './lake.ts';
import { PARQUET_BODIES } from './parquet.ts';
import { IN_CLEAR, REDIS_STATES } from './places.ts';
import { SQL_NAMES, SQL_TYPED } from './sql.ts';
import { NAMES_CATEGORY, TOKEN_ANSWERS, VESSELS } from './tokens.ts';
import { STATISTICS, VALUES_CATEGORY } from './values.ts';

export const EXPORTER_CATEGORIES: readonly Category<ExporterFace>[] = [
  GARBLED,
  PACKING,
  HTTP,
  TOKEN_ANSWERS,
  NAMES_CATEGORY,
  VESSELS,
  VALUES_CATEGORY,
  STATISTICS,
  PARQUET_BODIES,
  LAKES,
  FILES,
  SQL_NAMES,
  SQL_TYPED,
  IN_CLEAR,
  REDIS_STATES,
];
