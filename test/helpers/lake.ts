/**
 * What a lake holds and what a service has, each by an independent way: the lake through DuckDB, the service
 * through plain `fetch` and text. Nothing of src's client, decoders or encoders is used here.
 */

import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { DuckDBValue } from '@duckdb/node-api';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'vitest';
import type { ApiVersion, Note, Receipt, VesselDay } from '../../src/core/model/index.ts';
import { LAKE_KEY, noteKey, objectKey, receiptKey } from '../../src/lake/keys.ts';

import type { RunningService } from '../../src/service/options.ts';

/** Every file of a lake by its key, in key order. Another export may be at work in the same lake. */
export async function lakeFiles(lakeDir: string): Promise<Map<string, Buffer>> {
  for (let tries = 1; ; tries++) {
    try {
      return await readFiles(lakeDir);
    } catch (error) {
      // What it has just removed was still in the listing: look again.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === 100) throw error;
    }
  }
}

async function readFiles(lakeDir: string): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const entries = await readdir(lakeDir, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const path of paths.sort()) files.set(relative(lakeDir, path), await readFile(path));
  return files;
}

/** The service of a lake has moved: all of its jobs are from this address, as `accept JOB --source` would have it. */
export async function acceptService(
  lakeDir: string,
  { baseUrl }: Pick<RunningService, 'baseUrl'>,
): Promise<void> {
  const path = join(lakeDir, LAKE_KEY);
  // An empty one takes any.
  if (!existsSync(path)) return;
  const file = JSON.parse(await readFile(path, 'utf8'));
  const sources = Object.fromEntries(Object.keys(file.sources).map((job) => [job, baseUrl]));
  await writeFile(path, JSON.stringify({ ...file, sources }));
}

/** The published object of a vessel-day, or undefined. */
export async function readObject(lakeDir: string, day: VesselDay): Promise<Buffer | undefined> {
  return (await readOptional(join(lakeDir, objectKey(day)))) ?? undefined;
}

export async function receiptOf(lakeDir: string, day: VesselDay): Promise<Receipt | undefined> {
  return parseOptional(await readOptional(join(lakeDir, receiptKey(day))));
}

export async function noteOf(lakeDir: string, day: VesselDay): Promise<Note | undefined> {
  return parseOptional(await readOptional(join(lakeDir, noteKey(day))));
}

/** Files that an attempt leaves while a day is unfinished: claims, and uploads under way. */
export async function unfinishedFiles(lakeDir: string): Promise<string[]> {
  const keys = [...(await lakeFiles(lakeDir)).keys()];
  return keys.filter(
    (key) =>
      !/^_(ledger|detail|notes|captures)\/|^_lake\.json$|\/_delta_log\//.test(key) &&
      !/\/date=[\d-]+\/(data|[0-9a-f]{16})\.parquet$/.test(key),
  );
}

async function readOptional(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parseOptional<T>(bytes: Buffer | undefined): T | undefined {
  return bytes === undefined ? undefined : (JSON.parse(bytes.toString('utf8')) as T);
}

let duck: Promise<DuckDBInstance> | undefined;

/** Rows of a query, by DuckDB. One instance serves a test file. */
export async function duckRows(sql: string): Promise<DuckDBValue[][]> {
  duck ??= DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await (await duck).connect();
  try {
    return (await connection.runAndReadAll(sql)).getRows();
  } finally {
    connection.closeSync();
  }
}

/** A reading as `<micros>\t<time series id>\t<name>\t<L|D|J><value>`; a double by its 64 bits. */
export type ReadingLine = string;

/** Readings of a Parquet object in the order of the file, and the rows of each of its row groups. */
export async function lakeReadings(
  path: string,
): Promise<{ lines: ReadingLine[]; rowGroupRows: number[]; schema: string[] }> {
  const file = `'${path.replaceAll("'", "''")}'`;
  const rows = await duckRows(
    `SELECT epoch_us(timestamp), time_series_id, id, long_value, double_value, json_value
     FROM read_parquet(${file}, file_row_number = true, hive_partitioning = false) ORDER BY file_row_number`,
  );
  const groups = await duckRows(
    `SELECT row_group_id, any_value(row_group_num_rows) FROM parquet_metadata(${file}) GROUP BY 1 ORDER BY 1`,
  );
  const schema = await duckRows(
    `SELECT column_name || ' ' || column_type FROM (DESCRIBE SELECT * FROM read_parquet(${file}, hive_partitioning = false))`,
  );
  return {
    lines: rows.map(([micros, series, name, long, double, json]) => {
      const values = [
        long === null ? [] : [`L${long}`],
        double === null ? [] : [`D${doubleBits(double as number)}`],
        json === null ? [] : [`J${json}`],
      ].flat();
      if (values.length !== 1) throw new Error(`${values.length} values in one row: ${values}`);
      return [micros, series, name, values[0]].join('\t');
    }),
    rowGroupRows: groups.map(([, count]) => Number(count)),
    schema: schema.map(([text]) => String(text)),
  };
}

function doubleBits(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes.toString('hex');
}

/** How the service is asked, for the truth to compare with. */
export interface TruthQuery {
  readonly version?: ApiVersion;
  /** UTC date. */
  readonly date: string;
  readonly expressions: readonly string[];
  /** True for a job over Parquet, which has milliseconds only. */
  readonly millis?: boolean;
}

type Credentials = Pick<RunningService, 'baseUrl' | 'authUrl' | 'clientId' | 'clientSecret'>;

/** The text of an answer of the service. */
export async function askService(
  service: Credentials,
  path: string,
  options: { version?: ApiVersion; body?: unknown } = {},
): Promise<string> {
  const token = await fetch(`${service.authUrl}/oauth2/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${service.clientId}:${service.clientSecret}`).toString('base64')}`,
    },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token } = (await token.json()) as { access_token: string };
  const answer = await fetch(`${service.baseUrl}${path}`, {
    method: options.body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${access_token}`,
      ...(options.version === undefined ? {} : { 'x-api-version': options.version }),
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
  return text;
}

