/** Domains that the contract does not list: flat names under a name of their own, wherever `<domain>/<expression>` is. */
import { expect, test } from 'vitest';
import { seriesCommand, vesselsCommand } from '../../src/cli/commands/catalogue.ts';
import { checkCommand } from '../../src/cli/commands/check.ts';
import { systemClock } from '../../src/core/model/index.ts';
import { commandRun } from '../helpers/command-run.ts';
import { duckRows } from '../helpers/lake.ts';
import type { JobFile } from '../helpers/run.ts';
import { DATE, mustExport, newLake, QUICK_LIMITS, serviceForTests, VESSEL } from '../helpers/run.ts';

const service = await serviceForTests({ readingsPerDay: 2_000 });
const clock = { ...systemClock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
const jobOf = (domain: string): JobFile => ({
  ...{ dataset: 'measurements', vessels: { discover: `${domain}/*/*` } },
  select: [`${domain}/{vessel}/S*`],
});

test('a job selects and discovers by it, and exports the same readings', async () => {
  await using lake = await newLake();
  const jobs = { flat: jobOf('flat'), other: jobOf('raalabs') };
  await mustExport({ service, lakeUrl: lake.url, jobs });
  const rows = (job: string) =>
    duckRows(
      `SELECT * FROM read_parquet('${lake.dir}/${job}/*/*/*.parquet', hive_partitioning = false) ORDER BY ALL`,
    );
  const [flat, other] = [await rows('flat'), await rows('other')];
  expect(flat.length).toBeGreaterThan(10);
  expect(other).toEqual(flat);
  // Expressions that overlap under two names are the same series still.
  const both = { dataset: 'measurements', select: ['flat/{vessel}/S*', 'raalabs/{vessel}/S*'] };
  await mustExport({ service, lakeUrl: lake.url, jobs: { both } });
  expect(await rows('both')).toEqual(flat);
});

test('check counts what it selects', async () => {
  await using lake = await newLake();
  const place = { service, lakeUrl: lake.url, jobs: { other: jobOf('raalabs') } };
  const { code, stdout } = await commandRun(place, (context) => checkCommand(context, [], {}));
  expect(code).toBe(0);
  expect(stdout).toMatch(/✓ other +raalabs\/\{vessel\}\/S\* selects \d+ series of 1 vessel/);
});

/** A service whose metadata have no `flat`, but the same under another name. */
function renameFlat(to: string): void {
  service.faults = ({ family, url }) => {
    if (family !== 'metadata') return undefined;
    if (url.includes('/metadata/flat/')) return { kind: 'status', status: 404 };
    const rewrite = (body: string) => body.replaceAll('"flat":', `"${to}":`);
    return { kind: 'rewrite', rewrite };
  };
}

test('metadata keep it, and series and vessels show it, from service and lake', async () => {
  renameFlat('raalabs');
  await using lake = await newLake();
  const metadata = { ...jobOf('raalabs'), dataset: 'metadata' };
  const jobs = { metadata };
  await mustExport({ service, lakeUrl: lake.url, jobs, overrides: { clock } });
  const place = { service, lakeUrl: lake.url, jobs, env: { LOG_LEVEL: 'error' } };
  const overrides = { clock, clientLimits: QUICK_LIMITS };
  const listed = async (options: { lake?: boolean; search?: string }) => {
    const ran = await commandRun(place, (context) =>
      seriesCommand(context, VESSEL, { days: 0, json: true, search: 'Shaft Power', ...options }, overrides),
    );
    return JSON.parse(ran.stdout).series;
  };
  const expected = {
    select: 'raalabs/{vessel}/Shaft Power',
    names: { raalabs: `${VESSEL}/Shaft Power`, maker: expect.any(String), jsmea: expect.any(String) },
    jobs: ['metadata'],
  };
  expect(await listed({})).toMatchObject([expected]);
  expect(await listed({ lake: true })).toMatchObject([expected]);
  const vessels = await commandRun(place, (context) =>
    vesselsCommand(context, { days: 1, json: true }, overrides),
  );
  expect(JSON.parse(vessels.stdout).vessels).toMatchObject([
    { vessel: VESSEL, series: expect.any(Number), lastTime: expect.stringMatching(/^2026-01-05T1[01]/) },
  ]);
});

test('a domain that nobody has heard of is kept as far as it has an id', async () => {
  renameFlat('acme-tags');
  await using lake = await newLake();
  const jobs = { metadata: { dataset: 'metadata', select: ['jsmea/{vessel}/*/Propulsion'] } };
  await mustExport({ service, lakeUrl: lake.url, jobs, overrides: { clock } });
  const place = { service, lakeUrl: lake.url, jobs, env: { LOG_LEVEL: 'error' } };
  const ran = await commandRun(place, (context) =>
    seriesCommand(context, VESSEL, { days: 0, json: true, lake: true, search: 'Shaft Power' }, { clock }),
  );
  expect(JSON.parse(ran.stdout).series).toMatchObject([
    { select: 'acme-tags/{vessel}/Shaft Power', names: { 'acme-tags': `${VESSEL}/Shaft Power` } },
  ]);
});
