import { beforeEach, expect, test } from 'vitest';
import { CommitFailedError, CommitUnknownError, FencedError } from '../../../src/core/errors.ts';
import {
  DayCounts,
  type SealedDay,
  silentLog,
  systemClock,
  type VesselDay,
} from '../../../src/core/model/index.ts';
import { thisProcess } from '../../../src/core/process/process-id.ts';
import type { Claim } from '../../../src/lake/claims/claim.ts';
import { takeClaim } from '../../../src/lake/claims/claims.ts';
import { detailKey, objectKey, receiptKey } from '../../../src/lake/keys.ts';
import { packDetail, readDetail, readNote, readReceipt, writeNote } from '../../../src/lake/ledger/ledger.ts';
import { publishSealed } from '../../../src/lake/publish/publish.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { readClaims } from '../../helpers/claims.ts';
import { makeReceipt } from '../../helpers/ledger.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';

const day: VesselDay = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
let store: ObjectStore;

beforeEach(() => {
  store = createMemoryStore();
});

/** A claim with a sealed day whose object is `content`; null for an empty day. */
async function sealed(content: string | null): Promise<{ claim: Claim; day: SealedDay }> {
  const ports = { store, clock: systemClock, self: thisProcess(), log: silentLog };
  const { claim } = await takeClaim(ports, day, { settingsHash: 'hash', takeover: true });
  const detail = packDetail({ ours: new DayCounts(0), source: null });
  const draft = makeReceipt(day, {
    rows: content === null ? 0 : 1,
    detail: { key: '_detail/measurements/date=2026-01-05/vessel=IMO9321483.json.gz', sha256: detail.sha256 },
  });
  const gzip = Buffer.from(detail.gzip).toString('base64');
  if (content === null) return { claim, day: { upload: null, parts: [], draft, detail: gzip } };
  const upload = await store.begin(objectKey(day), `nonce-${content.length}`);
  const part = await store.append(upload, 1, Buffer.from(content));
  const made: SealedDay = { upload, parts: [part], draft, detail: gzip };
  await claim.writeSealed(made);
  return { claim, day: made };
}

function ports(over: Partial<ObjectStore> = {}, onStep: (step: string) => void = () => {}) {
  const wrapped = Object.assign(Object.create(store) as ObjectStore, over);
  return { store: wrapped, clock: createManualClock(Date.parse('2026-01-06T06:15:00Z')), onStep };
}

async function visible(): Promise<string | undefined> {
  const object = await store.get(objectKey(day));
  return object === undefined ? undefined : Buffer.from(object.bytes).toString();
}

test('I2, I3: the object comes before the receipt, and the claim goes last', async () => {
  const { claim, day: made } = await sealed('data');
  const seen: unknown[] = [];
  const steps = ports({}, (step) => {
    seen.push(step);
  });
  const receipt = await publishSealed(steps, claim, made);
  expect(seen).toEqual(['published', 'detail', 'receipt']);
  expect(await visible()).toBe('data');
  expect(receipt).toMatchObject({ epoch: 1, finishedAt: '2026-01-06T06:15:00.000Z' });
  expect(await readReceipt(store, day)).toEqual(receipt);
  expect(await readDetail(store, receipt)).toEqual({ ours: {}, source: null });
  expect(await readClaims(store, day)).toEqual([]);
});

test('publishing removes the note of an earlier failure', async () => {
  await writeNote(store, { noteVersion: 1, ...day, state: 'failed', code: 'x', message: 'y', at: 'z' });
  const { claim, day: made } = await sealed('data');
  await publishSealed(ports(), claim, made);
  expect(await readNote(store, day)).toBeUndefined();
});

test('a completing call whose answer was lost counts when the object has our id', async () => {
  const { claim, day: made } = await sealed('data');
  const publish: ObjectStore['publish'] = async (upload, parts) => {
    await store.publish(upload, parts);
    throw new CommitUnknownError('answer-lost', 'the answer was lost');
  };
  await publishSealed(ports({ publish }), claim, made);
  expect(await visible()).toBe('data');
});

test('a completing call that did nothing is made again', async () => {
  const { claim, day: made } = await sealed('data');
  let calls = 0;
  const publish: ObjectStore['publish'] = async (upload, parts) => {
    if (++calls === 1) throw new CommitUnknownError('answer-lost', 'nothing happened');
    return store.publish(upload, parts);
  };
  const unreliable = ports({ publish });
  const published = publishSealed(unreliable, claim, made);
  await unreliable.clock.untilSleeping();
  await unreliable.clock.advance(10_000);
  await published;
  expect(calls).toBe(2);
  expect(await visible()).toBe('data');
});