const LINE = /^\{"id":"([^"]+)","timestamp":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z","value":(.*)\}$/;

/**
 * The readings that the service has in a day, as lines, sorted as the lake's row groups are: the raw NDJSON, taken
 * apart as text. `nameOf` gives the name of a time series id.
 */
export async function serviceReadings(
  service: Credentials,
  query: TruthQuery,
  nameOf: (timeSeriesId: string) => string | null,
): Promise<ReadingLine[]> {
  const day = Date.parse(`${query.date}T00:00:00Z`);
  const iso = (millis: number) => new Date(millis).toISOString().replace('Z', '000Z');
  // A little more than the day on either side: which end belongs to it is decided here, not by the service.
  const span = `from=${iso(day - 1_000)}&to=${iso(day + 86_401_000)}`;
  const text = await askService(service, `/measurements/query?${span}&format=ndjson&output_domain=id`, {
    body: query.expressions,
    ...(query.version === undefined ? {} : { version: query.version }),
  });
  const found: { micros: bigint; id: string; value: string }[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const match = LINE.exec(line);
    if (match === null) throw new Error(`not a line of the contract: ${line}`);
    const [, id, second, fraction, lexeme] = match as unknown as [string, string, string, string, string];
    let micros = BigInt(Date.parse(`${second}Z`)) * 1_000n + BigInt(fraction);
    if (micros < BigInt(day) * 1_000n || micros >= BigInt(day + 86_400_000) * 1_000n) continue;
    if (query.millis === true) micros -= micros % 1_000n;
    found.push({ micros, id, value: readLexeme(lexeme) });
  }
  return found.map(({ micros, id, value }) => [micros, id, nameOf(id), value].join('\t')).sort();
}

/** The kind and value that a lexeme means. */
function readLexeme(lexeme: string): string {
  if (/^-?\d+$/.test(lexeme)) {
    const long = BigInt(lexeme);
    const fits = long >= -(2n ** 63n) && long < 2n ** 63n;
    return fits && lexeme !== '-0' ? `L${long}` : `J${lexeme}`;
  }
  if (/^-?\d/.test(lexeme)) {
    const double = Number(lexeme);
    return Number.isFinite(double) ? `D${doubleBits(double)}` : `J${lexeme}`;
  }
  return `J${lexeme}`;
}

/** Time series id → name in the domain of the first expression that matches, by plain metadata requests. */
export async function serviceNames(
  service: Credentials,
  expressions: readonly string[],
  belongs: (imo: string) => boolean = () => true,
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const expression of expressions) {
    const [domain, ...levels] = expression.split('/');
    const path = levels.map((level) => encodeURIComponent(level).replaceAll('%2C', ',')).join('/');
    const text = await askService(service, `/metadata/${domain}/${path}`, { version: '2026-09-10' });
    for (const series of JSON.parse(text) as MetadataElement[])
      if (belongs(series.vessel.imo) && !names.has(series.timeSeriesId))
        names.set(series.timeSeriesId, series.id);
  }
  return names;
}

interface MetadataElement {
  readonly id: string;
  readonly timeSeriesId: string;
  readonly vessel: { readonly imo: string };
}

export interface ExactDay extends TruthQuery {
  readonly lakeDir: string;
  readonly day: VesselDay;
  /** The day had rows before: an empty one has an object then, of no rows, in a plain lake. */
  readonly emptied?: boolean;
}

