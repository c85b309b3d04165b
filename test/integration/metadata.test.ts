/** The metadata dataset: what the service says today, a snapshot only when it has changed, never a made-up past. */

import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ApiVersion, Clock } from '../../src/core/model/index.ts';
import { systemClock } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import {
  acceptService,
  askService,
  duckRows,
  lakeFiles,
  readObject,
  receiptOf,
  unfinishedFiles,
} from '../helpers/lake.ts';
import type { JobFile, RunExportOptions, TestService } from '../helpers/run.ts';
import { mustExport, newLake, serviceForTests, serviceOfTest, VESSEL } from '../helpers/run.ts';

const JOBS: Record<string, JobFile> = {
  metadata: { dataset: 'metadata', select: ['flat/{vessel}/*', 'jsmea/{vessel}/*'] },
};
const day = (date: string) => ({ job: 'metadata', vessel: VESSEL, date });

const service = await serviceForTests();

/** Noon of a date; time goes on from there. */
function clockAt(date: string): Clock {
  const shift = Date.parse(`${date}T12:00:00Z`) - Date.now();
  return { ...systemClock, nowMs: () => Date.now() + shift };
}

/** Capture on a date. */
function capture(lakeUrl: string, date: string, more: Partial<RunExportOptions> = {}) {
  return mustExport({
    service,
    lakeUrl,
    jobs: JOBS,
    ...more,
    args: { from: date, ...more.args },
    overrides: { clock: clockAt(date), ...more.overrides },
  });
}

interface Element {
  readonly id: string;
  readonly timeSeriesId: string;
  readonly source?: string;
  readonly dataProvider?: string;
  readonly unitOfMeasure?: string;
  readonly scale?: number;
  readonly vessel: { readonly name: string; readonly imo: string };
  readonly domains: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
}

interface Found {
  readonly element: Element;
  /** The text of `domains`. */
  readonly domains: string;
}

/** Elements of version 2026-09-10, each series once. */
async function elements(from: TestService): Promise<Map<string, Found>> {
  const found = new Map<string, Found>();
  for (const path of [`flat/${VESSEL}/*`, `jsmea/${VESSEL}/*`]) {
    const text = await askService(from, `/metadata/${path}?format=ndjson`, { version: '2026-09-10' });
    for (const line of text.split('\n').filter((one) => one !== '')) {
      const element = JSON.parse(line);
      const domains = /"domains":(\{.*\})\}$/.exec(line)![1]!;
      if (!found.has(element.timeSeriesId)) found.set(element.timeSeriesId, { element, domains });
    }
  }
  return found;
}

const COLUMNS = `time_series_id id source data_provider unit_of_measure scale vessel_name vessel_imo
  jsmea_id jsmea_naming_rule jsmea_category jsmea_subcategory jsmea_content jsmea_item flat_id flat_short_name
  maker_id maker_name maker_description maker_range_high maker_range_low`.split(/\s+/);

function lakeRows(lakeDir: string, date: string, columns = [...COLUMNS, 'domains_json']) {
  const file = join(lakeDir, objectKey(day(date)));
  return duckRows(
    `SELECT ${columns.join(', ')} FROM read_parquet('${file}', hive_partitioning = false, file_row_number = true) ORDER BY file_row_number`,
  );
}

function expectedRow({ element: e, domains }: Found): unknown[] {
  const { jsmea, flat, maker } = e.domains;
  const values = [
    ...[e.timeSeriesId, e.id, e.source, e.dataProvider, e.unitOfMeasure, e.scale],
    ...[e.vessel.name, e.vessel.imo],
    ...[jsmea?.id, jsmea?.namingRule, jsmea?.category, jsmea?.subcategory, jsmea?.content, jsmea?.item],
    ...[flat?.id, flat?.shortName],
    ...[maker?.id, maker?.name, maker?.description, maker?.rangeHigh, maker?.rangeLow],
    domains,
  ];
  return values.map((value) => value ?? null);
}

/** In the order of the format. */
async function expectedRows(from: TestService): Promise<unknown[][]> {
  const rows = [...(await elements(from)).values()].map(expectedRow);
  return rows.sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
}

test('one row a series, every field a column, sorted by series', async () => {
  await using lake = await newLake();
  const { results } = await capture(lake.url, '2026-05-04');
  const expected = await expectedRows(service);
  expect(await lakeRows(lake.dir, '2026-05-04')).toEqual(expected);
  expect(results).toMatchObject([{ state: 'published', rows: expected.length }]);
  expect(await receiptOf(lake.dir, day('2026-05-04'))).toMatchObject({
    dataset: 'metadata',
    rows: expected.length,
    series: expected.length,
    detail: null,
  });
  expect(await unfinishedFiles(lake.dir)).toEqual([]);
});

