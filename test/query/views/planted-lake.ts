/** A lake as somebody else may have written it, or we before ids were looked at: a snapshot of any names, and readings of them. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { METADATA_COLUMNS } from '../../../src/parquet/write/columns.ts';
import { duckRows } from '../../helpers/lake.ts';
import { DATE, newLake, type TestLake, VESSEL } from '../../helpers/run.ts';

export interface PlantedSeries {
  readonly timeSeriesId: string;
  readonly shortName: string;
  /** What every other text of the snapshot says. */
  readonly text: string;
  readonly domains: Readonly<Record<string, unknown>>;
}

export const PLANTED_JOBS = {
  measurements: { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/*'] },
  metadata: { dataset: 'metadata', vessels: [VESSEL], select: ['flat/{vessel}/*'] },
};

export function plantedObject({ dir }: TestLake, job: keyof typeof PLANTED_JOBS): string {
  return join(dir, job, `vessel=${VESSEL}`, `date=${DATE}`, 'data.parquet');
}

/** Each series has one reading, at the day's first instant: its place in the list, from 1. */
export async function plantLake(series: readonly PlantedSeries[], made?: TestLake): Promise<TestLake> {
  const lake = made ?? (await newLake());
  const described = series.map(({ timeSeriesId, shortName, text, domains }) => {
    const texts = METADATA_COLUMNS.filter(({ type }) => type !== 'double').map(({ name }) => [name, text]);
    const own = { time_series_id: timeSeriesId, id: `${VESSEL}/${shortName}`, flat_short_name: shortName };
    return { ...Object.fromEntries(texts), ...own, domains_json: JSON.stringify(domains) };
  });
  const readings = series.map(({ timeSeriesId, shortName }, index) => ({
    ...{ timestamp: `${DATE}T00:00:00Z`, time_series_id: timeSeriesId, id: `${VESSEL}/${shortName}` },
    double_value: index + 1,
  }));
  await write(lake, 'metadata', described, [
    ...METADATA_COLUMNS.map(({ name, type }) => [name, type === 'double' ? 'DOUBLE' : 'VARCHAR'] as const),
  ]);
  await write(lake, 'measurements', readings, [
    ...[
      ['timestamp', 'TIMESTAMPTZ'] as const,
      ['time_series_id', 'VARCHAR'] as const,
      ['id', 'VARCHAR'] as const,
    ],
    ...[
      ['long_value', 'BIGINT'] as const,
      ['double_value', 'DOUBLE'] as const,
      ['json_value', 'VARCHAR'] as const,
    ],
  ]);
  return lake;
}

async function write(
  lake: TestLake,
  job: keyof typeof PLANTED_JOBS,
  rows: readonly object[],
  columns: readonly (readonly [name: string, type: string])[],
): Promise<void> {
  const path = plantedObject(lake, job);
  await mkdir(dirname(path), { recursive: true });
  const lines = join(lake.dir, `_${job}.ndjson`);
  await writeFile(lines, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const quoted = (text: string) => text.replaceAll("'", "''");
  const typed = columns.map(([name, type]) => `"${name}": '${type}'`);
  await duckRows(
    `COPY (FROM read_json('${quoted(lines)}', format = 'newline_delimited', maximum_object_size = 50000000, columns = {${typed.join()}})) TO '${quoted(path)}' (FORMAT parquet)`,
  );
}
