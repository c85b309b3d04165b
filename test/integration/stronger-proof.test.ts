/** A job that asks for a stronger proof than its published days have. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { reconcileCommand } from '../../src/cli/commands/reconcile.ts';
import { statusCommand } from '../../src/cli/commands/status.ts';
import { addDays } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import { commandRun } from '../helpers/command-run.ts';
import { expectExactDay, receiptOf } from '../helpers/lake.ts';
import type { TestLake } from '../helpers/run.ts';
import {
  DATE,
  FEW_EXPRESSIONS,
  FEW_SERIES,
  mustExport,
  newLake,
  QUICK_LIMITS,
  serviceForTests,
  VESSEL,
} from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const ONE_DAY = { from: DATE, to: addDays(DATE, 1), json: true };

const service = await serviceForTests();
let lake: TestLake;
beforeEach(async () => {
  lake = await newLake();
});
afterEach(() => lake[Symbol.asyncDispose]());

const file = () => join(lake.dir, objectKey(DAY));
const jobs = (verify: string) => ({ measurements: { ...FEW_SERIES, verify } });
const exported = (verify: string) => mustExport({ service, lakeUrl: lake.url, jobs: jobs(verify) });

/** What two commands say of the day under a policy. */
async function states(verify: string) {
  const place = { service, lakeUrl: lake.url, jobs: jobs(verify) };
  const overrides = { clientLimits: QUICK_LIMITS };
  const status = await commandRun(place, (context) => statusCommand(context, [], ONE_DAY));
  const reconcile = await commandRun(place, (context) => reconcileCommand(context, [], ONE_DAY, overrides));
  return {
    status: JSON.parse(status.stdout).days[0].state,
    reconcile: JSON.parse(reconcile.stdout).findings.map(({ state }: { state: string }) => state),
  };
}

test.for([
  ['off', 'exact', 'exact'],
  ['off', 'at-least', 'at-least'],
  ['at-least', 'exact', 'exact'],
])('from %s to %s, days are stale and exported again, to the same bytes', async ([before, after, proof]) => {
  await exported(before!);
  const bytes = await readFile(file());
  expect(await states(after!)).toMatchObject({ status: 'stale', reconcile: ['stale'] });
  const [again] = (await exported(after!)).results;
  expect(again).toMatchObject({ state: 'published', exported: true });
  expect((await receiptOf(lake.dir, DAY))?.proof).toBe(proof);
  expect((await readFile(file())).equals(bytes)).toBe(true);
  await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS });
  expect((await exported(after!)).results[0]).toMatchObject({ state: 'published', exported: false });
});

test.for([
  ['exact', 'off'],
  ['exact', 'at-least'],
  ['at-least', 'off'],
])('from %s to %s, days are done', async ([before, after]) => {
  await exported(before!);
  expect(await states(after!)).toMatchObject({ status: 'published' });
  const asked = service.requests.length;
  expect((await exported(after!)).results[0]).toMatchObject({ state: 'published', exported: false });
  expect(service.requests).toHaveLength(asked);
});
