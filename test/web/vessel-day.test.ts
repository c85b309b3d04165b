/** What is answered of a vessel-day, over real HTTP, of lakes that were really exported: in a folder and as a table. */
import { cp } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { convertCommand } from '../../src/cli/commands/convert.ts';
import { RetriableError } from '../../src/core/errors.ts';
import type { ClaimFile, Clock, Note, Receipt, VesselDay } from '../../src/core/model/index.ts';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import { openVesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { jsonBytes } from '../../src/lake/json.ts';
import { claimKey, detailKey, noteKey, objectKey, receiptKey } from '../../src/lake/keys.ts';
import { writeNote } from '../../src/lake/ledger/ledger.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import type { AboutAnswer } from '../../src/web/answers.ts';
import { rangeOf } from '../../src/web/vessel-day-object.ts';
import { commandRun } from '../helpers/command-run.ts';
import { makeJob, startDayServer, startQueuedDayServer } from '../helpers/day-server.ts';
import { hostileNames } from '../helpers/hostile-text.ts';
import { lakeReadings, serviceNames } from '../helpers/lake.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import {
  DATE,
  FEW_SERIES,
  mustExport,
  newLake,
  OTHER_VESSEL,
  startTestService,
  VESSEL,
} from '../helpers/run.ts';

const DAY: VesselDay = { job: 'measurements', vessel: VESSEL, date: DATE };
const PATH = `measurements/days/${VESSEL}/${DATE}`;
const METADATA = { dataset: 'metadata', vessels: [VESSEL], select: ['flat/{vessel}/*'] };
const redis = await redisForTests();

let service: TestService;
let names: Map<string, string>;
beforeAll(async () => {
  service = await startTestService({ readingsPerDay: 3_000 });
  names = await serviceNames(service, [`flat/${VESSEL}/S*`]);
});
afterAll(() => service.close());

/** What an export of the day has left, once for all tests that begin with it. */
let exported: TestLake | undefined;
afterAll(() => exported?.[Symbol.asyncDispose]());

/** A lake in a folder with the day, a server on it, and its store. */
async function openLake(env: Record<string, string> = {}) {
  const jobs = { measurements: FEW_SERIES };
  const lake = await newLake();
  if (Object.keys(env).length > 0) {
    await mustExport({ service, lakeUrl: lake.url, jobs, env });
    return await serve(lake);
  }
  if (exported === undefined) {
    const first = await newLake();
    await mustExport({ service, lakeUrl: first.url, jobs });
    exported = first;
  }
  await cp(exported.dir, lake.dir, { recursive: true });
  return await serve(lake);
}

async function serve(lake: TestLake) {
  const store = await openStore(lake.url, {});
  const jobs = [makeJob(), makeJob({ name: 'metadata', dataset: 'metadata' })];
  const server = await startDayServer(store, jobs);
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await store.close();
    await lake[Symbol.asyncDispose]();
  });
  return { lake, store, server, api: `${server.url}/api/jobs` };
}

async function receiptIn(store: ObjectStore): Promise<Receipt> {
  return JSON.parse(Buffer.from((await store.get(receiptKey(DAY)))!.bytes).toString());
}

async function errorOf(answer: Response) {
  const { error } = (await answer.json()) as { error: { code: string; message: string } };
  return [answer.status, error.code, error.message] as const;
}

test('a published day says what was published, hour by hour, and its series with names and units', async () => {
  const { lake, store, server } = await openLake();
  const today = new Date().toISOString().slice(0, 10);
  await mustExport({ service, lakeUrl: lake.url, jobs: { metadata: METADATA }, args: { from: today } });
  const answer = await server.answer(PATH);
  const receipt = await receiptIn(store);
  expect(answer).toMatchObject({
    ...DAY,
    dataset: 'measurements',
    state: 'published',
    receipt,
    note: null,
    warning: null,
    claim: null,
    queued: null,
    logIds: { vesselDay: `measurements/${VESSEL}/${DATE}`, epochs: [1] },
    versions: [],
    problems: [],
    object: { url: `/api/jobs/${PATH}/object`, sizeBytes: receipt.object!.sizeBytes },
  });
  const { lines } = await lakeReadings(`${lake.dir}/${objectKey(DAY)}`);
  const [rows, hours] = [new Map<string, number>(), new Array(24).fill(0)];
  for (const line of lines) {
    const [micros, id] = line.split('\t') as [string, string];
    rows.set(id, (rows.get(id) ?? 0) + 1);
    hours[new Date(Number(micros) / 1_000).getUTCHours()]++;
  }
  expect(answer.hours).toEqual({ ours: hours, source: hours });
  expect(
    new Map(answer.series.filter((one) => one.rows > 0).map(({ id, rows: count }) => [id, count])),
  ).toEqual(rows);
  for (const { id, name } of answer.series) expect(name).toBe(names.get(id));
  expect(answer.series.find(({ name }) => name?.endsWith('/Shaft Power'))).toMatchObject({ unit: 'kW' });
  expect(answer.series.map(({ rows: count }) => count)).toEqual(
    answer.series.map(({ rows: count }) => count).toSorted((a, b) => b - a),
  );
});

