import { expect, onTestFinished, test } from 'vitest';
import { FatalError } from '../../src/core/errors.ts';
import { createHoldWatch } from '../../src/fleet/hold-watch.ts';
import type { Hold, QueueHold } from '../../src/fleet/queue/hold.ts';
import { PAUSED } from '../../src/fleet/queue/hold.ts';
import { createManualClock } from '../helpers/manual-clock.ts';

const REFUSED = new FatalError('credentials-refused', 'the credentials were refused');

/** The marker that processes share. */
function sharedHold() {
  const shared: { hold: Hold | undefined; handLifts: number } = { hold: undefined, handLifts: 0 };
  const port: QueueHold = {
    async place(hold) {
      const placed = shared.hold === undefined;
      shared.hold ??= hold;
      return placed;
    },
    read: async () => shared.hold,
    async lift(how) {
      const there = shared.hold !== undefined;
      if (there && how?.byHand) shared.handLifts++;
      shared.hold = undefined;
      return there;
    },
    handLifts: async () => shared.handLifts,
  };
  return { shared, port };
}

function openProcess(host: string, port: QueueHold, accepted: () => boolean) {
  const clock = createManualClock();
  const stop = new AbortController();
  const said: string[] = [];
  const did: string[] = [];
  let probes = 0;
  const log = {
    debug() {},
    info: (_fields: object, message: string) => void said.push(message),
    warn: (_fields: object, message: string) => void said.push(message),
    error: (_fields: object, message: string) => void said.push(`ERROR ${message}`),
  };
  const watch = createHoldWatch({
    hold: port,
    clock,
    log,
    host,
    probe: async () => {
      probes++;
      if (!accepted()) throw REFUSED;
    },
    pause: async () => void did.push('pause'),
    resume: async () => void did.push('resume'),
    pollMs: 1_000,
    probeMs: [2_000, 8_000],
  });
  const ended = watch.watch(stop.signal);
  const end = async () => {
    stop.abort();
    await ended;
  };
  onTestFinished(end);
  return {
    watch,
    clock,
    said,
    did,
    probes: () => probes,
    end,
  };
}

test('the fault is said once, by the first who meets it', async () => {
  const { port } = sharedHold();
  const [one, other] = ['a', 'b'].map((host) => openProcess(host, port, () => false));
  await one!.watch.onFault(REFUSED);
  await one!.watch.onFault(REFUSED);
  await other!.watch.onFault(REFUSED);
  const errors = [...one!.said, ...other!.said].filter((line) => line.startsWith('ERROR'));
  expect(errors).toEqual(['ERROR the queue is on hold, no vessel-day is lost: the credentials were refused']);
  expect([one!.did, other!.did]).toEqual([['pause'], ['pause']]);
});

test('the one who refused probes at growing distances', async () => {
  const { port } = sharedHold();
  const one = openProcess('a', port, () => false);
  await one.watch.onFault(REFUSED);
  const at: number[] = [];
  for (let second = 1; second <= 40; second++) {
    const before = one.probes();
    await one.clock.advance(1_000);
    if (one.probes() > before) at.push(second);
  }
  expect(at).toEqual([2, 6, 14, 22, 30, 38]);
});

test('a process whose credentials are accepted lets the queue go on; the refused one stays quiet', async () => {
  const { shared, port } = sharedHold();
  const old = openProcess('old', port, () => false);
  await old.watch.onFault(REFUSED);
  const fresh = openProcess('new', port, () => true);
  await fresh.clock.advance(1_000);
  expect(shared.hold).toBeUndefined();
  expect(fresh.said).toContain('the fault has passed: the queue continues');
  expect(fresh.did).toEqual([]);
  await old.clock.advance(60_000);
  expect(old.did).toEqual(['pause']);
  expect(old.watch.code).toBe('credentials-refused');
});

test('the one who was refused works again once it is accepted', async () => {
  const { shared, port } = sharedHold();
  let accepted = false;
  const one = openProcess('a', port, () => accepted);
  await one.watch.onFault(REFUSED);
  await one.clock.advance(3_000);
  expect(shared.hold?.code).toBe('credentials-refused');
  accepted = true;
  await one.clock.advance(8_000);
  expect(one.did).toEqual(['pause', 'resume']);
  expect([shared.hold, one.watch.code]).toEqual([undefined, undefined]);
});

test('a queue that is not on hold is not probed', async () => {
  const { port } = sharedHold();
  const one = openProcess('a', port, () => true);
  await one.clock.advance(60_000);
  expect(one.probes()).toBe(0);
});

test("a fault that the probe does not meet is the vessel-day's own: nothing stops", async () => {
  const { shared, port } = sharedHold();
  const one = openProcess('a', port, () => true);
  const faults = [1, 2, 3, 4].map(() => one.watch.onFault(new FatalError('no-permission', 'EACCES')));
  expect(await Promise.all(faults)).toEqual([false, false, false, false]);
  expect([one.probes(), one.did, one.said, shared.hold, one.watch.code]).toEqual([
    1,
    [],
    [],
    undefined,
    undefined,
  ]);
});

test('a fault during the stop goes back without a hold', async () => {
  const { shared, port } = sharedHold();
  const one = openProcess('a', port, () => false);
  await one.end();
  expect(await one.watch.onFault(REFUSED)).toBe(true);
  expect([shared.hold, one.did]).toEqual([undefined, []]);
});

test('lifted by hand, who was refused tries at once, and if the fault lasts it is on hold again with its reason', async () => {
  const { shared, port } = sharedHold();
  const one = openProcess('a', port, () => false);
  await one.clock.advance(1_000);
  await one.watch.onFault(REFUSED);
  expect(await port.lift({ byHand: true })).toBe(true);
  await one.clock.advance(1_000);
  // It takes vessel-days again, whatever its probe would say.
  expect([one.did, one.watch.code]).toEqual([['pause', 'resume'], undefined]);
  await one.watch.onFault(REFUSED);
  expect(one.did).toEqual(['pause', 'resume', 'pause']);
  expect(shared.hold).toMatchObject({ code: 'credentials-refused', host: 'a' });
  await one.clock.advance(60_000);
  expect(one.did).toEqual(['pause', 'resume', 'pause']);
});

test('a queue that is not on hold is not lifted by hand: who keeps quiet goes on doing so', async () => {
  const { port } = sharedHold();
  const old = openProcess('old', port, () => false);
  await old.clock.advance(1_000);
  await old.watch.onFault(REFUSED);
  await port.lift();
  expect(await port.lift({ byHand: true })).toBe(false);
  await old.clock.advance(60_000);
  expect(old.did).toEqual(['pause']);
});

test('a queue that is paused without a reason is said once, not probed, and makes its workers unready', async () => {
  const { shared, port } = sharedHold();
  shared.hold = { code: PAUSED, message: 'nothing says why', host: null, sinceMs: null };
  const one = openProcess('a', port, () => true);
  await one.clock.advance(60_000);
  expect([one.probes(), one.said, one.watch.code]).toEqual([0, ['the queue is on hold'], PAUSED]);
  expect(shared.hold).toBeDefined();
  shared.hold = undefined;
  await one.clock.advance(1_000);
  expect(one.watch.code).toBeUndefined();
});
