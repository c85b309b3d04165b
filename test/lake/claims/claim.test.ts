import { expect, test } from 'vitest';
import { FencedError } from '../../../src/core/errors.ts';
import { type ProcessId, silentLog, type VesselDay } from '../../../src/core/model/index.ts';
import { thisProcess } from '../../../src/core/process/process-id.ts';
import type { ClaimPorts } from '../../../src/lake/claims/claim.ts';
import { openCheckpoint } from '../../../src/lake/claims/claim-file.ts';
import { takeClaim } from '../../../src/lake/claims/claims.ts';
import { claimKey, claimPrefix, objectKey } from '../../../src/lake/keys.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { readClaims } from '../../helpers/claims.ts';
import { makeReceipt, writeReceipt } from '../../helpers/ledger.ts';
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';

const day: VesselDay = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
const options = { settingsHash: 'hash', takeover: false };
/** Above what Linux gives. */
const NO_PID = 2 ** 22 + 1;
const elsewhere: ProcessId = { host: 'another-host', pid: 1 };

async function withLake(
  act: (ports: ClaimPorts & { clock: ManualClock }, at: (self: ProcessId) => ClaimPorts) => Promise<void>,
): Promise<void> {
  const store = createMemoryStore();
  const clock = createManualClock(Date.parse('2026-01-06T06:15:00Z'));
  const ports = { store, clock, self: thisProcess(), log: silentLog };
  await act(ports, (self) => ({ ...ports, self }));
}

const receipt = makeReceipt(day, { epoch: 4, settingsHash: 'other' });
const checkpoint = { cursorMicros: 1, parts: [], rowGroups: [] } as never;

test('the first claim has epoch 1, and the next follows the last receipt', () =>
  withLake(async (ports) => {
    const first = await takeClaim(ports, day, options);
    expect(first.claim.epoch).toBe(1);
    await first.claim.finish();
    await writeReceipt(ports.store, receipt);
    const next = await takeClaim(ports, day, options);
    expect(next.claim.epoch).toBe(5);
    expect(next.inheritance.receipt).toEqual(receipt);
    await next.claim.finish();
    expect(await readClaims(ports.store, day)).toEqual([]);
  }));

test('of many racers one becomes the owner', () =>
  withLake(async (ports, at) => {
    // Each on a host of its own: on one host a pid that nobody has would be known dead, and taken over.
    const racers = Array.from({ length: 12 }, (_, n) =>
      takeClaim(at({ host: `host-${n}`, pid: 1 }), day, options),
    );
    const settled = await Promise.allSettled(racers);
    const winners = settled.filter((result) => result.status === 'fulfilled');
    expect(winners).toHaveLength(1);
    for (const result of settled) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(FencedError);
    }
    expect(await readClaims(ports.store, day)).toHaveLength(1);
  }));

test('a live claim is not taken, and the message says whose it is', () =>
  withLake(async (ports, at) => {
    await takeClaim(at(elsewhere), day, options);
    await ports.clock.advance(12_000);
    await expect(takeClaim(ports, day, options)).rejects.toThrow(
      'running elsewhere (host another-host, pid 1, heartbeat 12 s ago)',
    );
  }));

test('a claim with an old heartbeat, and one that is asked for with takeover, is taken', () =>
  withLake(async (ports, at) => {
    await takeClaim(at(elsewhere), day, options);
    expect((await takeClaim(at(elsewhere), day, { ...options, takeover: true })).claim.epoch).toBe(2);
    await ports.clock.advance(60_000);
    expect((await takeClaim(ports, day, options)).claim.epoch).toBe(3);
  }));

test('the claim of a process that has died on this host is taken at once', () =>
  withLake(async (ports, at) => {
    await takeClaim(at({ host: thisProcess().host, pid: NO_PID }), day, options);
    expect((await takeClaim(ports, day, options)).claim.epoch).toBe(2);
  }));

test('the heartbeat keeps a claim alive', () =>
  withLake(async (ports, at) => {
    const { claim } = await takeClaim(at(elsewhere), day, options);
    claim.startHeartbeat();
    for (let beats = 0; beats < 6; beats++) {
      const before = (await readClaims(ports.store, day))[0]?.heartbeatMs ?? 0;
      await ports.clock.untilSleeping();
      await ports.clock.advance(15_000);
      await expect
        .poll(async () => (await readClaims(ports.store, day))[0]?.heartbeatMs)
        .toBeGreaterThan(before);
    }
    await expect(takeClaim(ports, day, options)).rejects.toThrow('running elsewhere');
    await claim.finish();
  }));

