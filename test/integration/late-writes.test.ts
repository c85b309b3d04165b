/**
 * A write that comes late changes nothing (I7), with a real bucket: as test/export/late-writes.test.ts, and `verify`
 * finds nothing after it.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Layout, VesselDay } from '../../src/core/model/index.ts';
import { readReceipt } from '../../src/lake/ledger/ledger.ts';
import { openStore } from '../../src/store/open-store.ts';
import { runVerify } from '../audit/verify/audit-lake.ts';
import { serviceNames } from '../helpers/lake.ts';
import type { RanExport, RunExportOptions } from '../helpers/run.ts';
import { DATE, runExport, serviceForTests, VESSEL } from '../helpers/run.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { awsEnv } from '../helpers/s3-client.ts';
import { expectTableAgrees } from '../helpers/table.ts';
import { isLong } from '../helpers/tiers.ts';
import { startFaultProxy } from '../store/fault-proxy.ts';

const s3 = await s3ForTests();
const DAY: VesselDay = { job: 'measurements', vessel: VESSEL, date: DATE };
const NOON_MICROS = Date.parse(`${DATE}T12:00:00Z`) * 1_000;
/** One series is enough. */
const JOBS = {
  measurements: { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/Shaft Power'] },
};

/** Where a run's n-th mutation can be held. */
interface HoldingPlace {
  readonly lakeUrl: string;
  readonly env: Record<string, string>;
  /** Hold the n-th mutation of the run with these options. `held` resolves when it is, and with undefined when there is none. */
  holding(nth: number): { options: Partial<RunExportOptions>; held: Promise<string>; release(): void };
}

const service = await serviceForTests({ readingsPerDay: 1_000 });
let series: string;
let added = 0;

beforeAll(async () => {
  [series] = [...(await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys()] as [string];
});
/** The source has one reading more. */
function addReading(): void {
  service.overlay.addReadings(series, [{ timestampMicros: NOON_MICROS + ++added, valueText: '1.5' }]);
}

async function publishedRows({ lakeUrl, env }: HoldingPlace): Promise<number | undefined> {
  const store = await openStore(lakeUrl, env);
  try {
    return (await readReceipt(store, DAY))?.rows;
  } finally {
    await store.close();
  }
}

async function expectVerified({ lakeUrl, env }: HoldingPlace, what: string): Promise<void> {
  if (env.LAKE_LAYOUT === 'delta') {
    const store = await openStore(lakeUrl, env);
    await expectTableAgrees(store, DAY.job).finally(() => store.close());
  }
  const verified = await runVerify({ service, lakeUrl, env, jobs: JOBS, deep: true });
  expect([verified.code, verified.found], what).toEqual([0, []]);
}

async function holdPast(place: HoldingPlace, nth: number, force: boolean): Promise<string | undefined> {
  const { lakeUrl, env } = place;
  const perform = (
    args: RunExportOptions['args'],
    options: Partial<RunExportOptions> = {},
  ): Promise<RanExport> => runExport({ service, lakeUrl, env, jobs: JOBS, args: args!, ...options });
  const { options, held, release } = place.holding(nth);
  const late = perform({ force }, options);
  const what = await Promise.race([held, late.then(() => undefined)]);
  if (what === undefined) return undefined;
  const rowsBefore = await publishedRows(place);
  addReading();
  const second = await perform({ force, takeover: true });
  expect([second.code, second.error], what).toEqual([0, undefined]);
  addReading();
  const third = await perform({ force: true, takeover: true });
  expect([third.code, third.results[0]?.state], what).toEqual([0, 'published']);
  release();
  const { code, results } = await late;
  const rows = await publishedRows(place);
  expect(rows, what).toBe(third.results[0]!.rows);
  // It was overtaken and says so; or it says what it had published before it was held; or
  // it began anew and found or published the newest.
  const isAfterReceipt = what.includes('delete=');
  if (code !== 0) expect(results[0], what).toMatchObject({ state: 'running', code: 'fenced' });
  else expect(results[0], what).toMatchObject({ rows: isAfterReceipt ? rowsBefore : rows });
  await expectVerified(place, what);
  const again = await perform({});
  expect(again.results[0], what).toMatchObject({ state: 'published', exported: false, rows });
  return what;
}

/** Hold one mutation after the other, until a run has fewer. */
async function holdEach(
  newPlace: () => Promise<HoldingPlace & AsyncDisposable>,
  force: boolean,
): Promise<string[]> {
  const all: string[] = [];
  for (let nth = 1; ; nth++) {
    await using place = await newPlace();
    if (force) {
      const { lakeUrl, env } = place;
      const first = await runExport({ service, lakeUrl, env, jobs: JOBS });
      expect(first.code).toBe(0);
      // In a table an unchanged day is neither completed nor committed.
      if (env.LAKE_LAYOUT === 'delta') addReading();
    }
    const what = await holdPast(place, nth, force);
    if (what === undefined) return all;
    all.push(what);
  }
}

describe.skipIf(s3 === undefined)('on S3, held in the network', () => {
  const placeOf = (layout: Layout) => async () => {
    const { bucket, drop } = await s3!.newBucket();
    const proxy = await startFaultProxy(s3!.endpoint);
    const env = {
      ...awsEnv(s3!),
      LAKE_LAYOUT: layout,
    };
    return {
      lakeUrl: `s3://${bucket}/lake`,
      env,
      holding(nth: number) {
        const [held, gate] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
        let seen = 0;
        const isHeld = ({ method, url }: { method: string; url: string }) => {
          const isMutation = ['PUT', 'POST', 'DELETE'].includes(method) && !url.includes('_probes');
          if (!isMutation || ++seen !== nth) return false;
          held.resolve(`${method} ${decodeURIComponent(url)}`);
          return true;
        };
        proxy.script(isHeld, { kind: 'hold', until: gate.promise });
        const options = { env: { ...env, AWS_ENDPOINT_URL_S3: proxy.endpoint } };
        return { options, held: held.promise, release: gate.resolve };
      },
      async [Symbol.asyncDispose]() {
        await proxy[Symbol.asyncDispose]();
        await drop();
      },
    };
  };

  // What the lake is comes first.
  const newDay = ['PUT', 'PUT', 'POST', 'PUT', 'PUT', 'POST', 'PUT', 'PUT', 'POST'];
  test.each<[string, boolean, string[]]>([
    ...(isLong ? [['of a new day', false, newDay] satisfies [string, boolean, string[]]] : []),
    ['of a day that is replaced', true, ['PUT', 'POST', 'PUT', 'PUT', 'POST', 'PUT', 'PUT', 'POST']],
  ])('%s', async (_, force, mutations) => {
    const held = await holdEach(placeOf('plain'), force);
    expect(held.map((what) => what.split(' ')[0])).toEqual(mutations);
  });

  test.for(isLong ? (['delta'] as const) : [])(
    'of a day that is replaced, in a lake of layout %s',
    { timeout: 120_000 },
    async (layout) => {
      const held = await holdEach(placeOf(layout), true);
      const mutations = ['PUT', 'POST', 'PUT', 'PUT', 'POST', 'PUT', 'PUT', 'PUT', 'POST'];
      expect(held.map((what) => what.split(' ')[0])).toEqual(mutations);
    },
  );
});
