/** Messages arrive once: over failures of the receiver, restarts, two leaders and a crash in between. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/core/model/index.ts';
import {
  type Cause,
  causeKey,
  type KnownCauses,
  type ToldCause,
} from '../../../src/fleet/notify/cause-changes.ts';
import { createTeller, type Tell } from '../../../src/fleet/notify/notices.ts';
import { createWebhook, type WebhookSettings } from '../../../src/fleet/notify/webhook.ts';
import { NOTICES_KEY } from '../../../src/lake/keys.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts';
import { newLake, type TestLake } from '../../helpers/run.ts';
import { startWebhookListener, type WebhookListener } from '../../helpers/webhook-listener.ts';

const SECRET = 'a long secret for signing';
const DAY_MS = 86_400_000;
const never = new AbortController().signal;
const HOLD: Cause = { kind: 'hold', members: ['disk-full'], text: 'the queue is on hold: disk-full' };
const FAILED: Cause = {
  kind: 'failed',
  job: 'm',
  members: ['m/IMO9321483/2026-01-05'],
  text: 'm: 1 vessel-day',
};

const listener: WebhookListener = await startWebhookListener();
let lake: TestLake;
let store: ObjectStore;
let clock: ManualClock;

beforeEach(async () => {
  await lake?.[Symbol.asyncDispose]();
  lake = await newLake();
  store = createLocalStore(lake.dir);
  clock = createManualClock();
  listener.status = 200;
  listener.news();
});
afterAll(async () => {
  await lake[Symbol.asyncDispose]();
  await listener[Symbol.asyncDispose]();
});

type NoticeStore = Pick<ObjectStore, 'get' | 'putIf'>;

/** `aheadMs`: of its clock. */
function teller(more: Partial<WebhookSettings> = {}, of: NoticeStore = store, aheadMs = 0): Tell {
  const own = { ...clock, nowMs: () => clock.nowMs() + aheadMs };
  const settings = { url: listener.url, secret: SECRET, format: 'json', name: 'fleet', ...more } as const;
  return createTeller({ store: of, webhook: createWebhook(settings, own), clock: own, log: silentLog });
}

const now = (...causes: Cause[]) =>
  new Map<string, Cause | string>([
    ['hold', 'the queue continues'],
    ['failed/m', 'm: no vessel-day is failed any more'],
    ...causes.map((cause) => [causeKey(cause), cause] as const),
  ]);

/** What was told and is not over. */
async function readTold(): Promise<readonly ToldCause[]> {
  return JSON.parse(Buffer.from((await store.get(NOTICES_KEY))!.bytes).toString('utf8')).told;
}

/** Tell while the clock runs on, as it does between tries. */
async function tell(by: Tell, causes: KnownCauses): Promise<unknown> {
  let ended = false;
  const telling = by(() => causes, never).then(
    () => undefined,
    (error: unknown) => error,
  );
  void telling.finally(() => {
    ended = true;
  });
  while (!ended) {
    await Promise.race([telling, clock.untilSleeping()]);
    if (!ended) await clock.advance(5_000);
  }
  return telling;
}

test('a message has a text, its changes, an id, and a signature of both time and body', async () => {
  await tell(teller(), now(HOLD, FAILED));
  const { headers, body, json } = listener.received.at(-1)!;
  expect(json).toMatchObject({
    messageVersion: 1,
    deployment: 'fleet',
    text: 'vessel-export (fleet)\n🔴 the queue is on hold: disk-full\n🔴 m: 1 vessel-day',
    changes: [
      { what: 'begun', cause: 'hold', members: ['disk-full'], more: 0 },
      { what: 'begun', cause: 'failed', job: 'm', members: FAILED.members },
    ],
  });
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-vessel-export-id': json.id });
  const seconds = Number(headers['x-vessel-export-timestamp']);
  expect(seconds).toBe(Math.floor(clock.nowMs() / 1_000));
  const signature = createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex');
  expect(headers['x-vessel-export-signature']).toBe(`v1=${signature}`);
});

test('chats are sent a text and nothing else, unsigned without a secret', async () => {
  await tell(teller({ format: 'text', secret: undefined }), now(HOLD));
  const { headers, json } = listener.received.at(-1)!;
  expect(json).toEqual({ text: 'vessel-export (fleet)\n🔴 the queue is on hold: disk-full' });
  expect(headers).not.toHaveProperty('x-vessel-export-signature');
});

test('each change is told once, whoever tells: a restart, a new leader', async () => {
  await tell(teller(), now(HOLD));
  await tell(teller(), now(HOLD));
  expect(listener.news()).toEqual(['begun hold']);
  const third = teller();
  await tell(third, now(HOLD, FAILED));
  await tell(third, now(FAILED));
  await tell(teller(), now(FAILED));
  expect(listener.news()).toEqual(['begun failed/m', 'over hold']);
});

test('of two that tell at once one does', async () => {
  const [one, other] = [teller(), teller()];
  await Promise.all([tell(one, now(HOLD)), tell(other, now(HOLD))]);
  await tell(other, now(HOLD));
  expect(listener.news()).toEqual(['begun hold']);
});

