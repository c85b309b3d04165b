/**
 * A write that comes late changes nothing (I7): each mutation of a vessel-day's export is held past a takeover and a
 * third publish, then let go. The newest day stays, and every run says the truth. On S3: test/integration/late-writes.test.ts.
 */
import { expect, test } from 'vitest';
import type { Layout } from '../../src/core/model/index.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { type OpenLake, openMemoryLake, seriesOf } from '../helpers/memory-lake.ts';
import { expectTableAgrees } from '../helpers/table.ts';

const MUTATIONS = [
  ...['put', 'putIf', 'putIfAbsent', 'remove', 'removeAll', 'removeIf'],
  ...['begin', 'append', 'adopt', 'publish', 'abandon'],
] as const;

/** A store that holds the n-th mutation. `held` resolves when it is, with its name. */
function holding(store: ObjectStore, nth: number) {
  const [held, gate] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
  let seen = 0;
  const wrapped = { ...store };
  for (const name of MUTATIONS) {
    const act = store[name] as (...args: unknown[]) => Promise<unknown>;
    Object.assign(wrapped, {
      [name]: async (...args: unknown[]) => {
        if (++seen === nth) {
          held.resolve(name);
          await gate.promise;
        }
        return act(...args);
      },
    });
  }
  return { store: wrapped, held: held.promise, release: gate.resolve };
}

/** Hold the n-th mutation of a run; its name, undefined where there is none. */
async function holdPast(lake: OpenLake, nth: number, force: boolean): Promise<string | undefined> {
  let readings = 3;
  const addReading = () => {
    lake.source.series = [seriesOf('A', ++readings)];
  };
  if (force) {
    await lake.run();
    // In a table an unchanged day is neither completed nor committed.
    addReading();
  }
  const { store, held, release } = holding(lake.store, nth);
  // Its heartbeats wait as well.
  const late = lake.run({ force, over: { store, clock: createManualClock(lake.clock.nowMs()) } });
  const what = await Promise.race([held, late.then(() => undefined)]);
  if (what === undefined) return undefined;
  const before = await lake.receipt();
  addReading();
  expect(await lake.run({ force, takeover: true }), what).not.toHaveProperty('message', /./);
  addReading();
  const third = await lake.run({ force: true, takeover: true });
  expect(third, what).toMatchObject({ code: 'published', receipt: { rows: readings } });
  const bytes = await lake.bytes();
  release();
  const { code, receipt } = await late;
  expect(await lake.receipt(), what).toMatchObject({ rows: readings });
  expect((await lake.bytes()) === bytes, what).toBe(true);
  // It was overtaken and says so; or it says what it had published before it was held; or it began anew and found or published the newest.
  if (code === 'published') expect(receipt!.rows, what).toBe(what === 'removeAll' ? before!.rows : readings);
  else expect(code, what).toMatch(/^(fenced|done)$/);
  expect(await lake.unfinished(), what).toEqual([]);
  if (lake.layout === 'delta') await expectTableAgrees(lake.store, 'm');
  expect(await lake.run(), what).toMatchObject({ code: 'done', receipt: { rows: readings } });
  return what;
}

const NEW = ['putIf', 'putIf', 'begin', 'append', 'putIf', 'publish', 'putIf', 'putIf', 'removeAll'];
test.for<[string, Layout, boolean, string[]]>([
  ['a new day', 'plain', false, NEW],
  ['a day that is replaced', 'plain', true, NEW.slice(1)],
  [
    'a new day of a table',
    'delta',
    false,
    [NEW[0]!, 'putIfAbsent', ...NEW.slice(1, 6), 'putIfAbsent', ...NEW.slice(6)],
  ],
  ['a day that is replaced in a table', 'delta', true, [...NEW.slice(1, 6), 'putIfAbsent', ...NEW.slice(6)]],
])('of %s', async ([, layout, force, mutations]) => {
  const held: string[] = [];
  for (;;) {
    const what = await holdPast(openMemoryLake([seriesOf('A')], layout), held.length + 1, force);
    if (what === undefined) break;
    held.push(what);
  }
  expect(held).toEqual(mutations);
});