test('the state is the one that status says: stale, missing, not due', async () => {
  const { server, store } = await openLake();
  await using other = await startDayServer(store, [makeJob({ select: ['flat/{vessel}/*'] })]);
  expect((await other.answer(PATH)).state).toBe('stale');
  const never = await server.answer(`measurements/days/${OTHER_VESSEL}/${DATE}`);
  expect(never).toMatchObject({
    state: 'missing',
    receipt: null,
    object: null,
    hours: null,
    series: [],
    note: null,
  });
  expect(never.problems).toEqual([
    `job measurements names its vessels, and ${OTHER_VESSEL} is not among them`,
  ]);
  const later = await server.answer(
    `measurements/days/${VESSEL}/${addDays(new Date().toISOString().slice(0, 10), 3)}`,
  );
  expect(later.state).toBe('not-due');
});

test('addresses that name no vessel-day are told what was expected', async () => {
  const { api } = await openLake();
  const wrong: [string, string, RegExp][] = [
    [
      `nights/days/${VESSEL}/${DATE}`,
      'unknown-job',
      /no job 'nights' here; there are: measurements, metadata/,
    ],
    [`measurements/days/9321483/${DATE}`, 'no-such-vessel', /expected IMO and seven digits/],
    [`measurements/days/..%2f..%2f_lake.json/${DATE}`, 'no-such-vessel', /is no vessel/],
    [`measurements/days/${VESSEL}/2026-02-30`, 'no-such-date', /expected a day of the calendar/],
    [
      `measurements/days/${encodeURIComponent(hostileNames.escape)}/${DATE}`,
      'no-such-vessel',
      /is no vessel/,
    ],
    [`measurements/days/${VESSEL}/2026-01-05%00/object`, 'no-such-date', /is no date/],
  ];
  for (const [path, code, text] of wrong) {
    const [status, found, message] = await errorOf(await fetch(`${api}/${path}`));
    expect([status, found], path).toEqual([404, code]);
    expect(message, path).toMatch(text);
    expect(message).not.toContain('\u001b');
  }
});

