import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkedByParser } from '../../src/core/duckdb/sql-text.ts';
import { createEngine } from '../../src/service/data/engine.ts';
import { openService } from './running-service.ts';
import { createTestLake, type TestLake } from './test-lake.ts';

const VESSEL = 'IMO9074729';
const OTHER = 'IMO9321483';
const NEW = { 'x-api-version': '2026-09-10' };
const id = (n: number) => `11111111-0000-4000-8000-00000000000${n}`;
const reading = (n: number, timestamp: string, valueText: string) => ({
  timeSeriesId: id(n),
  timestamp,
  valueText,
});
const element = (n: number, tag: string, unit = 'm') =>
  `{"id":"x","timeSeriesId":"${id(n)}","unitOfMeasure":"${unit}","vessel":{"name":"Havgula","imo":"9074729"},"domains":{"flat":{"id":"${VESSEL}/${tag}","shortName":"${tag}"}}}`;

describe('lakes', () => {
  let dir: string;
  let lake: TestLake;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'service-lakes-'));
    lake = await createTestLake(dir);
  });
  afterEach(() => {
    lake.close();
    rmSync(dir, { recursive: true });
  });
  const day = (job: string, date = '2026-01-05', vessel = VESSEL) => ({ job, vessel, date });

  test('a folder that is not there, or holds no lake, is a configuration error', async () => {
    await expect(openService({ data: { dataDir: join(dir, 'nowhere') } })).rejects.toMatchObject({
      code: 'service-lake',
    });
    mkdirSync(join(dir, 'job', 'vessel=x'), { recursive: true });
    writeFileSync(join(dir, 'job', 'README'), 'not a lake');
    await expect(openService({ data: { dataDir: dir } })).rejects.toMatchObject({ code: 'service-lake' });
  });

  test('readings without metadata are served by their id alone', async () => {
    await lake.writeMeasurements(day('readings'), [reading(1, '2026-01-05T01:00:00Z', '5')]);
    await using s = await openService({ data: { dataDir: dir } });
    expect(await s.text(`/measurements/id/${id(1)}?year=2026&month=1`)).toBe(
      `[{"id":"${id(1)}","timestamp":"2026-01-05T01:00:00.000000Z","value":5}]`,
    );
    expect(await s.text(`/metadata/id/${id(1)}`, NEW)).toBe(
      `[{"id":"${id(1)}","timeSeriesId":"${id(1)}","vessel":{"imo":"9074729"},"domains":{}}]`,
    );
    expect((await s.get(`/measurements/flat/${VESSEL}/*`)).status).toBe(404);
  });

  test('a folder may be named with what means something in patterns', async () => {
    const odd = join(dir, "ships [old] * ?'s");
    const many = Array.from({ length: 9_000 }, (_, n) =>
      reading(1, new Date(Date.UTC(2026, 0, 5) + n * 1_000).toISOString(), String(n)),
    );
    // More than is read without DuckDB.
    await lake.writeMeasurements(day('readings'), many);
    await lake.writeMetadata(day('metadata'), [element(1, 'Depth')]);
    mkdirSync(odd);
    for (const job of ['readings', 'metadata']) renameSync(join(dir, job), join(odd, job));
    await using s = await openService({ data: { dataDir: odd } });
    const points = await s.json(`/measurements/flat/${VESSEL}/Depth?from=2026-01-05&to=2026-01-06`);
    expect(points).toHaveLength(many.length);
  });

  test('the newest snapshot describes a series; one that has left the metadata is still known', async () => {
    await lake.writeMetadata(day('metadata', '2026-01-04'), [element(1, 'Old name'), element(2, 'Gone')]);
    await lake.writeMetadata(day('metadata', '2026-01-06'), [element(1, 'New name', 'cm')]);
    await using s = await openService({ data: { dataDir: dir } });
    const found = (await s.json(`/metadata/flat/${VESSEL}/*`, NEW)) as {
      id: string;
      unitOfMeasure: string;
    }[];
    expect(found.map(({ id, unitOfMeasure }) => [id, unitOfMeasure])).toEqual([
      [`${VESSEL}/New name`, 'cm'],
      [`${VESSEL}/Gone`, 'm'],
    ]);
  });

  test('a snapshot taken with an older version names the series in both versions', async () => {
    const old = `{"timeSeriesId":"${id(1)}","vessel":{"imo":"9074729"},"domains":{"flat":"${VESSEL}/Depth","id":"${id(1)}"}}`;
    await lake.writeMetadata(day('metadata'), [old]);
    await using s = await openService({ data: { dataDir: dir } });
    expect(await s.json(`/metadata/flat/${VESSEL}/Depth`, NEW)).toMatchObject([
      { domains: { flat: { id: `${VESSEL}/Depth` } } },
    ]);
    expect(await s.json(`/metadata/flat/${VESSEL}/Depth`)).toMatchObject({
      [`${VESSEL}/Depth`]: { mapsTo: { flat: `${VESSEL}/Depth`, id: id(1) } },
    });
  });

  test('several jobs together give every series once', async () => {
    await lake.writeMetadata(day('metadata'), [element(1, 'A'), element(2, 'B')]);
    const a = reading(1, '2026-01-05T01:00:00Z', '1');
    await lake.writeMeasurements(day('engine'), [a]);
    await lake.writeMeasurements(day('everything'), [a, reading(2, '2026-01-05T02:00:00Z', '2')]);
    await using s = await openService({ data: { dataDir: dir } });
    const found = (await s.json(`/measurements/flat/${VESSEL}/*?year=2026`)) as { value: number }[];
    expect(found.map(({ value }) => value)).toEqual([1, 2]);
  });

  test('days and vessels without objects are empty, and scopes hold', async () => {
    await lake.writeMetadata(day('metadata'), [element(1, 'A')]);
    await lake.writeMeasurements(day('readings', '2026-01-02'), [
      reading(1, '2026-01-02T23:59:59.999999Z', '1.5'),
    ]);
    await lake.writeMeasurements(day('readings', '2026-01-05'), [reading(1, '2026-01-05T00:00:00Z', '2.5')]);
    await lake.writeMeasurements(day('readings', '2026-01-05', OTHER), [
      reading(2, '2026-01-05T00:00:00Z', '3.5'),
    ]);
    const clients = [{ clientId: 'one', clientSecret: 'secret of one', vessels: [VESSEL] }];
    await using s = await openService({ data: { dataDir: dir }, clients });
    const rows = (await s.json(
      `/statistics/flat/${VESSEL}?from=2026-01-01&to=2026-01-07&window=1d&aggregations=count,sum`,
      NEW,
    )) as { timestamp: string; aggregations: object }[];
    expect(rows.map(({ timestamp, aggregations }) => [timestamp.slice(0, 10), aggregations])).toEqual([
      ['2026-01-02', { count: 1, sum: 1.5 }],
      ['2026-01-05', { count: 1, sum: 2.5 }],
    ]);
    expect((await s.get(`/measurements/id/${id(2)}?year=2026`)).status).toBe(404);
  });

  test('the engine reads the lake and nothing else, and cannot be talked into more', async () => {
    const engine = createEngine(dir);
    await using opened = await engine.connect();
    const outside = mkdtempSync(join(tmpdir(), 'service-outside-'));
    writeFileSync(join(outside, 'secret.csv'), 'a\n1\n');
    writeFileSync(join(dir, 'inside.csv'), 'a\n1\n');
    const run = (sql: string) =>
      opened
        .query((connection) => connection.run(checkedByParser(sql)))
        .then(
          () => 'done',
          () => 'refused',
        );
    expect(await run(`SELECT * FROM read_csv('${join(dir, 'inside.csv')}')`)).toBe('done');
    for (const sql of [
      `SELECT * FROM read_csv('${join(outside, 'secret.csv')}')`,
      `SELECT * FROM read_csv('${dir}/../${outside.split('/').at(-1)}/secret.csv')`,
      `COPY (SELECT 1) TO '${join(outside, 'out.csv')}'`,
      `ATTACH '${join(outside, 'x.db')}'`,
      'INSTALL httpfs',
      'SET enable_external_access = true',
      `SET allowed_directories = ['/']`,
    ])
      expect([sql, await run(sql)]).toEqual([sql, 'refused']);
    rmSync(outside, { recursive: true });
    await engine.close();
  });
});

