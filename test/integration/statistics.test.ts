/** The statistics dataset equals what the service's own statistics answer, asked independently. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { ApiVersion } from '../../src/core/model/index.ts';
import { addDays } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import {
  askService,
  differences,
  duckRows,
  readObject,
  receiptOf,
  serviceNames,
  unfinishedFiles,
} from '../helpers/lake.ts';
import type { JobFile } from '../helpers/run.ts';
import { DATE, mustExport, newLake, serviceForTests, serviceOfTest, VESSEL } from '../helpers/run.ts';

const DAY = { job: 'statistics', vessel: VESSEL, date: DATE };
const ALL =
  'avg,count,delta,first_time,first_val,integral,kurtosis,last_time,last_val,max,mean,min,skewness,stddev,sum,var';

const service = await serviceForTests({ readingsPerDay: 5_000 });
let names: Map<string, string>;

beforeAll(async () => {
  names = await serviceNames(service, [`flat/${VESSEL}/*`]);
});

function job(more: JobFile): Record<string, JobFile> {
  return { statistics: { dataset: 'statistics', select: ['flat/{vessel}/*'], window: '1h', ...more } };
}

const LINE = /^\{"timestamp":"([^"]+)","id":"([^"]+)","aggregations":\{(.*)\}\}$/;
/** A member of `aggregations`; the fleet's JSON values are flat objects, texts, true, false and null. */
const MEMBER = /"(\w+)":(\{(?:"(?:[^"\\]|\\.)*"|[^}"])*\}|"(?:[^"\\]|\\.)*"|[^,]+)/g;

/** Rows `<micros> <series> <name> <aggregation>=<value> …` that the service answers for a window. */
async function truth(window: string, aggregations: string): Promise<string[]> {
  const query = `from=${DATE}T00:00:00Z&to=${addDays(DATE, 1)}T00:00:00Z&format=ndjson&output_domain=id`;
  const text = await askService(
    service,
    `/statistics/flat/${VESSEL}/*?${query}&window=${window}&aggregations=${aggregations}`,
    { version: '2026-09-10' },
  );
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, timestamp, id, members] = LINE.exec(line)!;
      const values = [...members!.matchAll(MEMBER)].flatMap(([, name, value]) =>
        value === 'null' ? [] : [`${columnOf(name!, value!)}=${meaning(name!, value!)}`],
      );
      return [Date.parse(timestamp!) * 1_000, id, names.get(id!), ...values.sort()].join('\t');
    });
}

function columnOf(aggregation: string, value: string): string {
  return /^(first|last)_val$/.test(aggregation) && !/^[-\d]/.test(value)
    ? `${aggregation}_json`
    : aggregation;
}

function meaning(aggregation: string, value: string): string {
  if (aggregation === 'count') return value;
  const time = /^"(.*)\.(\d{6})Z"$/.exec(value);
  if (aggregation.endsWith('_time')) return `${Date.parse(`${time![1]}Z`) / 1_000}${time![2]}`;
  return /^[-\d]/.test(value) ? String(Number(value)) : value;
}

/** The lake's rows in the same form; columns that are NULL are left out. */
async function lakeRows(lakeDir: string): Promise<string[]> {
  const file = join(lakeDir, objectKey(DAY));
  const columns = (await duckRows(`SELECT column_name, column_type FROM (DESCRIBE FROM '${file}')`)).filter(
    ([name]) => !['timestamp', 'time_series_id', 'id', 'vessel', 'date'].includes(String(name)),
  );
  const values = columns.map(([name, type]) =>
    String(type).startsWith('TIMESTAMP') ? `epoch_us(${name})` : String(name),
  );
  const rows = await duckRows(
    `SELECT epoch_us(timestamp), time_series_id, id, ${values.join(', ')} FROM '${file}'`,
  );
  return rows.map(([micros, id, name, ...cells]) => {
    const shown = cells.flatMap((cell, i) => (cell === null ? [] : [`${columns[i]![0]}=${cell}`]));
    return [micros, id, name, ...shown.sort()].join('\t');
  });
}

for (const window of ['10m', '1h', '6h', '1d']) {
  test(`windows of ${window}, every aggregation`, async () => {
    await using lake = await newLake();
    await mustExport({ service, lakeUrl: lake.url, jobs: job({ window, aggregations: ALL.split(',') }) });
    const expected = await truth(window, ALL);
    expect(differences(await lakeRows(lake.dir), expected)).toEqual({ missing: [], extra: [] });
    expect(expected.some((row) => row.includes('first_val_json={"lat":'))).toBe(true);
    expect(await receiptOf(lake.dir, DAY)).toMatchObject({
      dataset: 'statistics',
      proof: 'exact',
      rows: expected.length,
    });
    expect(await unfinishedFiles(lake.dir)).toEqual([]);
  });
}

test('count is always among the columns', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url, jobs: job({ aggregations: ['mean', 'min'] }) });
  const columns = await duckRows(
    `SELECT column_name, column_type FROM (DESCRIBE FROM '${join(lake.dir, objectKey(DAY))}')`,
  );
  expect(columns.filter(([name]) => name !== 'vessel' && name !== 'date')).toEqual([
    ['timestamp', 'TIMESTAMP WITH TIME ZONE'],
    ['time_series_id', 'VARCHAR'],
    ['id', 'VARCHAR'],
    ['mean', 'DOUBLE'],
    ['min', 'DOUBLE'],
    ['count', 'BIGINT'],
  ]);
  expect(differences(await lakeRows(lake.dir), await truth('1h', 'mean,min,count'))).toEqual({
    missing: [],
    extra: [],
  });
});

test('rows are sorted by series and time, and the same bytes come from either version and transport', async () => {
  const digests = new Set<string>();
  for (const version of ['2025-10-31', '2026-09-10', '2026-01-01-beta'] satisfies ApiVersion[]) {
    for (const transport of ['ndjson', 'json']) {
      await using lake = await newLake();
      const jobs = job({ transport, window: '10m', aggregations: ALL.split(',') });
      await mustExport({ service, lakeUrl: lake.url, jobs, env: { QUERY_API_VERSION: version } });
      digests.add(
        createHash('sha256')
          .update((await readObject(lake.dir, DAY))!)
          .digest('hex'),
      );
      const order = await lakeRows(lake.dir);
      const sorted = order.map((row) => row.split('\t').slice(0, 2).reverse().join());
      expect(sorted).toEqual([...sorted].sort());
    }
  }
  expect(digests.size).toBe(1);
});

test('a service whose ranges include their end adds no window', async () => {
  const inclusive = await serviceOfTest({ readingsPerDay: 5_000, toInclusive: true });
  await using lake = await newLake();
  await mustExport({ service: inclusive, lakeUrl: lake.url, jobs: job({ aggregations: ALL.split(',') }) });
  expect(differences(await lakeRows(lake.dir), await truth('1h', ALL))).toEqual({ missing: [], extra: [] });
});

test('a day without readings has a receipt of no rows', async () => {
  const silent = await serviceOfTest({ readingsPerDay: 1_000, toInclusive: true });
  silent.overlay.removeReadings(undefined);
  // The next midnight is not in the day.
  silent.overlay.addReadings([...names.keys()][0]!, [
    { timestampMicros: Date.parse(`${addDays(DATE, 1)}T00:00:00Z`) * 1_000, valueText: '1' },
  ]);
  await using lake = await newLake();
  const { results } = await mustExport({ service: silent, lakeUrl: lake.url, jobs: job({}) });
  expect(results).toMatchObject([{ state: 'empty', rows: 0 }]);
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({ rows: 0, object: null, proof: 'exact' });
});
