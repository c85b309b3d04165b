/** Domains that the contract does not list: those that the metadata of a lake, or of a file of readings, name. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newTempFolder } from '../../helpers/temp.ts';
import { openService, type TestService, VESSEL } from '../running-service.ts';
import { NEW } from '../same-answers.ts';
import { createTestLake } from '../test-lake.ts';

const OTHER = 'IMO9322853';
const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const element = (n: number, imo: string, domains: object) =>
  JSON.stringify({
    ...{ id: uuid(n), timeSeriesId: uuid(n), source: 'x', dataProvider: 'x', unitOfMeasure: 'kW', scale: 1 },
    ...{ vessel: { name: 'Nordlys', imo }, domains: { maker: { name: 'x' }, ...domains } },
  });
const CLIENTS = [
  { clientId: 'all', clientSecret: 'the secret of all', vessels: '*' },
  { clientId: 'one', clientSecret: 'the secret of one', vessels: [VESSEL] },
] as const;

describe('a lake', () => {
  let s: TestService;
  let one: Record<string, string>;
  const folder = newTempFolder();
  beforeAll(async () => {
    const { path } = await folder;
    const writer = await createTestLake(path);
    const flat = (tag: string) => ({ flat: { id: `${VESSEL}/${tag}` } });
    await writer.writeMetadata({ job: 'metadata', vessel: VESSEL, date: '2026-01-06' }, [
      element(1, '9321483', {
        ...flat('Power'),
        'acme-tags': { id: `${VESSEL}/engine/power`, verboseId: `${VESSEL}/Engine~1/Power` },
      }),
      element(2, '9321483', { ...flat('Speed'), 'acme-tags': { id: `${VESSEL}/log/deep/speed` } }),
      element(3, '9321483', { ...flat('Roll'), 'acme-tags': { shortName: 'no id' }, 'a/b': { id: 'x/y' } }),
    ]);
    await writer.writeMetadata({ job: 'metadata', vessel: OTHER, date: '2026-01-06' }, [
      element(4, '9322853', { secretive: { id: `${OTHER}/engine/power` } }),
    ]);
    await writer.writeMeasurements({ job: 'measurements', vessel: VESSEL, date: '2026-01-06' }, [
      { timeSeriesId: uuid(1), timestamp: '2026-01-06T01:00:00Z', valueText: '7.5' },
      { timeSeriesId: uuid(2), timestamp: '2026-01-06T02:00:00Z', valueText: '12' },
    ]);
    writer.close();
    s = await openService({ data: { dataDir: path }, clients: [...CLIENTS] });
    one = { ...NEW, authorization: `Bearer ${await s.token(CLIENTS[1])}` };
  });
  afterAll(async () => {
    await s?.[Symbol.asyncDispose]();
    await (await folder).remove();
  });
  const ids = async (path: string, headers: Record<string, string> = NEW) =>
    ((await s.json(path, headers)) as { id: string }[]).map(({ id }) => id);
  const RANGE = 'from=2026-01-06&to=2026-01-07';

  test('is asked by them, each level standing for itself', async () => {
    expect(await ids('/metadata/acme-tags/*/engine/*')).toEqual([`${VESSEL}/engine/power`]);
    expect(await ids(`/metadata/acme-tags/${VESSEL}/*/*`)).toEqual([`${VESSEL}/engine/power`]);
    expect(await ids(`/metadata/acme-tags/${VESSEL}/log/deep/speed`)).toEqual([`${VESSEL}/log/deep/speed`]);
    expect((await s.get(`/metadata/acme-tags/${VESSEL}/*`)).status).toBe(404);
    expect(await ids('/metadata/acme-tags/*/engine/*?verbose=true')).toEqual([`${VESSEL}/Engine~1/Power`]);
    expect(await s.json(`/measurements/acme-tags/${VESSEL}/engine/power?${RANGE}`, NEW)).toEqual([
      { id: `${VESSEL}/engine/power`, timestamp: '2026-01-06T01:00:00.000000Z', value: 7.5 },
    ]);
    const body = ['acme-tags/*/*/*/*', `flat/${VESSEL}/Power`];
    const posted = (await (await s.post(`/measurements/query?${RANGE}`, body, NEW)).json()) as object[];
    expect(posted).toMatchObject([{ id: `${VESSEL}/Power` }, { id: `${VESSEL}/log/deep/speed` }]);
    const statistics = await s.post(`/statistics/query?${RANGE}&window=1d`, ['acme-tags/*/*/*'], NEW);
    expect(await statistics.json()).toMatchObject([{ id: `${VESSEL}/engine/power` }]);
  });

  test('answers in them, without the series that have no id there', async () => {
    expect((await ids(`/metadata/flat/${VESSEL}/*`)).length).toBe(3);
    expect(await ids(`/metadata/flat/${VESSEL}/*?output_domain=acme-tags`)).toEqual([
      `${VESSEL}/engine/power`,
      `${VESSEL}/log/deep/speed`,
    ]);
    expect(await ids(`/metadata/acme-tags/*/*/*?output_domain=flat`)).toEqual([`${VESSEL}/Power`]);
  });

  test('an unknown one stays an error, and one of which a client may read nothing is unknown to it', async () => {
    const answer = async (path: string, headers: Record<string, string> = NEW) => {
      const response = await s.get(path, headers);
      return [response.status, ((await response.json()) as { error: string }).error];
    };
    const NONE = /^no domain '.*'; there are id, jsmea, flat, raalabs, vis-3-8a, maker, parameters$/;
    expect(await answer('/metadata/nothing/*/*')).toEqual([404, expect.stringMatching(NONE)]);
    expect(await answer('/metadata/a%2Fb/x/y')).toEqual([404, expect.stringMatching(NONE)]);
    expect(await answer('/metadata/flat/*/*?output_domain=nothing')).toEqual([
      400,
      expect.stringContaining("'nothing'"),
    ]);
    expect(await ids('/metadata/secretive/*/*/*')).toEqual([`${OTHER}/engine/power`]);
    expect(await answer('/metadata/secretive/*/*/*', one)).toEqual([404, expect.stringMatching(NONE)]);
    const [status] = await answer('/metadata/flat/*/*?output_domain=secretive', one);
    expect(status).toBe(400);
    expect(await ids('/metadata/acme-tags/*/engine/*', one)).toEqual([`${VESSEL}/engine/power`]);
  });
});

test('more than can be served are cut to those with the most series, and that is said', async () => {
  await using folder = await newTempFolder();
  const file = join(folder.path, 'many.ndjson');
  const domains = Object.fromEntries(
    Array.from({ length: 40 }, (_, n) => [`d${String(n).padStart(2, '0')}`, { id: `${VESSEL}/x` }]),
  );
  await writeFile(
    file,
    `${element(1, '9321483', domains)}\n${element(2, '9321483', { d39: { id: 'a/b' } })}\n`,
  );
  const said: unknown[] = [];
  const note = (fields: object) => said.push(fields);
  const log = { debug() {}, info() {}, warn: note, error() {} };
  await using s = await openService({ data: { replayFile: file }, log });
  expect((await s.get('/metadata/d39/a/b', NEW)).status).toBe(200);
  expect((await s.get(`/metadata/d00/${VESSEL}/x`, NEW)).status).toBe(200);
  expect((await s.get(`/metadata/d38/${VESSEL}/x`, NEW)).status).toBe(404);
  expect(said).toContainEqual({ domains: 32, left: 8 });
});
