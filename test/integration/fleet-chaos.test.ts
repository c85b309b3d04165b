/** The fleet under chaos: in the suite on S3, as a table. With CHAOS_DAYS for longer. */
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { addDays, datesBetween } from '../../src/core/model/index.ts';
import type { Ingredient } from '../chaos/chaos.ts';
import { INGREDIENTS, runChaos } from '../chaos/chaos.ts';
import { azuriteForTests } from '../helpers/azurite.ts';
import { s3Server } from '../helpers/bucket-server.ts';
import { canStartOwnRedis } from '../helpers/redis.ts';
import { OTHER_VESSEL, VESSEL } from '../helpers/run.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { isLong } from '../helpers/tiers.ts';
import type { FleetBench } from './fleet-bench.ts';
import { openFleetBench } from './fleet-bench.ts';

const s3 = await s3ForTests();
const azurite = isLong ? await azuriteForTests()?.() : undefined;
afterAll(() => azurite?.stop());
/** Days of the chaos; two vessels each. */
const DAYS = Number(process.env.CHAOS_DAYS ?? 9);
/** A claim that comes back late is waited for until it is stale, after a minute; more than one may follow each other. */
const timeout = isLong ? 300_000 + DAYS * 10_000 : 240_000;
const FROM = '2026-01-05';
/** What strikes is shown only where somebody asked for more of it. */
const say = process.env.CHAOS_DAYS === undefined ? () => {} : console.log;
/** What strikes: all of it, or the named ones, as `CHAOS=late-writes,poison`. */
const CHAOS: ReadonlySet<Ingredient> = new Set(
  (process.env.CHAOS?.split(',') as Ingredient[] | undefined) ?? [...INGREDIENTS, 'poison'],
);

describe.skipIf(!canStartOwnRedis())('a fleet of three workers', { timeout }, () => {
  let bench: FleetBench;
  afterEach(() => bench[Symbol.asyncDispose]());

  const buckets = s3 && s3Server(s3);
  const places = [
    ['on S3', 'delta', buckets],
    ['on S3', 'plain', buckets],
    ['on Azure', 'delta', azurite],
    ['on Azure', 'plain', azurite],
    ['in a folder', 'plain', undefined],
    ['in a folder', 'delta', undefined],
  ] as const;
  test.for(isLong ? places : places.slice(0, 1))(
    'killed at random, with all around it failing, it loses and doubles no day %s, %s',
    async ([where, layout, store], { skip }) => {
      if (where !== 'in a folder' && store === undefined) skip();
      const env = { LAKE_LAYOUT: layout };
      bench = await openFleetBench({
        service: { vessels: 2, readingsPerDay: 1_500 },
        bucketServer: store,
        env,
      });
      const to = addDays(FROM, DAYS);
      const happened = await runChaos(bench, {
        vessels: [VESSEL, OTHER_VESSEL],
        dates: datesBetween(FROM, to),
        workers: 3,
        seed: 20_260_105,
        ingredients: CHAOS,
        say,
      });
      expect(happened.progress).toContain(`${2 * DAYS} done, 0 failed`);
      expect(happened.kills).toBeGreaterThan(3);
      // Each struck at least once.
      expect([...happened.strikes.keys()].sort()).toEqual([...CHAOS].sort());
      expect(happened.refusedRequests > 0).toBe(CHAOS.has('busy-service'));
      expect(happened.illAnswers > 0).toBe(CHAOS.has('ill-service'));
      await bench.expectExact([VESSEL, OTHER_VESSEL], FROM, to);
      if (layout === 'delta') await bench.expectTable();
      const { code, stdout } = await bench.verify();
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(new RegExp(`${2 * DAYS} vessel-days verified .*: no findings`)),
      });
    },
  );
});
