/** The demo's last step: DuckDB reads the lake that was just written, as any warehouse would. */
import type { DuckDBConnection } from '@duckdb/node-api';

/** What a fleet engineer would ask first: how far, how fast, at what power, with how much fuel. */
const FLEET_QUERY = `
  WITH mean AS (
    SELECT vessel, date, split_part(id, '/', 2) AS tag,
           avg(coalesce(double_value, long_value)) AS value
    FROM {rows}
    GROUP BY ALL
  ), day AS (
    SELECT vessel, date,
           max(value) FILTER (tag = 'Speed Over Ground') AS speed_kn,
           max(value) FILTER (tag = 'Shaft Power') AS power_kw,
           max(value) FILTER (tag = 'ME Fuel Oil Consumption') AS fuel_kg_per_h
    FROM mean GROUP BY ALL
  )
  SELECT vessel, date,
         round(24 * speed_kn, 0) + 0 AS distance_nm,
         round(speed_kn, 1) + 0 AS speed_kn,
         round(power_kw, 0) AS power_kw,
         round(24 * fuel_kg_per_h / 1000, 1) AS fuel_t,
         CASE WHEN speed_kn > 1 THEN round(fuel_kg_per_h / speed_kn, 1) END
           AS kg_per_nm
  FROM day ORDER BY vessel, date`;

/** The query over a relation of readings with their vessel and date. */
export function fleetQuery(rows: string): string {
  return FLEET_QUERY.replace('{rows}', () => rows);
}

/** Every object of a plain lake. */
export function globbed(lake: string): string {
  return `read_parquet('${lake.replaceAll("'", "''")}/measurements/*/*/*.parquet',
                      hive_partitioning = true)`;
}

function listed(files: readonly string[]): string {
  const paths = files.map((path) => `'${path.replaceAll("'", "''")}'`);
  return `read_parquet([${paths.join(', ')}], hive_partitioning = true)`;
}

/** Heading and rows of the fleet query on a lake folder, or on these files of it. */
export async function queryFleet(
  lakeDir: string,
  files: readonly string[] | undefined,
): Promise<(string | number)[][]> {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    return await readTable(connection, fleetQuery(files === undefined ? globbed(lakeDir) : listed(files)));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function readTable(connection: DuckDBConnection, sql: string): Promise<(string | number)[][]> {
  const reader = await connection.runAndReadAll(sql);
  const rows = reader
    .getRows()
    .map((row) => row.map((cell) => (typeof cell === 'number' ? cell : String(cell ?? '-'))));
  return [reader.columnNames(), ...rows];
}