test('I5: an overtaken owner writes no checkpoint, no sealed draft, and does not come back', () =>
  withLake(async (ports, at) => {
    const stale = (await takeClaim(at(elsewhere), day, options)).claim;
    const owner = (await takeClaim(ports, day, { ...options, takeover: true })).claim;
    await owner.startClean();
    await expect(stale.writeCheckpoint(checkpoint)).rejects.toThrow(FencedError);
    await expect(stale.writeSealed(null as never)).rejects.toThrow(FencedError);
    await expect(stale.handBack()).rejects.toThrow(FencedError);
    expect((await readClaims(ports.store, day)).map(({ epoch }) => epoch)).toEqual([2]);
    await owner.finish();
    await expect(stale.checkFence()).rejects.toThrow('the claim is gone');
  }));

test('I5: a receipt of the same epoch fences, whoever wrote it', () =>
  withLake(async (ports) => {
    const { claim } = await takeClaim(ports, day, options);
    await writeReceipt(ports.store, { ...receipt, epoch: 1 });
    await expect(claim.checkFence()).rejects.toThrow('attempt 1 has published');
  }));

test('an overtaken owner learns of it by its heartbeat', () =>
  withLake(async (ports, at) => {
    const { claim } = await takeClaim(at(elsewhere), day, options);
    claim.startHeartbeat();
    await takeClaim(ports, day, { ...options, takeover: true });
    const aborted = new Promise((resolve) => claim.signal.addEventListener('abort', resolve));
    await ports.clock.untilSleeping();
    await ports.clock.advance(15_000);
    await aborted;
    expect(claim.signal.reason).toBeInstanceOf(FencedError);
  }));

test('a claim whose day was published is over: what it sealed is not published once more', () =>
  withLake(async (ports, at) => {
    const { claim } = await takeClaim(at(elsewhere), day, options);
    await claim.writeCheckpoint(checkpoint);
    // It died after its receipt, before its claim went.
    await claim.abandon();
    await writeReceipt(ports.store, { ...receipt, epoch: 1 });
    const next = await takeClaim(ports, day, { ...options, takeover: true });
    expect(next.claim.epoch).toBe(2);
    expect(next.inheritance).toEqual({ receipt: { ...receipt, epoch: 1 }, predecessor: undefined });
    await next.claim.finish();
    expect(await readClaims(ports.store, day)).toEqual([]);
  }));

test('a vessel-day that was handed back is taken at once, with its checkpoint', () =>
  withLake(async (ports, at) => {
    const { claim } = await takeClaim(at(elsewhere), day, options);
    await claim.writeCheckpoint(checkpoint);
    await claim.handBack();
    const next = await takeClaim(ports, day, options);
    expect(next.inheritance.predecessor?.checkpoint).toEqual(checkpoint);
    await next.claim.inherit({ checkpoint, sealed: null });
    expect((await readClaims(ports.store, day)).map(({ epoch }) => epoch)).toEqual([2]);
  }));

test('a checkpoint of other settings is not inherited', () =>
  withLake(async (ports, at) => {
    const { claim } = await takeClaim(at(elsewhere), day, options);
    await claim.writeCheckpoint(checkpoint);
    await claim.handBack();
    const next = await takeClaim(ports, day, { ...options, settingsHash: 'other' });
    expect(next.inheritance.predecessor).toBeUndefined();
  }));