test.for([503, 404, 301, 0])(
  'a receiver that answers %s is tried again until it takes the message, which keeps its id',
  async (status) => {
    const own = teller();
    listener.status = status;
    const before = listener.received.length;
    const error = await tell(own, now(HOLD));
    expect(String(error)).toMatch(/could not be delivered to 127\.0\.0\.1:\d+ \(NOTIFY_URL\): /);
    expect(String(error)).not.toContain('a-secret-path');
    expect(listener.received.length - before).toBe(3);
    // Not at once again: that would be a flood.
    await tell(own, now(HOLD));
    expect(listener.received.length - before).toBe(3);
    listener.status = 200;
    await clock.advance(60_000);
    await tell(own, now(HOLD, FAILED));
    await tell(own, now(HOLD, FAILED));
    const ids = listener.received.slice(before).map(({ json }) => json.id);
    expect(new Set(ids.slice(0, 4)).size).toBe(1);
    expect(
      listener.received.slice(before + 4).map(({ json }) => json.changes?.map(({ cause }) => cause)),
    ).toEqual([['failed']]);
  },
);

test('what was over before it could be told is told as both, in order', async () => {
  const own = teller();
  listener.status = 503;
  await tell(own, now(HOLD));
  listener.status = 200;
  listener.news();
  await clock.advance(60_000);
  await tell(own, now());
  expect(listener.news()).toEqual(['begun hold', 'over hold']);
});

test.for([0, 10 * DAY_MS, -10 * DAY_MS])(
  'who dies while telling, with a clock that is off by %d ms, has it sent by another a minute later, with the same id',
  async (aheadMs) => {
    let dies = false;
    const dying: NoticeStore = {
      get: (key) => store.get(key),
      putIf: async (key, bytes, expected) => {
        if (dies) throw new Error('killed');
        dies = true;
        return await store.putIf(key, bytes, expected);
      },
    };
    await tell(teller({}, dying, aheadMs), now(HOLD));
    const next = teller();
    await tell(next, now(HOLD));
    await clock.advance(50_000);
    await tell(next, now(HOLD));
    expect(listener.news()).toEqual(['begun hold']);
    await clock.advance(11_000);
    await tell(next, now(HOLD));
    await tell(next, now(HOLD));
    expect(listener.news()).toEqual(['begun hold']);
    expect(new Set(listener.received.slice(-2).map(({ json }) => json.id)).size).toBe(1);
  },
);

test('what a newer version has told is kept: it is neither told again nor over', async () => {
  await tell(teller(), now(HOLD, FAILED));
  const told = await readTold();
  const newer = { kind: 'tide-too-low', job: 'm', members: ['x'], count: 1, sinceMs: 5, depth: 'unknown' };
  const broken = { kind: 'hold', members: 5 };
  await store.put(
    NOTICES_KEY,
    Buffer.from(JSON.stringify({ noticesVersion: 1, told: [newer, broken, ...told] })),
  );
  listener.news();
  await tell(teller(), now(HOLD, FAILED));
  expect(listener.news()).toEqual([]);
  await tell(teller(), now(FAILED));
  expect(listener.news()).toEqual(['over hold']);
  expect(await readTold()).toContainEqual(newer);
});

test('a message that a newer version was sending is sent as it stands', async () => {
  const change = { what: 'begun', kind: 'tide-too-low', text: 'the tide is too low', members: ['x'] };
  const told = [{ kind: 'tide-too-low', members: ['x'], count: 1, sinceMs: 5 }];
  const message = { id: 'its-id', at: '2026-01-06T06:00:00.000Z', changes: [change] };
  const file = { noticesVersion: 1, told: [], sending: { message, told, by: 'who died', sinceMs: 5 } };
  await store.put(NOTICES_KEY, Buffer.from(JSON.stringify(file)));
  const own = teller();
  await tell(own, now());
  await clock.advance(61_000);
  await tell(own, now(HOLD));
  expect(listener.news()).toEqual(['begun tide-too-low', 'begun hold']);
  expect((await readTold()).map(({ kind }) => kind)).toEqual(['tide-too-low', 'hold']);
});

test('a lake that fails after the message has arrived has it sent no second time by the same process', async () => {
  let puts = 0;
  const flaky: Pick<ObjectStore, 'get' | 'putIf'> = {
    get: (key) => store.get(key),
    putIf: async (key, bytes, expected) => {
      if (++puts === 2) throw new Error('the store is away');
      return await store.putIf(key, bytes, expected);
    },
  };
  const own = teller({}, flaky);
  await tell(own, now(HOLD));
  await tell(own, now(HOLD));
  await tell(own, now());
  expect(listener.news()).toEqual(['begun hold', 'over hold']);
});

test.for(['no JSON', '[]', '{"told":[{"kind":"hold","members":"x"}]}', '{"told":5}'])(
  'a file that holds %s counts as nothing told, and is replaced',
  async (text) => {
    await store.put(NOTICES_KEY, Buffer.from(text));
    await tell(teller(), now(HOLD));
    await tell(teller(), now(HOLD));
    expect(listener.news()).toEqual(['begun hold']);
  },
);
