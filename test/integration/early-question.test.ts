/** The source is asked while a vessel-day is being claimed; what it said then counts only as long as it may. */
import { expect, test } from 'vitest';
import type { AppOverrides } from '../../src/app.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { serviceNames } from '../helpers/lake.ts';
import type { RunExportOptions } from '../helpers/run.ts';
import { DATE, newLake, runExport, serviceForTests, VESSEL } from '../helpers/run.ts';

const JOBS = {
  measurements: { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/Shaft Power'] },
};
const NOON_MICROS = Date.parse(`${DATE}T12:00:00Z`) * 1_000;

const service = await serviceForTests({ readingsPerDay: 1_000 });
/**
 * Does something before the first claim is put, or once it is put and listed, before the lake is asked anything more; and
 * tells what the service has been asked.
 */
function during(
  moment: 'before the claim' | 'once it is alone',
  work: (asked: (family: string) => Promise<void>) => Promise<void>,
) {
  const families: string[] = [];
  const waiting = new Map<string, PromiseWithResolvers<void>>();
  const askedOf = (family: string) => {
    const asked = waiting.get(family) ?? Promise.withResolvers<void>();
    waiting.set(family, asked);
    return asked;
  };
  let state: 'unclaimed' | 'claimed' | 'listed' | 'over' = 'unclaimed';
  const workOnce = async () => {
    state = 'over';
    await work((family) => askedOf(family).promise);
  };
  const overrides: AppOverrides = {
    onRequest: ({ asked }) => {
      const family = asked.split(' ')[0]!;
      families.push(family);
      askedOf(family).resolve();
    },
    wrapStore: (store): ObjectStore => ({
      ...store,
      async putIf(key, bytes, expected) {
        const isClaim = key.startsWith('_checkpoints/') && expected === null;
        if (isClaim && state === 'unclaimed' && moment === 'before the claim') await workOnce();
        if (isClaim && state === 'unclaimed') state = 'claimed';
        return store.putIf(key, bytes, expected);
      },
      async *list(prefix) {
        yield* store.list(prefix);
        if (prefix.startsWith('_checkpoints/') && state === 'claimed') state = 'listed';
      },
      async get(key) {
        if (state === 'listed') await workOnce();
        return store.get(key);
      },
    }),
  };
  return { overrides, families };
}

test('series and counts have been asked before the lake is looked at again, once, and readings not', async () => {
  await using lake = await newLake();
  let before: string[] = [];
  const { overrides, families } = during('once it is alone', async (asked) => {
    await asked('statistics');
    before = [...families];
  });
  const run = (options: Partial<RunExportOptions>) =>
    runExport({ service, lakeUrl: lake.url, jobs: JOBS, ...options });
  const { results } = await run({ overrides });
  expect(results).toMatchObject([{ exported: true }]);
  expect(before).toEqual(['metadata', 'statistics']);
  expect(families).toEqual(['metadata', 'statistics', 'measurements']);

  const again = during('before the claim', async () => {});
  const { results: done } = await run({ overrides: again.overrides });
  expect(done).toMatchObject([{ exported: false }]);
  expect(again.families).toEqual([]);
});

test('counts from before somebody else published are asked anew, and refuse nothing', async () => {
  await using lake = await newLake();
  const [series] = [...(await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys()];
  const run = (options: Partial<RunExportOptions>) =>
    runExport({ service, lakeUrl: lake.url, jobs: JOBS, ...options });
  let between: number | undefined;
  const { overrides, families } = during('before the claim', async () => {
    // A receipt that nobody has read yet, with the epoch that is being claimed.
    service.overlay.addReadings(series!, [{ timestampMicros: NOON_MICROS + 1, valueText: '1.5' }]);
    between = (await run({})).results[0]?.rows;
  });
  const { code, results } = await run({ overrides, args: { force: true } });
  expect([code, results]).toMatchObject([0, [{ exported: true, rows: between }]]);
  expect(between).toBeGreaterThan(0);
  expect(families.slice(-3)).toEqual(['metadata', 'statistics', 'measurements']);
});

test('a day that somebody else works on asks nothing', async () => {
  await using lake = await newLake();
  const run = (options: Partial<RunExportOptions>) =>
    runExport({ service, lakeUrl: lake.url, jobs: JOBS, ...options });
  const other = during('before the claim', async () => {});
  let whileOwned: Awaited<ReturnType<typeof run>> | undefined;
  const { overrides } = during('once it is alone', async () => {
    whileOwned = await run({ overrides: other.overrides });
  });
  const { results } = await run({ overrides });
  expect(results).toMatchObject([{ exported: true }]);
  expect(whileOwned).toMatchObject({ code: 1 });
  expect(other.families).toEqual([]);
});