test('after a crash between publish and receipt the successor only writes the receipt', async () => {
  const { claim: dead, day: made } = await sealed('data');
  await store.publish(made.upload!, made.parts);
  await dead.abandon();
  const claimPorts = { store, clock: systemClock, self: thisProcess(), log: silentLog };
  const { claim } = await takeClaim(claimPorts, day, { settingsHash: 'hash', takeover: true });
  await claim.inherit({ checkpoint: null, sealed: made });
  const receipt = await publishSealed(ports(), claim, made);
  expect(receipt.epoch).toBe(2);
  expect(await visible()).toBe('data');
  expect(await readClaims(store, day)).toEqual([]);
});

test('an upload that was swept away is a failed commit, and the old day stays', async () => {
  await store.put(objectKey(day), Buffer.from('old day'));
  const { claim, day: made } = await sealed('data');
  await store.abandon(made.upload!);
  await expect(publishSealed(ports(), claim, made)).rejects.toThrow(CommitFailedError);
  expect(await visible()).toBe('old day');
  expect(await store.get(receiptKey(day))).toBeUndefined();
});

test('I5: an overtaken attempt neither publishes nor writes a receipt', async () => {
  const { claim: stale, day: made } = await sealed('data');
  const claimPorts = { store, clock: systemClock, self: thisProcess(), log: silentLog };
  const takeOver = () => takeClaim(claimPorts, day, { settingsHash: 'hash', takeover: true });
  await (await takeOver()).claim.startClean();
  await expect(publishSealed(ports(), stale, made)).rejects.toThrow(FencedError);
  expect(await visible()).toBeUndefined();
  const { claim: late, day: again } = await sealed('more data');
  const overtake = ports({}, async (step) => {
    if (step !== 'published') return;
    // It finds the object published and says so in a receipt of its own.
    const { claim, inheritance } = await takeOver();
    await claim.inherit({ checkpoint: null, sealed: inheritance.predecessor!.sealed });
    await publishSealed(ports(), claim, inheritance.predecessor!.sealed!);
  });
  await expect(publishSealed(overtake, late, again)).rejects.toThrow(FencedError);
  expect((await readReceipt(store, day))?.epoch).toBe(late.epoch + 1);
});

test('I7: an object that is not what was read is not replaced', async () => {
  const { claim, day: made } = await sealed('data');
  await store.put(objectKey(day), Buffer.from('written meanwhile'));
  await expect(publishSealed(ports(), claim, made)).rejects.toMatchObject({ code: 'object-changed' });
  expect(await visible()).toBe('written meanwhile');
  expect(await store.get(receiptKey(day))).toBeUndefined();
  await claim.lookAgain();
  await publishSealed(ports(), claim, made);
  expect(await visible()).toBe('data');
});

test('I7: nothing is removed on the way: a draft without rows gives way to an object that is there', async () => {
  await store.put(objectKey(day), Buffer.from('old day'));
  const { claim, day: made } = await sealed(null);
  await expect(publishSealed(ports(), claim, made)).rejects.toMatchObject({ code: 'object-changed' });
  expect(await visible()).toBe('old day');
});

test('I7: what a predecessor wrote late gives way to its successor, and what a successor wrote stays', async () => {
  const { claim: stale, day: made } = await sealed('data');
  await store.publish(made.upload!, made.parts);
  const { claim, day: again } = await sealed('more data');
  await claim.startClean();
  const upload = await store.begin(objectKey(day), 'nonce-of-the-second');
  const next = { ...again, upload, parts: [await store.append(upload, 1, Buffer.from('newest'))] };
  await claim.lookAgain();
  // The predecessor's receipt and detail were on their way when it was fenced.
  const draft = { ...made.draft, epoch: stale.epoch, finishedAt: '2026-01-06T09:00:00.000Z' };
  await store.putIf(receiptKey(day), Buffer.from(JSON.stringify(draft)), null);
  await store.putIf(detailKey(day), Buffer.from('late'), null);
  const receipt = await publishSealed(ports(), claim, next);
  expect([await visible(), (await readReceipt(store, day))?.epoch]).toEqual(['newest', claim.epoch]);
  expect(await readDetail(store, receipt)).toEqual({ ours: {}, source: null });
  await expect(stale.putReceipt(draft)).rejects.toThrow('attempt 2 has published');
  await expect(stale.putDetail(Buffer.from('later'))).rejects.toThrow(FencedError);
  expect((await readReceipt(store, day))?.epoch).toBe(claim.epoch);
});
