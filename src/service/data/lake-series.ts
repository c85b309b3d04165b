/** The series of a lake, from its metadata snapshots and, for vessels without any, from the readings. */
import { parquetRows } from '../../core/duckdb/locked.ts';
import { sql } from '../../core/duckdb/sql-text.ts';
import { OTHER_FIELDS } from '../../core/model/index.ts';
import type { EngineConnection } from './engine.ts';
import type { LakeFile } from './lake-files.ts';
import { namesInDomains, type SeriesRecord } from './source.ts';

type Row = Readonly<Record<string, unknown>>;

/** By ascending time series id. The newest snapshot that knows a series describes it. */
export async function readSeries(
  { query }: EngineConnection,
  metadata: readonly LakeFile[],
  measurements: readonly LakeFile[],
): Promise<SeriesRecord[]> {
  const series = new Map<string, SeriesRecord>();
  const oldestFirst = [...metadata].sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0));
  for (const { path, vessel } of oldestFirst) {
    const rows = await query((connection) => connection.rowObjects(sql`SELECT * FROM ${parquetRows(path)}`));
    for (const row of rows) {
      const record = recordOf(row as Row, vessel);
      series.set(record.timeSeriesId, record);
    }
  }
  for (const { path, vessel } of newestPerVessel(measurements)) {
    const rows = await query((connection) =>
      connection.rows(sql`SELECT DISTINCT time_series_id FROM ${parquetRows(path)}`),
    );
    for (const [id] of rows)
      if (!series.has(String(id))) series.set(String(id), namelessRecord(String(id), vessel));
  }
  return [...series.values()].sort((a, b) => (a.timeSeriesId < b.timeSeriesId ? -1 : 1));
}

function newestPerVessel(files: readonly LakeFile[]): LakeFile[] {
  const groups = Map.groupBy(files, ({ job, vessel }) => `${job}/${vessel}`);
  return [...groups.values()].map((own) => own.reduce((a, b) => (a.date < b.date ? b : a)));
}

function namelessRecord(timeSeriesId: string, vessel: string): SeriesRecord {
  const description = { vesselImo: vessel.replace(/^IMO/, ''), domainsJson: '{}' };
  return { timeSeriesId, vessel, ...namesInDomains(timeSeriesId, {}), description };
}

function recordOf(row: Row, vessel: string): SeriesRecord {
  const timeSeriesId = String(row.time_series_id);
  const { domainsJson, others } = splitOthers(text(row.domains_json) ?? '{}');
  const domains = JSON.parse(domainsJson) as Record<string, unknown>;
  const naming = namesInDomains(timeSeriesId, domains);
  const old = Object.values(domains).some((entry) => typeof entry === 'string');
  return {
    timeSeriesId,
    vessel,
    ...naming,
    description: {
      source: text(row.source),
      dataProvider: text(row.data_provider),
      unitOfMeasure: text(row.unit_of_measure),
      scale: number(row.scale),
      vesselName: text(row.vessel_name),
      vesselImo: text(row.vessel_imo),
      name: text(row.maker_name),
      text: text(row.maker_description),
      rangeHigh: number(row.maker_range_high),
      rangeLow: number(row.maker_range_low),
      domainsJson: old ? domainsOf(naming.names) : domainsJson,
      ...(others && { others }),
    },
  };
}

/** The domains as they were, verbatim, and what stands behind them: fields that have no column. */
function splitOthers(json: string) {
  const key = `"${OTHER_FIELDS}":`;
  // The key may stand in a text too: the right one is followed by an object that ends where the domains do.
  for (let at = json.indexOf(key); at >= 0; at = json.indexOf(key, at + 1)) {
    try {
      const others = JSON.parse(json.slice(at + key.length, -1)) as Record<string, unknown>;
      const domainsJson = `${json.slice(0, at).replace(/,$/, '')}}`;
      JSON.parse(domainsJson);
      return { domainsJson, others };
    } catch {}
  }
  return { domainsJson: json, others: undefined };
}

/** A `domains` object of ids alone. */
function domainsOf(names: ReadonlyMap<string, string>): string {
  const entries = [...names].filter(([domain]) => domain !== 'id').map(([domain, id]) => [domain, { id }]);
  return JSON.stringify(Object.fromEntries(entries));
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
