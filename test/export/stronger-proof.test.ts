/** A job that asks for a stronger proof than its published days have: they are exported again, to the same bytes. */
import { expect, test } from 'vitest';
import type { Job } from '../../src/core/model/index.ts';
import { isAsAsked } from '../../src/core/plan/due.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import { API, jobOf, openMemoryLake, seriesOf } from '../helpers/memory-lake.ts';

test.for<[before: Job['verify'], after: Job['verify'], isAgain: boolean]>([
  ['off', 'exact', true],
  ['off', 'at-least', true],
  ['at-least', 'exact', true],
  ['exact', 'off', false],
  ['exact', 'at-least', false],
  ['at-least', 'off', false],
])('from %s to %s: again %s', async ([before, after, isAgain]) => {
  const lake = openMemoryLake([seriesOf('A')]);
  await lake.run({ job: jobOf('measurements', { verify: before }) });
  const [bytes, asked] = [await lake.bytes(), lake.source.requests.length];
  const job = jobOf('measurements', { verify: after });
  // So status and reconcile call it stale.
  expect(isAsAsked(job, settingsHash(job, API), (await lake.receipt())!)).toBe(!isAgain);
  expect(await lake.run({ job })).toMatchObject({ code: isAgain ? 'published' : 'done' });
  expect(lake.source.requests.length > asked).toBe(isAgain);
  expect((await lake.receipt())!.proof).toBe(isAgain ? after : before);
  expect((await lake.bytes()) === bytes).toBe(true);
  expect(await lake.run({ job })).toMatchObject({ code: 'done' });
});