describe('the object by ranges', () => {
  test('single ranges, open ones, the end, all of it, and what HEAD says', async () => {
    const { api, store } = await openLake();
    const { bytes } = (await store.get(objectKey(DAY)))!;
    const whole = Buffer.from(bytes);
    const size = whole.length;
    const get = async (range?: string) => {
      const answer = await fetch(`${api}/${PATH}/object`, range === undefined ? {} : { headers: { range } });
      return {
        status: answer.status,
        range: answer.headers.get('content-range'),
        body: Buffer.from(await answer.arrayBuffer()),
      };
    };
    const some: [string, number, number][] = [
      ['bytes=0-3', 0, 4],
      [`bytes=${size - 8}-`, size - 8, size],
      ['bytes=-100', size - 100, size],
      [`bytes=10-${size * 2}`, 10, size],
      [`bytes=-${size * 2}`, 0, size],
    ];
    for (const [range, from, to] of some)
      expect(await get(range), range).toEqual({
        status: 206,
        range: `bytes ${from}-${to - 1}/${size}`,
        body: whole.subarray(from, to),
      });
    for (const range of [undefined, 'lines=1-2', 'bytes=9-3', 'bytes=x'])
      expect(await get(range), range).toEqual({ status: 200, range: null, body: whole });
    for (const range of [`bytes=${size}-`, 'bytes=0-1,5-6', 'bytes=-0'])
      expect(await get(range), range).toMatchObject({ status: 416, range: `bytes */${size}` });
    const head = await fetch(`${api}/${PATH}/object`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), head.headers.get('accept-ranges')]).toEqual([
      200,
      String(size),
      'bytes',
    ]);
    expect(head.headers.get('etag')).toMatch(/^"[0-9a-f]{32}"$/);
  });

  test('a range is what RFC 9110 says it is', () => {
    expect(rangeOf('bytes=0-0', 10)).toEqual({ fromByte: 0, toByte: 1 });
    expect(rangeOf(' BYTES=2-  ', 10)).toEqual({ fromByte: 2, toByte: 10 });
    expect(rangeOf('bytes=99999999999999999999-', 10)).toBeUndefined();
    expect(() => rangeOf('bytes=0-', 0)).toThrow(/0 bytes/);
  });

  test('a day that is replaced is refused to whom has seen the old one, and an ETag never means two', async () => {
    const { api, server, lake } = await openLake();
    const etag = (await server.answer(PATH)).object!.etag;
    const get = (headers: Record<string, string>) => fetch(`${api}/${PATH}/object`, { headers });
    const before = await get({ range: 'bytes=0-3', 'if-match': etag });
    expect([before.status, before.headers.get('etag')]).toEqual([206, etag]);
    const [id] = names.keys();
    service.overlay.addReadings(id!, [
      { timestampMicros: Date.parse(`${DATE}T12:00:00Z`) * 1_000 + 1, valueText: '7.5' },
    ]);
    await mustExport({ service, lakeUrl: lake.url, args: { force: true } });
    const late = await get({ range: 'bytes=0-3', 'if-match': etag });
    expect((await errorOf(late)).slice(0, 2)).toEqual([412, 'replaced']);
    const newer = (await server.answer(PATH)).object!.etag;
    expect(newer).not.toBe(etag);
    expect((await get({ 'if-match': `"other", ${newer}` })).status).toBe(200);
    expect((await get({ 'if-match': `W/${newer}` })).status).toBe(412);
    // Whose copy is old gets all of the new one.
    expect((await get({ range: 'bytes=0-3', 'if-range': etag })).status).toBe(200);
    expect((await get({ range: 'bytes=0-3', 'if-range': newer })).status).toBe(206);
  });

  test('what a receipt names is read only if it is an object of that day', async () => {
    const { api, store, server } = await openLake();
    const receipt = await receiptIn(store);
    await store.put('_secret.json', jsonBytes({ secret: 1 }));
    await store.put(`measurements/vessel=${OTHER_VESSEL}/date=${DATE}/data.parquet`, jsonBytes({ other: 1 }));
    for (const key of [
      '_secret.json',
      receiptKey(DAY),
      objectKey({ ...DAY, vessel: OTHER_VESSEL }),
      '../../etc/passwd',
    ]) {
      await store.put(receiptKey(DAY), jsonBytes({ ...receipt, object: { ...receipt.object, key } }));
      const answer = await server.answer(PATH).catch(() => undefined);
      expect(answer?.object ?? null, key).toBeNull();
      expect((await fetch(`${api}/${PATH}/object`)).status, key).not.toBe(200);
    }
    await store.put(
      receiptKey(DAY),
      jsonBytes({ ...receipt, detail: { ...receipt.detail, key: '_secret.json' } }),
    );
    const answer = await server.answer(PATH);
    expect(answer.hours).toBeNull();
    expect(answer.problems.join()).not.toContain('secret":');
  });

  test('an object replaced between two reads of one answer ends it: no body is of two versions', async () => {
    const { store, lake } = await openLake();
    const receipt = await receiptIn(store);
    const [old, other] = [Buffer.alloc(9 << 20, 1), Buffer.alloc(9 << 20, 2)];
    await store.put(objectKey(DAY), old);
    await store.put(
      receiptKey(DAY),
      jsonBytes({ ...receipt, object: { ...receipt.object, sizeBytes: old.length } }),
    );
    let reads = 0;
    const replacing: ObjectStore = {
      ...store,
      async getRange(key, from, to) {
        if (key === objectKey(DAY) && ++reads === 2) await store.put(key, other);
        return await store.getRange(key, from, to);
      },
    };
    await using server = await startDayServer(replacing, [makeJob()]);
    const answer = await fetch(`${server.url}/api/jobs/${PATH}/object`);
    expect(answer.status).toBe(200);
    await expect(answer.arrayBuffer()).rejects.toThrow();
    expect(reads).toBe(2);
    expect(lake.dir).toBeTruthy();
  });
});

