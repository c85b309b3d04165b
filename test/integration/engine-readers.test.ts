/**
 * Readers of other makes see in a lake of odd values, in both layouts and at every age of a table, what its receipts say.
 * `npm run engines` asks more of them, and on S3.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LAYOUTS } from '../../src/core/model/index.ts';
import { newLake } from '../helpers/run.ts';
import { newMemoryFolder } from '../helpers/temp.ts';
import { flawOf, installedPart, READERS } from '../long/engines/engines.ts';
import { judge } from '../long/engines/judge.ts';
import { lakeStages } from '../long/engines/lakes.ts';
import type { Reader } from '../long/engines/reader.ts';

const { missing } = installedPart('readers');
if (missing !== undefined) {
  if (process.env.CI) throw new Error(`the tests of other engines must run here (CI is set): ${missing}`);
  process.stderr.write(`\n*** THE TESTS OF OTHER ENGINES WERE NOT RUN: ${missing} ***\n\n`);
}

describe.skipIf(missing !== undefined)('other engines', () => {
  const readers = new Map<string, Reader>();
  beforeAll(() => {
    for (const { name, open } of READERS) readers.set(name, open());
  });
  afterAll(async () => {
    for (const reader of readers.values()) await reader[Symbol.asyncDispose]();
  });

  test.for(LAYOUTS)('read every cell, sum and bound of a lake that began %s', async (layout) => {
    await using lake = await newLake();
    await using temp = await newMemoryFolder();
    for await (const stage of lakeStages('odd', layout, { url: lake.url, env: {} }, temp.path)) {
      const asked = READERS.filter(({ layouts }) => stage.history !== 'plain' || layouts.includes('plain'));
      // Each is a process of its own.
      const found = await Promise.all(
        asked.map(async ({ name }) => {
          const judged = await judge(readers.get(name)!, stage, (job) => ({ url: `${lake.dir}/${job}` }));
          expect(judged.asked, name).toBeGreaterThan(40);
          return judged.findings.filter((finding) => flawOf(name, stage.history, finding) === undefined);
        }),
      );
      expect(Object.fromEntries(asked.map(({ name }, n) => [`${stage.history} ${name}`, found[n]]))).toEqual(
        Object.fromEntries(asked.map(({ name }) => [`${stage.history} ${name}`, []])),
      );
    }
  });
});
