/** gc: what unfinished exports left is found and, with --yes, removed; what anybody may go on with is not touched. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { gcCommand } from '../../src/cli/commands/gc.ts';
import type { ClaimFile, Receipt, VesselDay } from '../../src/core/model/index.ts';
import { systemClock } from '../../src/core/model/index.ts';
import { thisProcess } from '../../src/core/process/process-id.ts';
import { claimKey, noteKey, objectKey, receiptKey } from '../../src/lake/keys.ts';
import type { GarbageItem } from '../../src/lake/upkeep/garbage.ts';
import { findGarbage } from '../../src/lake/upkeep/garbage.ts';
import { PROBE_PREFIX } from '../../src/store/key.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ObjectStore, UploadRef } from '../../src/store/store.ts';
import { commandRun } from '../helpers/command-run.ts';
import { lakeFiles } from '../helpers/lake.ts';
import { makeReceipt } from '../helpers/ledger.ts';
import { callCli, DATE, newLake, VESSEL, writeJobs } from '../helpers/run.ts';
import { s3ForTests } from '../helpers/s3.ts';
import type { StorePlace } from '../helpers/store-places.ts';
import { storePlaces } from '../helpers/store-places.ts';

const s3 = await s3ForTests();
const DAY: VesselDay = { job: 'measurements', vessel: VESSEL, date: DATE };
const HOUR_MS = 3_600_000;
/** Files are written now; gc looks at them later. */
const NOW_MS = Date.now();
const NEXT_WEEK = NOW_MS + 7 * 24 * HOUR_MS;
/** And a little: a file's time has microseconds, so that it may be later than what the clock says next. */
const inAnHour = () => Date.now() + 1.1 * HOUR_MS;

function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function claimOf(epoch: number, more: Partial<ClaimFile> = {}): ClaimFile {
  const base = {
    claimVersion: 1,
    epoch,
    attempt: 'a',
    settingsHash: 'h',
    checkpoint: null,
    sealed: null,
  } as const;
  return { ...base, owner: { host: 'elsewhere', pid: 1 }, heartbeatMs: NOW_MS, ...more };
}

function receiptOfEpoch(epoch: number): Receipt {
  return makeReceipt(DAY, { epoch, finishedAt: '2026-01-06T08:00:00.000Z' });
}

function noteAt(at: string) {
  return { noteVersion: 1, ...DAY, state: 'failed', code: 'counts-disagree', message: 'x', at };
}

async function upload(store: ObjectStore, day: VesselDay, nonce: string): Promise<UploadRef> {
  const ref = await store.begin(objectKey(day), nonce);
  await store.append(ref, 1, Buffer.from('some bytes'));
  return ref;
}

/** `gc --json` at a moment: `<state> <kind>: <message>`. */
async function gc(place: Pick<StorePlace, 'url' | 'env'>, atMs: number, yes = false): Promise<string[]> {
  const jobs = { other: { dataset: 'measurements', select: ['flat/{vessel}/*'] } };
  const clock = { ...systemClock, nowMs: () => atMs };
  const { code, stdout } = await commandRun({ lakeUrl: place.url, jobs, env: place.env }, (context) =>
    gcCommand(context, { json: true, yes }, { clock }),
  );
  expect(code).toBe(0);
  const { items } = JSON.parse(stdout) as { items: { state: string; kind: string; message: string }[] };
  return items.map(({ state, kind, message }) => `${state} ${kind}: ${message}`);
}