test('the furthest progress is inherited although a later attempt died before it got anywhere', () =>
  withLake(async (ports, at) => {
    const first = await takeClaim(at(elsewhere), day, options);
    await first.claim.writeCheckpoint(checkpoint);
    await takeClaim(at(elsewhere), day, { ...options, takeover: true });
    const third = await takeClaim(ports, day, { ...options, takeover: true });
    expect(third.inheritance.predecessor?.epoch).toBe(1);
    expect(await ports.store.get(claimKey(day, 3))).toBeDefined();
    expect(claimPrefix(day)).toMatch(/^_checkpoints\//);
  }));

test('an attempt whose epoch has come again is fenced, and leaves the new claim alone', () =>
  withLake(async (ports, at) => {
    const stopped = await takeClaim(at(elsewhere), day, options);
    const refused = await takeClaim(ports, day, { ...options, takeover: true });
    await refused.claim.startClean();
    await refused.claim.finish();
    const next = await takeClaim(ports, day, options);
    expect(next.claim.epoch).toBe(stopped.claim.epoch);
    const before = await readClaims(ports.store, day);
    await expect(stopped.claim.checkFence()).rejects.toThrow(FencedError);
    await expect(stopped.claim.writeCheckpoint(checkpoint)).rejects.toThrow(FencedError);
    await expect(stopped.claim.handBack()).rejects.toThrow(FencedError);
    expect(await readClaims(ports.store, day)).toEqual(before);
    await next.claim.checkFence();
  }));

test('I7: a heartbeat, checkpoint or draft that comes late is not written into a claim that was fenced', () =>
  withLake(async (ports, at) => {
    const { claim } = await takeClaim(at(elsewhere), day, options);
    await claim.writeCheckpoint(checkpoint);
    const key = claimKey(day, claim.epoch);
    const read = (await ports.store.get(key))!;
    const next = await takeClaim(ports, day, { ...options, takeover: true });
    const fenced = (await ports.store.get(key))!;
    expect(JSON.parse(Buffer.from(fenced.bytes).toString())).toMatchObject({ fencedBy: 2, checkpoint });
    // As a request that was held in the network.
    expect(await ports.store.putIf(key, Buffer.from('late'), read.version)).toBeUndefined();
    await expect(claim.writeSealed(null as never)).rejects.toThrow('attempt 2 has taken over');
    expect((await ports.store.get(key))!.version).toBe(fenced.version);
    expect(next.inheritance.predecessor).toMatchObject({ epoch: 1, checkpoint });
    // Whoever takes over from a successor that died at once still finds it.
    const third = await takeClaim(ports, day, { ...options, takeover: true });
    expect(third.inheritance.predecessor).toMatchObject({ epoch: 1, checkpoint });
  }));

test('I6: what predecessors left open under the key goes before a clean start, and nothing else does', () =>
  withLake(async (ports, at) => {
    const { store } = ports;
    await takeClaim(at(elsewhere), day, options);
    await store.begin(objectKey(day), 'left-behind-1');
    const other = await store.begin(`${objectKey(day)}-of-another`, 'left-alone');
    const { claim } = await takeClaim(ports, day, { ...options, takeover: true });
    await claim.startClean();
    const open: string[] = [];
    for await (const { uploadId } of store.listUploads('')) open.push(uploadId);
    expect(open).toEqual([other.uploadId]);
    expect((await readClaims(store, day)).map(({ epoch }) => epoch)).toEqual([2]);
  }));

test('a heartbeat of a time that has not come keeps nobody from a vessel-day', () =>
  withLake(async (ports, at) => {
    const ahead = (aheadMs: number) => ({ ...ports.clock, nowMs: () => ports.clock.nowMs() + aheadMs });
    const live = await takeClaim({ ...at(elsewhere), clock: ahead(240_000) as never }, day, options);
    await expect(takeClaim(ports, day, options)).rejects.toThrow('running elsewhere');
    await live.claim.finish();
    const inThe22ndCentury = Date.parse('2099-01-01T00:00:00Z') - ports.clock.nowMs();
    await takeClaim({ ...at(elsewhere), clock: ahead(inThe22ndCentury) as never }, day, options);
    expect((await takeClaim(ports, day, options)).claim.epoch).toBe(2);
  }));

test.each([
  ['a receipt', 4],
  ['none', 0],
])('the receipt that counts is the one that is there once the claim stands, where there was %s', (_, epoch) =>
  withLake(async (ports) => {
    const { store } = ports;
    if (epoch > 0) await writeReceipt(store, { ...receipt, epoch });
    // Another attempt does the whole day between our first look and our claim.
    let isFirst = true;
    const slow: ObjectStore = Object.assign(Object.create(store) as ObjectStore, {
      async putIf(...args: Parameters<ObjectStore['putIf']>) {
        if (isFirst) await writeReceipt(store, { ...receipt, epoch: epoch + 1 });
        isFirst = false;
        return store.putIf(...args);
      },
    });
    const { claim, inheritance } = await takeClaim({ ...ports, store: slow }, day, options);
    expect([claim.epoch, inheritance.receipt?.epoch]).toEqual([epoch + 2, epoch + 1]);
    expect((await readClaims(store, day)).map(({ epoch }) => epoch)).toEqual([epoch + 2]);
  }),
);

test('a checkpoint is read as it was written', () =>
  withLake(async (ports) => {
    const { claim } = await takeClaim(ports, day, options);
    const rowGroups = [1, 2].map((rows) => ({ bodyBytes: 10 * rows, tail: Uint8Array.of(rows, 255), rows }));
    await claim.writeCheckpoint({ cursorMicros: 1, parts: [], rowGroups } as never);
    const [file] = await readClaims(ports.store, day);
    const read = openCheckpoint(file!.checkpoint!);
    expect(read.cursorMicros).toBe(1);
    expect(read.rowGroups.map(({ tail, ...rest }) => ({ ...rest, tail: Uint8Array.from(tail) }))).toEqual(
      rowGroups,
    );
  }));
