/** Nobody acts but who has signed in to act, by a request that only the page's own script makes. */
import { request as httpRequest } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Job, systemClock, type VesselDay } from '../../src/core/model/index.ts';
import { parseJob } from '../../src/runtime/config/jobs.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { unseenIn } from '../helpers/hostile-text.ts';
import { lakeFiles } from '../helpers/lake.ts';
import { makeReceipt, writeReceipts } from '../helpers/ledger.ts';
import { FEW_SERIES, newLake, type TestLake, VESSEL } from '../helpers/run.ts';
import { ACT_HEADERS, signIn } from '../helpers/web.ts';
import { type ActsPage, openActs, READ_PASSWORD } from './acts-bench.ts';

const DAY: VesselDay = { job: 'measurements', vessel: VESSEL, date: '2026-01-05' };
const JOB = parseJob('measurements.yaml', 'measurements', JSON.stringify(FEW_SERIES)).job as Job;
const ACT = JSON.stringify({ act: 'accept-warning', job: DAY.job, vessel: VESSEL });
const HOUR_MS = 3_600_000;

/** Headers as they are given: `fetch` sets some of them by itself. */
function send(url: string, headers: Readonly<Record<string, string>>, body = ACT, method = 'POST') {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  const request = httpRequest(`${url}/api/acts`, { method, headers: { ...length, ...headers } }, (answer) => {
    answer.resume().on('end', () => resolve(answer.statusCode!));
  });
  request.on('error', reject).end(body);
  return promise;
}

describe('a warning that stands open', () => {
  let lake: TestLake;
  let store: ObjectStore;
  let page: ActsPage;
  let text: string;
  let shiftMs: number;
  beforeEach(async () => {
    lake = await newLake();
    store = await openStore(lake.url, {});
    text = '';
    shiftMs = 0;
    const comparedWith = { date: '2026-01-04', finishedAt: '2026-01-04T23:00:12.000Z', series: 9 };
    const remark = {
      kind: 'fewer-series',
      missing: 2,
      names: ['<b>Draught'],
      since: DAY.date,
      comparedWith,
    } as const;
    await writeReceipts(store, [makeReceipt(DAY, { remark, selectedSeries: 7 })]);
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + shiftMs };
    const onLine = (line: string) => {
      text += line;
    };
    page = await openActs({ store, jobs: [JOB], clock, onLine });
  });
  afterEach(async () => {
    await page.close();
    await store.close();
    await lake[Symbol.asyncDispose]();
  });

  const files = async () => [...(await lakeFiles(lake.dir)).keys()];
  /** The one request that may: so those before were refused for what they lacked. */
  async function expectAccepted(): Promise<void> {
    const before = await files();
    expect(await send(page.url, { ...ACT_HEADERS, cookie: page.cookie })).toBe(200);
    expect(await files()).toEqual([`_accepted/measurements/vessel=${VESSEL}.json`, ...before].sort());
  }
  async function expectRefused(
    requests: readonly [
      what: string,
      headers: Readonly<Record<string, string>>,
      body?: string,
      method?: string,
    ][],
  ): Promise<void> {
    const before = await files();
    const logged = page.lines.length;
    for (const [what, headers, body, method] of requests) {
      const status = await send(page.url, headers, body, method);
      expect(status, what).toBeGreaterThanOrEqual(400);
      expect(status, what).toBeLessThan(500);
    }
    expect(await files()).toEqual(before);
    // Who asks for a page is refused without a line.
    const tried = requests.filter(([, , , method]) => method !== 'GET');
    expect(page.lines.slice(logged).map(({ outcome }) => outcome)).toEqual(tried.map(() => 'refused'));
  }

  test('is not accepted by what a form of another site can send', async () => {
    const { cookie } = page;
    const form = (type: string) => ({ cookie, 'content-type': type });
    const multipart = `--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n${ACT}\r\n--x--\r\n`;
    await expectRefused([
      ['urlencoded', form('application/x-www-form-urlencoded'), `${ACT}=`],
      ['text/plain', form('text/plain'), ACT],
      ['text/plain with charset', form('text/plain;charset=UTF-8'), ACT],
      ['multipart', form('multipart/form-data; boundary=x'), multipart],
      ['no type', { cookie }, ACT],
      ['two types', form('text/plain, application/json'), ACT],
      ['JSON without the header', form('application/json'), ACT],
      ['a header with another value', { ...form('application/json'), 'x-vessel-export': 'read' }, ACT],
      ['an image', { cookie, 'sec-fetch-dest': 'image' }, '', 'GET'],
      ['a method in a header', { cookie, 'x-http-method-override': 'POST' }, '', 'GET'],
    ]);
    await expectAccepted();
  });

  test('is not accepted with a cookie that is none, is forged, of a reader, or has run out', async () => {
    const [name, value] = page.cookie.split('=') as [string, string];
    const reader = await signIn(page.url, READ_PASSWORD, 'Rita');
    const readers = reader.slice(reader.indexOf('=') + 1).split('.');
    const asActor = { ...ACT_HEADERS, cookie: `${name}=${['act', ...readers.slice(1)].join('.')}` };
    await expectRefused([
      ['none', ACT_HEADERS],
      ["a reader's", { ...ACT_HEADERS, cookie: reader }],
      ["a reader's, who says he may act", asActor],
      ['in another header', { ...ACT_HEADERS, authorization: `Bearer ${value}` }],
    ]);
    shiftMs = 13 * HOUR_MS;
    await expectRefused([['run out', { ...ACT_HEADERS, cookie: page.cookie }]]);
    shiftMs = 0;
    await expectAccepted();
  });

  test('names with markup and control characters hold in answers and in the log, and no secret is there', async () => {
    const evil = '<script>alert(1)</script>\u001b[2J\u202e\n{"level":"error","msg":"forged"}';
    const cookie = await signIn(page.url, 'a password to act!', evil);
    const ask = async (body: unknown) => {
      const headers = { ...ACT_HEADERS, cookie };
      const answer = await fetch(`${page.url}/api/acts`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      return ((await answer.json()) as { error: { message: string } }).error.message;
    };
    for (const body of [
      { act: evil },
      { act: 'accept-warning', job: evil, vessel: VESSEL },
      { act: 'accept-warning', job: DAY.job, vessel: evil },
      { act: 'accept-warning', job: 'no-job', vessel: VESSEL, [evil]: 1 },
      { act: 'cancel-backfill', id: evil },
    ])
      expect(unseenIn(await ask(body))).toEqual([]);
    const lines = text.trim().split('\n');
    // One line each: nobody can write another.
    expect(lines.filter((line) => line.includes('"msg":"act"'))).toHaveLength(5);
    expect(lines.filter((line) => (JSON.parse(line) as { msg: string }).msg === 'forged')).toEqual([]);
    for (const line of lines) expect(unseenIn(line), line).toEqual([]);
    expect(page.lines.every(({ by }) => typeof by === 'string' && by.includes('<script>'))).toBe(true);
    for (const secret of ['a password to', cookie.split('=')[1]!, page.cookie.split('=')[1]!])
      expect(text).not.toContain(secret);
  });
});