/**
 * The published day holds every reading that the service has, and no other, in the order of the format; its receipt
 * says so. A day that always was empty has a receipt and no object. Answers the rows.
 */
export async function expectExactDay(
  service: Credentials,
  exact: Omit<ExactDay, 'date'>,
): Promise<ReadingLine[]> {
  const { lakeDir, day } = exact;
  const belongs = (imo: string) => `IMO${imo}` === day.vessel;
  const names = await serviceNames(service, exact.expressions, belongs);
  const truth = await serviceReadings(
    service,
    { ...exact, date: day.date, expressions: [...names.keys()].map((id) => `id/${id}`) },
    (id) => names.get(id)!,
  );
  const receipt = await receiptOf(lakeDir, day);
  expect(receipt, 'the receipt').toMatchObject({ rows: truth.length });
  if (truth.length === 0 && exact.emptied !== true) {
    expect(await readObject(lakeDir, day)).toBeUndefined();
    expect(receipt?.object).toBeNull();
    return [];
  }
  const { lines, rowGroupRows } = await lakeReadings(join(lakeDir, receipt?.object?.key ?? objectKey(day)));
  expect(differences(lines, truth)).toEqual({ missing: [], extra: [] });
  expect(orderFaults(lines, rowGroupRows)).toEqual([]);
  if (truth.length === 0) return [];
  const times = truth.map((line) => Number(line.split('\t')[0]));
  expect(receipt).toMatchObject({
    series: new Set(truth.map((line) => line.split('\t')[1])).size,
    firstTimestamp: isoMicros(Math.min(...times)),
    lastTimestamp: isoMicros(Math.max(...times)),
  });
  return lines;
}

function isoMicros(micros: number): string {
  const second = new Date(Math.floor(micros / 1_000_000) * 1_000).toISOString().slice(0, 19);
  return `${second}.${String(micros % 1_000_000).padStart(6, '0')}Z`;
}

/** The first lines that only one side has, counted as often as they stand there. */
export function differences(
  lake: readonly string[],
  truth: readonly string[],
): { missing: string[]; extra: string[] } {
  const balance = new Map<string, number>();
  for (const line of lake) balance.set(line, (balance.get(line) ?? 0) + 1);
  for (const line of truth) balance.set(line, (balance.get(line) ?? 0) - 1);
  const only = (sign: number) =>
    [...balance]
      .filter(([, count]) => count * sign > 0)
      .map(([line, count]) => `${Math.abs(count)}× ${line}`);
  return { missing: only(-1).slice(0, 5), extra: only(1).slice(0, 5) };
}

/** What is wrong with the order of a lake's rows; empty when nothing is. */
export function orderFaults(lines: readonly ReadingLine[], rowGroupRows: readonly number[]): string[] {
  const faults: string[] = [];
  let at = 0;
  let newest = Number.NEGATIVE_INFINITY;
  for (const [group, rows] of rowGroupRows.entries()) {
    const part = lines.slice(at, at + rows).map(splitLine);
    at += rows;
    const times = part.map(({ micros }) => micros);
    // A run of equal timestamps is never cut in two, so the groups' times do not even touch.
    if (Math.min(...times) <= newest) faults.push(`group ${group} begins before the one before it has ended`);
    newest = Math.max(...times);
    for (let i = 1; i < part.length; i++)
      if (compareRows(part[i - 1]!, part[i]!) > 0)
        faults.push(`group ${group}: row ${i} belongs before row ${i - 1}`);
  }
  if (at !== lines.length) faults.push(`the row groups hold ${at} rows of ${lines.length}`);
  return faults;
}

interface Row {
  readonly micros: number;
  readonly series: string;
  readonly value: string;
}

function splitLine(line: ReadingLine): Row {
  const [micros, series, , ...value] = line.split('\t');
  return { micros: Number(micros), series: series!, value: value.join('\t') };
}

const KIND_ORDER = 'LDJ';

/** Series, time, then value: longs as numbers, doubles by their bits as a signed integer, JSON texts by bytes. */
function compareRows(a: Row, b: Row): number {
  if (a.series !== b.series) return a.series < b.series ? -1 : 1;
  if (a.micros !== b.micros) return a.micros - b.micros;
  const kinds = [a, b].map(({ value }) => KIND_ORDER.indexOf(value[0]!));
  if (kinds[0] !== kinds[1]) return kinds[0]! - kinds[1]!;
  const [left, right] = [a.value.slice(1), b.value.slice(1)];
  if (kinds[0] === 2) return Buffer.compare(Buffer.from(left), Buffer.from(right));
  const number = (text: string) => (kinds[0] === 0 ? BigInt(text) : BigInt.asIntN(64, BigInt(`0x${text}`)));
  return number(left) < number(right) ? -1 : number(left) > number(right) ? 1 : 0;
}
