/**
 * Many processes replace the same vessel-days of a table at once, and are killed at random: every version is consistent,
 * and no day is lost or doubled. In the long tier for longer, with CHAOS_DAYS longer still.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addDays, datesBetween, systemClock } from '../../src/core/model/index.ts';
import { thisProcess } from '../../src/core/process/process-id.ts';
import { findGarbage } from '../../src/lake/upkeep/garbage.ts';
import { runVerify } from '../audit/verify/audit-lake.ts';
import { watched } from '../chaos/watched.ts';
import type { CrashBench, CrashLake, RunningExport } from '../crash/crash-lake.ts';
import { DATE, DAY, leftovers, openCrashBench, VESSEL } from '../crash/crash-lake.ts';
import { serviceNames } from '../helpers/lake.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { awsEnv } from '../helpers/s3-client.ts';
import { expectTableAgrees, replayTable } from '../helpers/table.ts';
import { isLong } from '../helpers/tiers.ts';
import { checkProtocol } from '../lake/table/protocol-check.ts';

const s3 = await s3ForTests();
/** Shown only where somebody asked for more of it. */
const say = process.env.CHAOS_DAYS === undefined ? () => {} : console.log;
const PROCESSES = isLong ? 8 : 3;
const DAYS = isLong ? 2 * Number(process.env.CHAOS_DAYS ?? 9) : 4;
const timeout = isLong ? 300_000 + DAYS * 10_000 : 120_000;
const KILLS = isLong ? 40 : 3;
const JOB = { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/*'] };
const TO = addDays(DATE, DAYS);
const DATES = datesBetween(DATE, TO);

/** Uniform in [0, n), the same for the same seed. */
function createRandom(seed: number): (n: number) => number {
  let state = seed >>> 0;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** As `gc` does, two days later: who was killed may have left the upload of a checkpoint, or of a probe. */
async function sweep({ store }: CrashLake): Promise<void> {
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 2 * 86_400_000 };
  for await (const { keep, remove } of findGarbage({ store, clock, self: thisProcess() }))
    if (!keep) await remove();
}

describe('a table under many writers that are killed', { timeout }, () => {
  let bench: CrashBench;
  let series: string;
  let added = 0;
  const drops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    bench = await openCrashBench(1_000, {});
    [series] = [...(await serviceNames(bench.service, [`flat/${VESSEL}/Shaft Power`])).keys()] as [string];
  });
  afterAll(async () => {
    for (const drop of drops) await drop();
    await bench[Symbol.asyncDispose]();
  });

  /** The source has one reading more on every one of these dates. */
  function addReadings(dates: readonly string[]): void {
    added++;
    for (const date of dates) {
      const timestampMicros = Date.parse(`${date}T12:00:00Z`) * 1_000 + added;
      bench.service.overlay.addReadings(series, [{ timestampMicros, valueText: '1.5' }]);
    }
  }

  async function lakeOn(where: string): Promise<CrashLake> {
    if (where === 'in a folder') return bench.localLake('delta');
    const { bucket, drop } = await s3!.newBucket();
    drops.push(drop);
    return bench.lakeAt(`s3://${bucket}/lake`, {
      LAKE_LAYOUT: 'delta',
      ...awsEnv(s3!),
    });
  }

  test.for(isLong ? ['in a folder', 'on S3'] : ['in a folder'])(
    'loses and doubles nothing %s',
    async (where, { skip }) => {
      if (where === 'on S3' && s3 === undefined) skip();
      const lake = await lakeOn(where);
      const random = createRandom(20_260_105);
      const begin = (): RunningExport => {
        // Slices that overlap: the same vessel-day is wanted by several at once.
        const from = random(DAYS);
        const to = Math.min(DAYS, from + 1 + random(DAYS));
        return bench.start(lake, { from: DATES[from]!, to: addDays(DATE, to), force: true });
      };
      const alive = Array.from({ length: PROCESSES }, begin);
      const howFar = async () =>
        `${alive.filter(({ process }) => process.exitCode === null).length} exports; ${bench.service.requests.length} requests`;
      for (let kills = 0; kills < KILLS; kills++) {
        // Where it strikes is left to chance on purpose; whatever the moment, the outcome must hold.
        await new Promise((resolve) => setTimeout(resolve, 400 + random(1_200)));
        addReadings(DATES.filter(() => random(2) === 0));
        const at = random(alive.length);
        alive[at]!.process.kill('SIGKILL');
        alive[at] = begin();
      }
      // Another process has a vessel-day: that one says so, and the others are done.
      const ends = Promise.all(alive.map(({ ended }) => ended));
      for (const { code, output } of await watched(ends, { howFar, lastWords: () => '', say }))
        expect([0, 1], output).toContain(code);
      addReadings(DATES);
      const last = await bench.run(lake, { from: DATE, to: TO, force: true });
      expect(last.code, last.output).toBe(0);

      const receipts = await expectTableAgrees(lake.store, DAY.job);
      expect([...receipts.keys()].sort()).toEqual(DATES.map((date) => `vessel=${VESSEL}/date=${date}`));
      for (const { proof, table } of receipts.values())
        expect([proof, table]).toEqual(['exact', { version: expect.any(Number) }]);
      await sweep(lake);
      expect(await leftovers(lake)).toEqual([]);
      const { url: lakeUrl, env } = lake;
      const verified = await runVerify({ lakeUrl, env, jobs: { measurements: JOB } });
      expect([verified.code, verified.found]).toEqual([0, []]);
      if (lakeUrl.startsWith('file:'))
        expect((await checkProtocol(join(fileURLToPath(lakeUrl), DAY.job))).faults).toEqual([]);
      const { versions, operations } = await replayTable(lake.store, DAY.job);
      expect(operations[0]).toBe('CREATE TABLE');
      expect(versions).toBeGreaterThan(2);
    },
  );
});
