/** Writes small lakes in the layout and schemas of an export, with DuckDB rather than with our own encoder. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

/** A reading with the JSON text of its value: `5` is long, `5.0` double, anything else JSON. */
export interface LakeReading {
  readonly timeSeriesId: string;
  readonly timestamp: string;
  readonly valueText: string;
}

/** One line of NDJSON as a reading, the value's text kept as it is. */
export function readingOfLine(line: string): LakeReading {
  const match = /^\{"id":"([^"]+)","timestamp":"([^"]+)","value":(.*)\}$/.exec(line);
  if (!match) throw new Error(`not a reading: ${line}`);
  return { timeSeriesId: match[1]!, timestamp: match[2]!, valueText: match[3]! };
}

export interface LakeDay {
  readonly job: string;
  readonly vessel: string;
  readonly date: string;
}

export interface TestLake {
  writeMeasurements(day: LakeDay, readings: readonly LakeReading[]): Promise<void>;
  /** `elements`: JSON texts of metadata objects in the shape of version 2026-09-10. */
  writeMetadata(day: LakeDay, elements: readonly string[]): Promise<void>;
  close(): void;
}

export async function createTestLake(dir: string): Promise<TestLake> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  let inputs = 0;

  async function copy(
    day: LakeDay,
    lines: readonly object[],
    columns: string,
    select: string,
  ): Promise<void> {
    const input = join(dir, `input-${++inputs}.ndjson`);
    writeFileSync(input, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const folder = join(dir, day.job, `vessel=${day.vessel}`, `date=${day.date}`);
    mkdirSync(folder, { recursive: true });
    await connection.run(
      `COPY (SELECT ${select} FROM read_json('${input}', format='newline_delimited', columns={${columns}}))
       TO '${join(folder, 'data.parquet')}' (FORMAT parquet, ROW_GROUP_SIZE 4096)`,
    );
  }

  return {
    writeMeasurements: (day, readings) =>
      copy(
        day,
        readings.map(({ timeSeriesId, timestamp, valueText }) => ({ timeSeriesId, timestamp, valueText })),
        "timeSeriesId: 'VARCHAR', timestamp: 'VARCHAR', valueText: 'VARCHAR'",
        `CAST(timestamp AS TIMESTAMPTZ) AS timestamp, timeSeriesId AS time_series_id, timeSeriesId AS id,
         CASE WHEN regexp_full_match(valueText, '-?[0-9]+') THEN CAST(valueText AS BIGINT) END AS long_value,
         CASE WHEN regexp_full_match(valueText, '-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?')
               AND NOT regexp_full_match(valueText, '-?[0-9]+') THEN CAST(valueText AS DOUBLE) END AS double_value,
         CASE WHEN NOT regexp_full_match(valueText, '-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?')
              THEN valueText END AS json_value`,
      ),
    writeMetadata: (day, elements) =>
      copy(
        day,
        elements.map((element) => ({
          ...JSON.parse(element),
          domainsJson: /"domains":(\{.*\})\}$/.exec(element.replace(/\n\s*/g, ''))?.[1],
        })),
        `id: 'VARCHAR', timeSeriesId: 'VARCHAR', source: 'VARCHAR', dataProvider: 'VARCHAR', unitOfMeasure: 'VARCHAR',
         scale: 'DOUBLE', vessel: 'STRUCT(name VARCHAR, imo VARCHAR)', domainsJson: 'VARCHAR',
         domains: 'STRUCT(maker STRUCT(name VARCHAR, description VARCHAR, rangeHigh DOUBLE, rangeLow DOUBLE))'`,
        `timeSeriesId AS time_series_id, id, source, dataProvider AS data_provider, unitOfMeasure AS unit_of_measure,
         scale, vessel.name AS vessel_name, vessel.imo AS vessel_imo, domains.maker.name AS maker_name,
         domains.maker.description AS maker_description, domains.maker.rangeHigh AS maker_range_high,
         domains.maker.rangeLow AS maker_range_low, domainsJson AS domains_json`,
      ),
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}
