/** Statistics whose answer ends too soon, at the end of a row, so that nothing else shows it. */
import { expect, test } from 'vitest';
import { receiptOf } from '../helpers/lake.ts';
import type { JobFile } from '../helpers/run.ts';
import { DATE, mustExport, newLake, runExport, serviceForTests, VESSEL } from '../helpers/run.ts';

const DAY = { job: 'statistics', vessel: VESSEL, date: DATE };
const OLD = { QUERY_API_VERSION: '2025-10-31' };
const JOB: JobFile = {
  dataset: 'statistics',
  select: ['flat/{vessel}/Shaft Power'],
  window: '1h',
  aggregations: ['count', 'mean', 'min', 'max'],
};

const service = await serviceForTests({ readingsPerDay: 2_000 });

const isWindows = (url: string) => url.includes('mean') || url.includes('sum');
const isText = (body: string) => body.startsWith('{');

/** The rows of a body without its last ones; an array is closed again, as by a service that gives up politely. */
function withoutLast(rows: number) {
  return (body: string): string => {
    if (isText(body)) return `${body.trimEnd().split('\n').slice(0, -rows).join('\n')}\n`;
    return JSON.stringify(JSON.parse(body).slice(0, -rows));
  };
}

/** The body up to the end of a row. */
function cutAtRow(body: string): string {
  return isText(body)
    ? withoutLast(2)(body)
    : body.slice(0, body.lastIndexOf(',{', body.lastIndexOf(',{') - 1));
}

function exportStatistics(lakeUrl: string, transport: string, job: JobFile = JOB) {
  return { service, lakeUrl, jobs: { statistics: { ...job, transport } }, env: OLD };
}

for (const transport of ['ndjson', 'json']) {
  test(`an answer that is cut at a row is asked for again, ${transport}`, async () => {
    await using lake = await newLake();
    let cut = 0;
    service.faults = ({ family, url }) =>
      family === 'statistics' && isWindows(url) && cut++ === 0
        ? { kind: 'rewrite', rewrite: cutAtRow }
        : undefined;
    const before = await receiptRows(transport);
    await mustExport(exportStatistics(lake.url, transport));
    expect(cut).toBe(2);
    expect((await receiptOf(lake.dir, DAY))?.object?.parts).toEqual(before);
  });

  for (const rows of transport === 'json' ? [1, 3] : [1])
    test(`an answer that always lacks its last ${rows} rows, an aggregation each, is not published, ${transport}`, async () => {
      await using lake = await newLake();
      const longest = { rows: 0 };
      service.faults = ({ family, url }) =>
        family === 'statistics' && isWindows(url)
          ? { kind: 'rewrite', rewrite: (body) => (isLong(body, longest) ? withoutLast(rows)(body) : body) }
          : undefined;
      const ran = await runExport(exportStatistics(lake.url, transport));
      expect(ran.code).toBe(1);
      expect(ran.results).toMatchObject([{ state: 'failed', code: 'answer-cut' }]);
      const { message } = ran.results[0]!;
      expect(message).toContain(`'max' of series ${VESSEL}/Shaft Power in the window at ${DATE}T23:00:00`);
      expect(await receiptOf(lake.dir, DAY)).toBeUndefined();
    });
}

/** Is this the answer for the whole day, and not the one that confirms? */
function isLong(body: string, longest: { rows: number }): boolean {
  const rows = body.split('"timestamp"').length;
  longest.rows = Math.max(longest.rows, rows);
  return rows === longest.rows;
}

/** The parts of the day as it is without any fault. */
async function receiptRows(transport: string) {
  const faults = service.faults;
  service.faults = undefined;
  await using lake = await newLake();
  await mustExport(exportStatistics(lake.url, transport));
  service.faults = faults;
  return (await receiptOf(lake.dir, DAY))?.object?.parts;
}

test('values of the first window that are missing are seen too', async () => {
  await using lake = await newLake();
  const longest = { rows: 0 };
  const without = (body: string) =>
    JSON.stringify(JSON.parse(body).filter((_: object, at: number) => at !== 2));
  service.faults = ({ family, url }) =>
    family === 'statistics' && isWindows(url)
      ? { kind: 'rewrite', rewrite: (body) => (isLong(body, longest) ? without(body) : body) }
      : undefined;
  const ran = await runExport(exportStatistics(lake.url, 'json'));
  expect(ran.results).toMatchObject([{ state: 'failed', code: 'answer-cut' }]);
  expect(ran.results[0]?.message).toContain(`'min' of series ${VESSEL}/Shaft Power`);
});

const ALL =
  'avg,count,delta,first_time,first_val,integral,kurtosis,last_time,last_val,max,mean,min,skewness,stddev,sum,var';

for (const aggregations of [ALL.split(','), ['count', 'mean', 'min', 'max']]) {
  test(`what is not defined is not missing, ${aggregations.length} aggregations of numbers and JSON`, async () => {
    await using lake = await newLake();
    const before = service.requests.length;
    const job = { ...JOB, select: ['flat/{vessel}/*'], aggregations };
    await mustExport(exportStatistics(lake.url, 'ndjson', job));
    // Metadata, counts, windows; none to confirm. The first is for a token.
    expect(service.requests.slice(before).filter(({ family }) => family !== 'token')).toHaveLength(3);
  });
}