for (const version of ['2025-10-31', '2026-01-01-beta'] satisfies ApiVersion[]) {
  test(`version ${version} tells the same, as far as it tells it`, async () => {
    await using lake = await newLake();
    await capture(lake.url, '2026-05-04', { env: { QUERY_API_VERSION: version } });
    const old = version === '2025-10-31';
    const expected = await expectedRows(service);
    const known = COLUMNS.filter((column) => !old || column !== 'data_provider');
    expect(await lakeRows(lake.dir, '2026-05-04', known)).toEqual(
      expected.map((row) => row.filter((_, i) => known.includes(COLUMNS[i]!))),
    );
    const texts = await lakeRows(lake.dir, '2026-05-04', ['id', 'domains_json', 'time_series_id']);
    for (const [, text, id] of texts) expect(JSON.parse(String(text))).toMatchObject(old ? { id } : {});
  });
}

test('unchanged: nothing is written but that it was taken, once for a vessel', async () => {
  await using lake = await newLake();
  await capture(lake.url, '2026-05-04');
  const before = await lakeFiles(lake.dir);
  const { results, code } = await capture(lake.url, '2026-05-05');
  expect({ code, results }).toMatchObject({ code: 0, results: [{ state: 'unchanged' }] });
  const after = await lakeFiles(lake.dir);
  const marks = [before, after].map((files) => {
    const found = [...files.keys()].filter((key) => key.startsWith('_captures/'));
    for (const key of found) files.delete(key);
    return found;
  });
  const markOf = (date: string) => `_captures/metadata/date=${date}/vessel=${VESSEL}.json`;
  expect(marks).toEqual([[markOf('2026-05-04')], [markOf('2026-05-05')]]);
  expect(after).toEqual(before);
});

test('changed: a new snapshot, the old one stays', async () => {
  await using lake = await newLake();
  await capture(lake.url, '2026-05-04');
  const first = await readObject(lake.dir, day('2026-05-04'));
  const other = await serviceOfTest({ seed: 99 });
  await acceptService(lake.dir, other);
  const { results } = await capture(lake.url, '2026-05-06', {
    service: other,
    // Another fleet, with fewer series.
    args: { allowShrink: true },
  });
  expect(results).toMatchObject([{ state: 'published' }]);
  expect(await readObject(lake.dir, day('2026-05-04'))).toEqual(first);
  const expected = await expectedRows(other);
  expect(await lakeRows(lake.dir, '2026-05-06')).toEqual(expected);
  await acceptService(lake.dir, service);
  // It is compared with the newest one: what had been true before is a change again.
  expect((await capture(lake.url, '2026-05-07')).results).toMatchObject([{ state: 'published' }]);
  expect((await capture(lake.url, '2026-05-08')).results).toMatchObject([{ state: 'unchanged' }]);
});

test('past and future days are not due, even by force', async () => {
  await using lake = await newLake();
  const before = service.requests.length;
  const { results } = await capture(lake.url, '2026-05-04', {
    args: { from: '2026-05-01', to: '2026-05-07', force: true },
    overrides: { clock: clockAt('2026-05-10') },
  });
  expect(results.map(({ state }) => state)).toEqual(new Array(6).fill('not-due'));
  expect(service.requests.length).toBe(before);
  expect([...(await lakeFiles(lake.dir)).keys()]).toEqual([]);
});

test.each([
  ['2026-09-10', /\{"id"/g, '{"sampling":{"hz":1.50},"id"'],
  ['2025-10-31', /"timeSeriesId"/g, '"sampling":{"hz":1.50},"timeSeriesId"'],
] as const)(
  'a field that the contract does not list makes a snapshot, and is in it: %s',
  async (version, at, more) => {
    await using lake = await newLake();
    const env = { QUERY_API_VERSION: version };
    const jobs = { metadata: { dataset: 'metadata', select: ['flat/{vessel}/*'] } };
    await capture(lake.url, '2026-05-04', { env, jobs });
    const plain = await askService(service, `/metadata/flat/${VESSEL}/*`, { version });
    const body = plain.replace(at, more);
    expect(body).not.toBe(plain);
    service.faults = ({ family }) =>
      family === 'metadata' ? { kind: 'garbage', body, contentType: 'application/json' } : undefined;
    try {
      const { results } = await capture(lake.url, '2026-05-05', { env, jobs });
      expect(results[0]).toMatchObject({ state: 'published', exported: true });
      const { results: again } = await capture(lake.url, '2026-05-06', { env, jobs });
      expect(again[0]).toMatchObject({ state: 'unchanged' });
    } finally {
      service.faults = undefined;
    }
    const kept = await lakeRows(lake.dir, '2026-05-05', ['domains_json']);
    expect(kept.length).toBeGreaterThan(10);
    for (const [json] of kept) {
      expect(json).toContain('"_other":{"sampling":{"hz":1.50}}}');
      expect(JSON.parse(String(json))._other).toEqual({ sampling: { hz: 1.5 } });
    }
  },
);
