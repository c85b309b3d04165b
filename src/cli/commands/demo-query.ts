/** The demo's last step: DuckDB reads the lake that was just written, as any warehouse would. */
import { tmpdir } from 'node:os';
import { asPattern, openLockedDuckDb, pathLiteral } from '../../core/duckdb/locked.ts';
import type { Sql } from '../../core/duckdb/sql-text.ts';
import { duckdbText, joinSql, sql } from '../../core/duckdb/sql-text.ts';
import { openTempFolder } from '../../core/process/temp-folder.ts';

/** What a fleet engineer would ask first: how far, how fast, at what power, with how much fuel; of readings with their vessel and date. */
export const fleetQuery = (rows: Sql) => sql`
  WITH mean AS (
    SELECT vessel, date, split_part(id, '/', 2) AS tag,
           avg(coalesce(double_value, long_value)) AS value
    FROM ${rows}
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

/** Every object of a plain lake. */
export function globbed(lake: string): Sql {
  return sql`read_parquet(${duckdbText.literal(`${asPattern(lake)}/measurements/*/*/*.parquet`)},
                      hive_partitioning = true)`;
}

function listed(files: readonly string[]): Sql {
  return sql`read_parquet([${joinSql(files.map(pathLiteral), sql`, `)}], hive_partitioning = true)`;
}

/** Heading and rows of the fleet query on a lake folder, or on these files of it. */
export async function queryFleet(
  lakeDir: string,
  files: readonly string[] | undefined,
): Promise<(string | number)[][]> {
  const folder = await openTempFolder(tmpdir(), 'demo');
  const duckdb = await openLockedDuckDb({
    ...{ readableDirs: [lakeDir], tempDir: folder.path, threads: '2', memoryLimit: '1GB', keepsOrder: true },
  });
  const connection = await duckdb.connect();
  try {
    const rows = await connection.stream(fleetQuery(files === undefined ? globbed(lakeDir) : listed(files)));
    const cells = (await rows.getRows()).map((row) =>
      row.map((cell) => (typeof cell === 'number' ? cell : String(cell ?? '-'))),
    );
    return [rows.columnNames(), ...cells];
  } finally {
    connection.closeSync();
    duckdb.closeSync();
    await folder.remove();
  }
}