describe.each(storePlaces(s3))('%s', (_, open) => {
  let place: StorePlace;
  let store: ObjectStore;

  beforeEach(async () => {
    place = await open();
    ({ store } = place);
    return async () => {
      await store.close();
      await place.drop();
    };
  });

  const uploads = async () => {
    const found: string[] = [];
    for await (const { key } of store.listUploads('')) found.push(key);
    return found;
  };

  /** Claim and upload are there. */
  const expectKept = async () => {
    expect(await store.head(claimKey(DAY, 3))).toBeDefined();
    expect(await uploads()).toEqual([objectKey(DAY)]);
  };

  test('an empty lake has nothing', async () => {
    expect(await gc(place, NEXT_WEEK, true)).toEqual([]);
  });

  test('an abandoned claim and its upload are shown first, and removed with --yes', async () => {
    await store.put(claimKey(DAY, 3), json(claimOf(3)));
    await upload(store, DAY, 'nonce-1');
    const shown = await gc(place, NEXT_WEEK);
    expect(shown).toEqual([
      expect.stringMatching(/^would-be-removed claim: abandoned [67] days ago$/),
      expect.stringMatching(/^would-be-removed upload: begun [67] days ago, and no claim goes on with it$/),
    ]);
    await expectKept();
    const removed = await gc(place, NEXT_WEEK, true);
    expect(removed).toEqual(shown.map((line) => line.replace('would-be-removed', 'removed')));
    expect(await store.head(claimKey(DAY, 3))).toBeUndefined();
    expect(await uploads()).toEqual([]);
    expect(await gc(place, NEXT_WEEK, true)).toEqual([]);
  });

  test('a claim that was given back today keeps its checkpoint and upload', async () => {
    await store.put(claimKey(DAY, 3), json(claimOf(3, { heartbeatMs: 0 })));
    await upload(store, DAY, 'nonce-1');
    const kept = ['kept claim: 12 h old: the next run continues it', 'kept upload: a claim may continue it'];
    expect(await gc(place, Date.now() + 12.2 * HOUR_MS, true)).toEqual(kept);
    await expectKept();
  });

  test('a live claim is not touched, however old its upload and whatever the receipt says', async () => {
    const owner = thisProcess();
    await store.put(claimKey(DAY, 3), json(claimOf(3, { owner, heartbeatMs: NEXT_WEEK })));
    await store.put(receiptKey(DAY), json(receiptOfEpoch(3)));
    await upload(store, DAY, 'nonce-1');
    const kept = ['kept claim: a live process owns it', 'kept upload: a claim may continue it'];
    expect(await gc(place, NEXT_WEEK, true)).toEqual(kept);
    await expectKept();
  });

  test('a heartbeat of a time that has not come keeps nothing', async () => {
    await store.put(claimKey(DAY, 3), json(claimOf(3, { heartbeatMs: Date.parse('2099-01-01T00:00:00Z') })));
    expect(await gc(place, NEXT_WEEK, true)).toEqual(['removed claim: abandoned 6 days ago']);
    expect(await store.head(claimKey(DAY, 3))).toBeUndefined();
  });

  test('a claim that somebody takes over between the last look and the removal stays', async () => {
    await store.put(claimKey(DAY, 3), json(claimOf(3, { heartbeatMs: 0 })));
    const taken = json(claimOf(3, { heartbeatMs: 0, fencedBy: 4 }));
    const slow: ObjectStore = Object.assign(Object.create(store) as ObjectStore, {
      async removeIf(key: string, version: string) {
        await store.put(key, taken);
        return store.removeIf(key, version);
      },
    });
    const clock = { ...systemClock, nowMs: () => NEXT_WEEK };
    for await (const item of findGarbage({ store: slow, clock, self: thisProcess() }))
      expect([item.kind, await item.remove()]).toEqual(['claim', false]);
    expect(Buffer.from((await store.get(claimKey(DAY, 3)))!.bytes)).toEqual(taken);
  });

  test('claims that a receipt has overtaken go at once, newer ones stay', async () => {
    await store.put(receiptKey(DAY), json(receiptOfEpoch(4)));
    for (const epoch of [3, 4, 5])
      await store.put(claimKey(DAY, epoch), json(claimOf(epoch, { heartbeatMs: 0 })));
    expect((await gc(place, inAnHour(), true)).sort()).toEqual([
      'kept claim: 1 h old: the next run continues it',
      'removed claim: attempt 4 has published the day',
      'removed claim: attempt 4 has published the day',
    ]);
    expect(await store.head(claimKey(DAY, 5))).toBeDefined();
  });

  test('what a newer claim may inherit stays with it', async () => {
    await store.put(claimKey(DAY, 3), json(claimOf(3)));
    await store.put(claimKey(DAY, 4), json(claimOf(4, { heartbeatMs: NEXT_WEEK })));
    expect(await gc(place, NEXT_WEEK, true)).toEqual([
      'kept claim: a live process owns it',
      'kept claim: a newer claim may continue it',
    ]);
  });

  test('a sealed claim whose day is published stays: only its receipt is missing', async () => {
    const ref = await upload(store, DAY, 'nonce-1');
    const part = await store.append(ref, 1, Buffer.from('the day'));
    await store.publish(ref, [part]);
    const sealed = { upload: ref, parts: [part], detail: null, draft: {} } as unknown as ClaimFile['sealed'];
    await store.put(claimKey(DAY, 1), json(claimOf(1, { sealed })));
    const kept = ['kept claim: the day is published and lacks only its receipt: run it again'];
    expect(await gc(place, NEXT_WEEK, true)).toEqual(kept);
    // Another object stands there now: nothing can be made of the claim any more.
    await store.put(objectKey(DAY), Buffer.from('another day'));
    expect(await gc(place, NEXT_WEEK, true)).toEqual([expect.stringMatching(/^removed claim: abandoned/)]);
  });

  test('a claim that cannot be read counts by its age', async () => {
    await store.put(claimKey(DAY, 1), Buffer.from('{"epoch":'));
    expect(await gc(place, inAnHour(), true)).toEqual(['kept claim: 1 h old: the next run continues it']);
    expect(await gc(place, NEXT_WEEK, true)).toEqual([expect.stringMatching(/^removed claim: abandoned/)]);
  });

  test('an upload of today stays, and so does what is not ours', async () => {
    await upload(store, DAY, 'nonce-1');
    const foreign = await store.begin('backup/archive.tar', 'nonce-2');
    expect(await gc(place, inAnHour(), true)).toEqual([
      expect.stringMatching(/^kept upload: begun \d h ago$/),
    ]);
    expect(await gc(place, NEXT_WEEK, true)).toEqual([expect.stringMatching(/^removed upload/)]);
    expect(await uploads()).toEqual(['backup/archive.tar']);
    await store.abandon(foreign);
  });

  test('what a process left that was killed while it tried the store goes after a day', async () => {
    await store.put(`${PROBE_PREFIX}one`, Buffer.from('probe'));
    await store.begin(`${PROBE_PREFIX}two`, 'nonce-1');
    const left = async () => {
      const keys: string[] = [];
      for await (const { key } of store.list(PROBE_PREFIX)) keys.push(key);
      return [...keys, ...(await uploads())];
    };
    expect(await gc(place, inAnHour(), true)).toEqual(
      Array(2).fill(expect.stringMatching(/^kept probe: left by a probe \d h ago$/)),
    );
    expect(await left()).toEqual([`${PROBE_PREFIX}one`, `${PROBE_PREFIX}two`]);
    expect(await gc(place, NEXT_WEEK, true)).toEqual(Array(2).fill(expect.stringMatching(/^removed probe/)));
    expect(await left()).toEqual([]);
  });

  test('what somebody takes up meanwhile is left to them', async () => {
    await store.put(claimKey(DAY, 3), json(claimOf(3)));
    await upload(store, DAY, 'nonce-1');
    const clock = { ...systemClock, nowMs: () => NEXT_WEEK };
    const items: GarbageItem[] = [];
    for await (const item of findGarbage({ store, clock, self: thisProcess() })) items.push(item);
    expect(items.map(({ kind, keep }) => ({ kind, keep }))).toEqual([
      { kind: 'claim', keep: false },
      { kind: 'upload', keep: false },
    ]);
    await store.put(claimKey(DAY, 4), json(claimOf(4, { heartbeatMs: NEXT_WEEK })));
    for (const item of items) expect(await item.remove()).toBe(false);
    await expectKept();
  });

  test('a note goes when its day has been published since, not when it tells of a later attempt', async () => {
    await store.put(receiptKey(DAY), json(receiptOfEpoch(1)));
    await store.put(noteKey(DAY), json(noteAt('2026-01-06T09:00:00.000Z')));
    expect(await gc(place, NOW_MS, true)).toEqual([]);
    await store.put(noteKey(DAY), json(noteAt('2026-01-06T07:00:00.000Z')));
    expect(await gc(place, NOW_MS, true)).toEqual(['removed note: the day has been published since']);
    expect(await store.head(noteKey(DAY))).toBeUndefined();
    // Without a receipt it is all there is to know of the day; so it is with a damaged one.
    await store.put(noteKey(DAY), json(noteAt('2026-01-06T07:00:00.000Z')));
    await store.put(receiptKey(DAY), Buffer.from('{'));
    expect(await gc(place, NOW_MS, true)).toEqual([]);
  });
});