describe('what is damaged or gone is told, and the rest is answered', () => {
  test('receipt, note, claim, detail and object', async () => {
    const { store, server } = await openLake();
    const sound = (await store.get(receiptKey(DAY)))!.bytes;
    const garbage = Buffer.from('{"receiptVersion":1');

    await store.put(receiptKey(DAY), garbage);
    const noReceipt = await server.answer(PATH);
    expect(noReceipt).toMatchObject({ state: 'failed', receipt: null, object: null, hours: null });
    expect(noReceipt.note).toMatchObject({
      code: 'damaged-receipt',
      next: expect.stringContaining('vessel-export verify measurements'),
    });
    expect(noReceipt.problems).toEqual([expect.stringContaining(receiptKey(DAY))]);
    await store.put(receiptKey(DAY), sound);

    await store.put(noteKey(DAY), garbage);
    await store.put(claimKey(DAY, 7), garbage);
    const detail = (await store.get(detailKey(DAY)))!.bytes;
    await store.put(detailKey(DAY), Buffer.concat([detail.subarray(0, 40), Buffer.from('xx')]));
    const damaged = await server.answer(PATH);
    expect(damaged.receipt).not.toBeNull();
    expect(damaged).toMatchObject({ state: 'failed', note: { code: 'damaged-file' } });
    expect([damaged.hours, damaged.series, damaged.claim]).toEqual([null, [], null]);
    for (const key of [noteKey(DAY), claimKey(DAY, 7), detailKey(DAY)])
      expect(damaged.problems, key).toContainEqual(expect.stringContaining(key));
    expect(damaged.logIds.epochs).toEqual([1, 7]);

    await store.remove(detailKey(DAY));
    await store.remove(objectKey(DAY));
    const gone = await server.answer(PATH);
    expect(gone.object).toBeNull();
    for (const key of [detailKey(DAY), objectKey(DAY)])
      expect(gone.problems, key).toContainEqual(expect.stringContaining(key));
  });

  test('a failed day says what to do, with its own names', async () => {
    const { store, server } = await openLake();
    const note: Note = {
      ...{ noteVersion: 1, ...DAY, state: 'refused', code: 'would-shrink' },
      ...{ message: `it would lose ${hostileNames.escape} readings`, at: '2099-01-01T00:00:00.000Z' },
    };
    await writeNote(store, note);
    const answer = await server.answer(PATH);
    expect(answer.state).toBe('refused');
    expect(answer.note?.message).not.toContain('\u001b');
    expect(answer.note?.next).toContain(
      `'vessel-export run measurements --from ${DATE} --to ${addDays(DATE, 1)} --vessel ${VESSEL} --force --allow-shrink'`,
    );
  });
});

test('an attempt under way, and one that was broken off', async () => {
  const { store, server } = await openLake();
  const day = { ...DAY, date: addDays(DATE, 1) };
  const path = `measurements/days/${VESSEL}/${day.date}`;
  const claim: ClaimFile = {
    ...{ claimVersion: 1, epoch: 4, attempt: 'a', owner: { host: 'there', pid: 77 }, settingsHash: 'x' },
    ...{ heartbeatMs: Date.now(), checkpoint: null, sealed: null },
  };
  await store.put(claimKey(day, 4), jsonBytes(claim));
  const live = await server.answer(path);
  expect([live.state, live.claim, live.logIds.epochs]).toMatchObject([
    'running',
    { epoch: 4, host: 'there', pid: 77, state: 'live', rowsStored: null, rowsKnown: null },
    [4],
  ]);
  const heartbeatMs = Date.now() - 3_600_000;
  await store.put(claimKey(day, 4), jsonBytes({ ...claim, heartbeatMs }));
  const left = await server.answer(path);
  expect([left.state, left.claim?.state, left.claim?.heartbeatAt]).toEqual([
    'missing',
    'left',
    new Date(heartbeatMs).toISOString(),
  ]);
});

