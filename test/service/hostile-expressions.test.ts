/** Expressions that ask for more work than their length lets expect. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeriesRecord } from '../../src/service/data/source.ts';
import { parsePath, parseQueryExpression } from '../../src/service/query/expressions.ts';
import { selectSeries } from '../../src/service/query/selection.ts';
import { openService, type TestService, VESSEL } from './running-service.ts';
import { neverDue } from './work.ts';

const TEN = '{a,b,c,d,e,f,g,h,i,j}';
const many = (count: number, text: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => text(at));

describe('expressions that stand for too much', () => {
  let s: TestService;
  beforeAll(async () => {
    s = await openService();
  });
  afterAll(() => s[Symbol.asyncDispose]());

  async function post(
    expressions: readonly string[],
  ): Promise<{ status: number; error: string | undefined }> {
    const response = await s.post('/metadata/query', expressions, { 'x-api-version': '2026-09-10' });
    return { status: response.status, error: ((await response.json()) as { error?: string }).error };
  }

  test('9,000 of a thousand alternatives each are refused, and the service goes on', async () => {
    const refused = await post(many(9000, (at) => `parameters/${VESSEL}/${TEN}${TEN}${TEN}${at}`));
    expect(refused).toEqual({
      status: 400,
      error: expect.stringMatching(
        /at least 10,001 alternatives in braces by expression 11 of 9,000.* at most 10,000 .*split/,
      ),
    });
    expect((await s.get(`/metadata/flat/${VESSEL}/Roll`)).status).toBe(200);
  });

  test('alternatives are counted over the whole request, up to as many as expressions may be', async () => {
    const thousand = (at: number) => `parameters/${VESSEL}/${TEN}${TEN}${TEN}${at}`;
    expect((await post([...many(10, thousand), `flat/${VESSEL}/Roll`])).status).toBe(200);
    expect((await post(many(11, thousand))).status).toBe(400);
    // The same expression again stands for nothing more.
    expect((await post([...many(11, () => thousand(1)), `flat/${VESSEL}/Roll`])).status).toBe(200);
  });

  test('alternatives that are few but long are refused', async () => {
    const long = `parameters/${VESSEL}/${'x'.repeat(3000)}${TEN}${TEN}`;
    expect(await post([long])).toEqual({
      status: 400,
      error: expect.stringMatching(/letters of alternatives in braces .* at most 262,144/),
    });
  });

  test('braces that are many and stand for little are refused', async () => {
    expect(await post(many(5000, (at) => `parameters/${VESSEL}/${at}${'{a}'.repeat(30)}`))).toEqual({
      status: 400,
      error: expect.stringMatching(/10,020 pairs of braces by expression 334 of 5,000/),
    });
  });

  test('too many expressions are refused, thousands of ids are served', async () => {
    expect((await post(many(10_001, (at) => `flat/x/${at}`))).status).toBe(400);
    const headers = { 'x-api-version': '2026-09-10' };
    const found = (await s.json('/metadata/maker/*/*/*', headers)) as { timeSeriesId: string }[];
    const ids = found.map(({ timeSeriesId }) => timeSeriesId);
    const unknown = many(5_000, (at) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`);
    const all = [...unknown, ...ids].map((id) => `id/${id}`);
    const response = await s.post('/metadata/query', all, headers);
    expect(response.status).toBe(200);
    expect(await response.json()).toHaveLength(ids.length);
    const inUrl = [...unknown.slice(0, 1_000), ...ids.slice(0, 3)].join(',');
    expect(await s.json(`/metadata/id/${inUrl}`, headers)).toHaveLength(3);
  });

  test('levels that are many are refused', async () => {
    const deep = many(256, (at) => `vis-3-8a/${at}/*${'/*/a'.repeat(1000)}`);
    expect((await post(deep)).status).toBe(400);
    expect((await post([deep[0]!, `flat/${VESSEL}/Roll`])).status).toBe(200);
  });

  test('500 wildcards of any vessel are served', async () => {
    const wildcards = many(500, (at) => `flat/*/*a${at}*b*`);
    expect((await post(wildcards)).status).toBe(404);
    expect((await post([...wildcards, `flat/${VESSEL}/Roll`])).status).toBe(200);
  });

  test('wildcards that would be compared too often are refused, as many exact ids are not', async () => {
    expect(await post(many(10_000, (at) => `flat/*/*a${at}*b*`))).toEqual({
      status: 400,
      error: expect.stringMatching(/more than 500,000 comparisons .*split/),
    });
    expect(
      (await post([...many(9000, (at) => `flat/${VESSEL}/Tag ${at}`), `flat/${VESSEL}/Roll`])).status,
    ).toBe(200);
  });

  test('30,000 braces in a path are letters, as deep as they nest', async () => {
    const get = async (tag: string) => {
      const headers = { authorization: `Bearer ${await s.token()}` };
      const { hostname, port, pathname } = new URL(s.service.baseUrl);
      const path = `${pathname}/metadata/parameters/x/${tag}`;
      const sent = request({ hostname, port, path, headers }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return { status: response.statusCode, body: await text(response) };
    };
    expect((await get('{'.repeat(30_000))).status).toBe(404);
    expect(await get('{x'.repeat(15_000) + '}'.repeat(15_000))).toEqual({
      status: 400,
      body: expect.stringMatching(/nest more than 16 deep/),
    });
  });
});

describe('a request that matches very many series', () => {
  const record = {
    timeSeriesId: '00000000-0000-4000-8000-000000000000',
    vessel: VESSEL,
    names: new Map([['flat', `${VESSEL}/Roll`]]),
    verboseNames: new Map(),
  } as unknown as SeriesRecord;
  const select = (series: readonly SeriesRecord[], mayRead: boolean) =>
    selectSeries(
      series,
      [parseQueryExpression('flat/*/*'), parsePath('metadata', `flat/${VESSEL}/*`)],
      { outputDomain: undefined, verbose: false, mayRead: () => mayRead },
      neverDue,
    );

  test('is refused beyond 250,000 that the client may read', async () => {
    const tooMany = new Array<SeriesRecord>(250_001).fill(record);
    await expect(select(tooMany, true)).rejects.toThrow(/more than 250,000 series; split/);
    await expect(select(tooMany, false)).rejects.toThrow(/no time series matches/);
    expect(await select(tooMany.slice(1), true)).toHaveLength(250_000);
  });
});
