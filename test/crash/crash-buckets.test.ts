/** The crash table on real servers of S3 and Azure: a day of several parts of ≥ 5 MiB, in the suite of few readings with long texts. */
import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Layout } from '../../src/core/model/index.ts';
import { LAYOUTS } from '../../src/core/model/index.ts';
import { azuriteForTests } from '../helpers/azurite.ts';
import { s3Server } from '../helpers/bucket-server.ts';
import { serviceNames } from '../helpers/lake.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { isLong } from '../helpers/tiers.ts';
import type { CrashBench, CrashLake } from './crash-lake.ts';
import { DATE, leftovers, openCrashBench, publishedBytes, receiptOf, stateOf, VESSEL } from './crash-lake.ts';

const s3 = await s3ForTests();

const azurite = await azuriteForTests()?.();
afterAll(() => azurite?.stop());

const SERVERS = [
  ['on S3', s3 && s3Server(s3)],
  ['on Azure', azurite],
] as const;
const REACHED = SERVERS.filter(([, server]) => server !== undefined);

describe.each(REACHED)('%s, a day of several parts', (_, server) => {
  let bench: CrashBench;
  let undisturbed: Uint8Array;
  const drops: (() => Promise<void>)[] = [];

  async function newLake(layout: Layout = 'plain'): Promise<CrashLake> {
    const { bucket, drop } = await server!.newBucket();
    drops.push(drop);
    return bench.lakeAt(server!.urlOf(bucket), { ...server!.envAt(server!.origin), LAKE_LAYOUT: layout });
  }

  beforeAll(async () => {
    bench = await openCrashBench(isLong ? 4_200_000 : 1_000, isLong ? {} : { rowGroupRows: 3_000 });
    if (!isLong) await addLongTexts();
    const lake = await newLake();
    const end = await bench.run(lake);
    expect(end.code, end.output).toBe(0);
    undisturbed = (await publishedBytes(lake))!;
    expect((await receiptOf(lake))!.object!.parts.length).toBeGreaterThanOrEqual(3);
  });
  afterAll(async () => {
    for (const drop of drops) await drop();
    await bench[Symbol.asyncDispose]();
  });

  /** What nobody can compress, over the whole day: a row group is a part. */
  async function addLongTexts(): Promise<void> {
    const [id] = [...(await serviceNames(bench.service, [`flat/${VESSEL}/Shaft Power`])).keys()];
    const readings = Array.from({ length: 9_000 }, (_, n) => {
      const words = Array.from({ length: 24 }, (_, word) => hash('sha512', `${n} ${word}`, 'base64'));
      return { timestampMicros: Date.parse(DATE) * 1_000 + n * 9_000_000, valueText: `"${words.join('')}"` };
    });
    bench.service.overlay.addReadings(id!, readings);
  }

  async function expectUndisturbed(lake: CrashLake): Promise<void> {
    expect(Buffer.compare((await publishedBytes(lake))!, undisturbed)).toBe(0);
    expect((await receiptOf(lake))?.proof).toBe('exact');
    expect(await leftovers(lake)).toEqual([]);
  }

  const steps = [
    ['plain', 'checkpoint', 1],
    ['plain', 'published', 1],
    ['delta', 'completed', 1],
  ] as const;
  test.for(isLong ? steps : steps.slice(0, 1))(
    '%s: killed at %s, the %i. time, it goes on to the same bytes',
    async ([layout, step, nth]) => {
      const lake = await newLake(layout);
      expect((await bench.run(lake, { step, nth })).signal).toBe('SIGKILL');
      expect((await publishedBytes(lake)) !== undefined).toBe(step === 'published');
      const again = await bench.run(lake);
      expect(again.code, again.output).toBe(0);
      await expectUndisturbed(lake);
    },
  );

  test.for(isLong ? LAYOUTS : [])(
    'stopped after a part and overtaken, it writes nothing: %s',
    async (layout) => {
      const lake = await newLake(layout);
      const stopped = bench.start(lake, { step: 'part-uploaded', nth: 2, how: 'stop' });
      await expect.poll(() => stateOf(stopped.process.pid!)).toBe('T');
      const successor = await bench.run(lake, { takeover: true });
      expect(successor.code, successor.output).toBe(0);
      stopped.process.kill('SIGCONT');
      const end = await stopped.ended;
      expect(end.code, end.output).toBe(1);
      await expectUndisturbed(lake);
    },
  );

  test.for(isLong ? LAYOUTS : [])(
    'of two processes on one vessel-day of a bucket one publishes: %s',
    async (layout) => {
      const lake = await newLake(layout);
      const ends = await Promise.all([bench.run(lake), bench.run(lake)]);
      expect(ends.filter(({ output }) => output.includes('1 published'))).toHaveLength(1);
      await expectUndisturbed(lake);
    },
  );
});