describe.skipIf(redis === undefined)('with a queue', () => {
  afterAll(() => redis?.stop());

  test('what the queue says of the day, and that Redis is away', async () => {
    const { store } = await openLake();
    const date = addDays(DATE, 1);
    const prefix = redis!.newPrefix();
    const connection = await openRedis(redis!.url);
    const client = connection.openForQueue();
    const queue = openVesselDayQueue({ redis: client, prefix });
    await using server = await startQueuedDayServer(store, [makeJob()], { queue, redis: client });
    const path = `measurements/days/${VESSEL}/${date}`;
    expect((await server.answer(path)).queued).toBeNull();
    await queue.add([{ ...DAY, date, kind: 'backfill' }]);
    expect(await server.answer(path)).toMatchObject({
      state: 'queued',
      queued: { state: 'prioritized', kind: 'backfill', attempts: 0, reason: null },
      problems: [],
    });
    // What no vessel-day is made of is told as far as it can be, and stays where it is.
    await client.hset(queue.bull.toKey(`measurements/${VESSEL}/${date}`), 'data', '{"kind":');
    expect((await server.answer(path)).queued).toMatchObject({ kind: 'unknown' });
    await queue.close();
    await connection.close();
    const away = await server.answer(path);
    expect(away.queued).toBeNull();
    expect(away.problems.join()).toContain('Redis is out of reach: whether the vessel-day is in the queue');
    expect(away.state).toBe('missing');
  });
});

test('on a table: earlier versions that the log names, each with its own rows', async () => {
  const env = { LAKE_LAYOUT: 'delta' };
  const { lake, store, server, api } = await openLake(env);
  const [id] = names.keys();
  const first = await receiptIn(store);
  service.overlay.addReadings(id!, [
    { timestampMicros: Date.parse(`${DATE}T13:00:00Z`) * 1_000 + 1, valueText: '8.5' },
  ]);
  await mustExport({ service, lakeUrl: lake.url, env, args: { force: true } });
  const second = await receiptIn(store);
  expect(second.rows).toBe(first.rows + 1);
  const answer = await server.answer(PATH);
  expect(answer.versions).toMatchObject([
    { version: 2, rows: second.rows, sizeBytes: second.object!.sizeBytes, isCurrent: true },
    { version: 1, rows: first.rows, sizeBytes: first.object!.sizeBytes, isCurrent: false },
  ]);
  for (const [version, receipt] of [
    [1, first],
    [2, second],
  ] as const) {
    const body = Buffer.from(await (await fetch(`${api}/${PATH}/object?version=${version}`)).arrayBuffer());
    expect(body.equals(Buffer.from((await store.get(receipt.object!.key))!.bytes)), String(version)).toBe(
      true,
    );
  }
  const current = await fetch(`${api}/${PATH}/object`, { headers: { range: 'bytes=0-9' } });
  expect(current.headers.get('content-range')).toBe(`bytes 0-9/${second.object!.sizeBytes}`);
  for (const [version, status] of [
    ['0', 404],
    ['3', 404],
    ['-1', 400],
    ['1&version=2', 400],
    ['x', 400],
  ] as const)
    expect((await fetch(`${api}/${PATH}/object?version=${version}`)).status, version).toBe(status);
});

test('a lake that is converted while the page is open is one of tables from then on', async () => {
  const { lake, server, api } = await openLake();
  const layout = async () => {
    const about = (await (await fetch(`${server.url}/api/about`)).json()) as AboutAnswer;
    return about.layout;
  };
  expect([await layout(), (await server.answer(PATH)).versions]).toEqual(['plain', []]);
  const quick: Clock = {
    ...systemClock,
    sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 20), signal),
  };
  const jobs = { measurements: FEW_SERIES };
  const converted = await commandRun({ lakeUrl: lake.url, jobs }, (context) =>
    convertCommand(context, { to: 'delta' }, { clock: quick }),
  );
  expect(converted.code, converted.stderr).toBe(0);
  expect(await layout()).toBe('delta');
  const { versions } = await server.answer(PATH);
  expect(versions).toMatchObject([{ isCurrent: true }]);
  const { version } = versions[0]!;
  expect((await fetch(`${api}/${PATH}/object?version=${version}`)).status).toBe(200);
});

test('a lake that is away leaves the page what it said of itself', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  const store = await openStore(lake.url, {});
  const read = store.get.bind(store);
  await using server = await startDayServer(store, [makeJob()]);
  const about = () => fetch(`${server.url}/api/about`);
  expect((await about()).status).toBe(200);
  store.get = async () => {
    throw new RetriableError('store-unreachable', 'away');
  };
  expect(await (await about()).json()).toMatchObject({ layout: 'plain' });
  store.get = () => new Promise(() => {});
  expect(await (await about()).json()).toMatchObject({ layout: 'plain' });
  store.get = read;
  await store.close();
});
