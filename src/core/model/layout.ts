/** How a lake is read: as plain Hive Parquet, or as a Delta table for each job. */
export const LAYOUTS = ['plain', 'delta'] as const;
export type Layout = (typeof LAYOUTS)[number];