test('temp files of dead writers go, those of living ones stay', async () => {
  await using lake = await newLake();
  const dead = spawn(process.execPath, ['-e', '']);
  await once(dead, 'exit');
  const store = await openStore(lake.url, {});
  await store.put(receiptKey(DAY), json(receiptOfEpoch(1)));
  const { createTemp, dropTemp } = await import('../../src/store/local/temps.ts');
  const alive = await createTemp(join(lake.dir, '_ledger', 'living.json'));
  await alive.file.close();
  const deadTemp = alive.path.replace(/-\d+-/, `-${dead.pid}-`).replace('_ledger', '_notes');
  await mkdir(dirname(deadTemp), { recursive: true });
  await writeFile(deadTemp, 'half a fi');
  const elsewhere = join(dirname(deadTemp), `.x.json.00000000-1-0123456789abcdef.put`);
  await writeFile(elsewhere, 'of another host, two hours ago');
  await utimes(elsewhere, new Date(NOW_MS - 2 * HOUR_MS), new Date(NOW_MS - 2 * HOUR_MS));
  const place = { url: lake.url, env: {} };
  expect(await gc(place, NOW_MS)).toEqual(Array(2).fill('would-be-removed temp-file: its writer is dead'));
  expect(await gc(place, NOW_MS, true)).toEqual(Array(2).fill('removed temp-file: its writer is dead'));
  expect((await stat(alive.path)).isFile()).toBe(true);
  await dropTemp(alive.path);
  expect([...(await lakeFiles(lake.dir)).keys()]).toEqual([receiptKey(DAY)]);
});

test('the command shows a table and how to remove', async () => {
  await using lake = await newLake();
  const store = await openStore(lake.url, {});
  await store.put(receiptKey(DAY), json(receiptOfEpoch(2)));
  await store.put(claimKey(DAY, 2), json(claimOf(2, { heartbeatMs: 0 })));
  const jobsDir = await writeJobs({ measurements: { dataset: 'measurements', select: ['flat/{vessel}/*'] } });
  const env = { LAKE_URL: lake.url, JOBS_DIR: jobsDir };
  const shown = await callCli(['gc'], env);
  expect(shown.stdout).toContain(
    `would be removed  claim  ${claimKey(DAY, 2)}  attempt 2 has published the day\n`,
  );
  expect(shown.stdout).toMatch(/\n1 to remove, 0 kept; --yes removes them\n$/);
  const removed = await callCli(['gc', '--yes'], env);
  expect(removed.stdout).toMatch(/\n1 removed, 0 kept\n$/);
  expect(removed.code).toBe(0);
  await rm(jobsDir, { recursive: true });
});