describe('service options', () => {
  test('every fault is told at once', async () => {
    const starting = openService({
      tenant: 'a/b',
      clients: [],
      tokenTtlSeconds: 0,
      ratePerMinute: 0,
      data: { seed: 0.5, vessels: 0, readingsPerDay: 1 },
    });
    await expect(starting).rejects.toMatchObject({
      code: 'service-options',
      message: expect.stringMatching(
        /tenant.*clients.*tokenTtlSeconds.*ratePerMinute.*seed.*vessels.*readingsPerDay/,
      ),
    });
  });

  test('a port that is taken is a configuration error', async () => {
    await using s = await openService();
    const port = Number(new URL(s.service.baseUrl).port);
    await expect(openService({ port })).rejects.toMatchObject({ code: 'service-cannot-listen' });
  });

  test('without clients, credentials are made up each time', async () => {
    const { startService } = await import('../../src/service/service.ts');
    const { systemClock } = await import('../../src/core/model/index.ts');
    const start = () =>
      startService({
        host: '127.0.0.1',
        port: 0,
        tenant: 't',
        data: { seed: 1, vessels: 1, readingsPerDay: 5000 },
        tokenTtlSeconds: 60,
        clock: systemClock,
      });
    const [a, b] = [await start(), await start()];
    expect(a.clientSecret).not.toBe(b.clientSecret);
    expect(a.clientSecret.length).toBeGreaterThanOrEqual(32);
    await a.close();
    await b.close();
  });
});
