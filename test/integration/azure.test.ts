/** Lakes on Azure, as commands and other readers see them; what a small vessel-day costs there, its requests counted on their way. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { checkCommand } from '../../src/cli/commands/check.ts';
import { gcCommand } from '../../src/cli/commands/gc.ts';
import { runCommand } from '../../src/cli/commands/run.ts';
import { sqlCommand } from '../../src/cli/commands/sql.ts';
import { verifyCommand } from '../../src/cli/commands/verify.ts';
import type { Layout } from '../../src/core/model/index.ts';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import { ACCOUNT, type Azurite, azuriteForTests, KEY } from '../helpers/azurite.ts';
import { clickHouseForTests } from '../helpers/clickhouse.ts';
import { commandRun } from '../helpers/command-run.ts';
import type { TestService } from '../helpers/run.ts';
import { DATE, FEW_SERIES, mustExport, startTestService, VESSEL } from '../helpers/run.ts';
import { isLong } from '../helpers/tiers.ts';
import { DEFAULTS } from '../query/views/view-lake.ts';
import { type FaultProxy, type SeenRequest, startFaultProxy } from '../store/fault-proxy.ts';

const start = azuriteForTests();
const openClickHouse = isLong ? clickHouseForTests() : undefined;

describe.skipIf(start === undefined)('on Azure', () => {
  let azurite: Azurite;
  let service: TestService;
  let line: FaultProxy;
  beforeAll(async () => {
    [azurite, service] = await Promise.all([start!(), startTestService({ readingsPerDay: 1_000 })]);
    line = await startFaultProxy(azurite.origin);
  });
  afterAll(async () => {
    await line?.[Symbol.asyncDispose]();
    await service?.close();
    await azurite?.stop();
  });

  async function newLake(layout: Layout) {
    const container = await azurite.newContainer();
    const env = { ...azurite.envAt(line.endpoint), LAKE_LAYOUT: layout };
    return { container, lakeUrl: `az://${container}/vessels`, env };
  }

  test.each([
    // Claim, part, draft, list of parts, detail, receipt; claim and note are removed. The receipt before and after the claim, that of the day before.
    ['plain', { PUT: 6, GET: 3, LIST: 1, DELETE: 2 }],
    // And the entry of the table, the look before it and two after it.
    ['delta', { PUT: 7, GET: 4, HEAD: 1, LIST: 1, DELETE: 2 }],
  ] as const)(
    'a lake that is %s is exported, read and proven, and gc finds nothing',
    async (layout, expected) => {
      const { container, lakeUrl, env } = await newLake(layout);
      line.seen.length = 0;
      await mustExport({ service, lakeUrl, env });
      expect(kindsOf(line.seen)).toEqual(expected);

      const ask = (command: Parameters<typeof commandRun>[1]) =>
        commandRun(
          { service, lakeUrl, jobs: { measurements: FEW_SERIES }, env: { ...env, LOG_LEVEL: 'silent' } },
          command,
        );
      const range = { from: DATE, to: '2026-01-06', json: true };
      const deep = await ask((context) => verifyCommand(context, [], { ...range, deep: true }));
      expect([deep.code, JSON.parse(deep.stdout)]).toMatchObject([0, { vesselDays: 1, withFindings: 0 }]);
      const clock = { ...systemClock, nowMs: () => Date.now() + 30 * 86_400_000 };
      const gc = await ask((context) => gcCommand(context, { json: true, yes: true }, { clock }));
      expect([gc.code, JSON.parse(gc.stdout)]).toMatchObject([0, { items: [] }]);
      const counted = await ask((context) =>
        sqlCommand(context, 'SELECT count(*) > 0 AS n FROM readings', { ...DEFAULTS, csv: true }),
      );
      expect([counted.code, counted.stdout + counted.stderr]).toEqual([0, expect.stringContaining('true')]);
      const checked = await ask((context) => checkCommand(context, [], { json: true }));
      expect(checked.stdout).toContain('replaces only the version that was read');
      expect(line.seen.every(({ url }) => !url.includes('sig='))).toBe(true);

      const readClickHouse = layout === 'delta' ? openClickHouse : undefined;
      if (readClickHouse === undefined) return;
      const clickHouse = readClickHouse();
      const from = `deltaLakeAzure('${azurite.endpoint}', '${container}', 'vessels/measurements', '${ACCOUNT}', '${KEY}')`;
      const [[rows]] = (await clickHouse.rows(`SELECT count() FROM ${from}`)) as [[unknown]];
      expect(Number(rows)).toBeGreaterThan(0);
      await clickHouse[Symbol.asyncDispose]?.();
    },
  );

  test.runIf(isLong).for(['plain', 'delta'] as const)(
    'a night of 1,000 vessel-days is exact, and leaves nothing: %s',
    async (layout) => {
      const fleet = await startTestService({ vessels: 100, readingsPerDay: 1_000 });
      onTestFinished(() => fleet.close());
      const { lakeUrl, env } = await newLake(layout);
      const jobs = { measurements: { ...FEW_SERIES, vessels: { discover: 'flat/*/*' } } };
      const range = { from: DATE, to: addDays(DATE, 10) };
      const ask = (command: Parameters<typeof commandRun>[1]) =>
        commandRun({ service: fleet, lakeUrl, jobs, env: { ...env, LOG_LEVEL: 'silent' } }, command);
      const how = { vessel: [], force: false, takeover: false, allowShrink: false };
      const ran = await ask((context) => runCommand(context, [], { ...range, ...how }));
      expect(ran.code, ran.stdout.slice(-2_000) + ran.stderr.slice(-2_000)).toBe(0);
      const deep = await ask((context) => verifyCommand(context, [], { ...range, deep: true, json: true }));
      expect([deep.code, JSON.parse(deep.stdout)]).toMatchObject([0, { vesselDays: 1_000, withFindings: 0 }]);
      const gc = await ask((context) => gcCommand(context, { json: true, yes: true }));
      expect([gc.code, JSON.parse(gc.stdout)]).toMatchObject([0, { items: [] }]);
    },
  );
});

/** Names of requests as price lists have them, of the vessel-day alone: planning lists ledger and claims once a run. */
function kindsOf(seen: readonly SeenRequest[]): Record<string, number> {
  const claimed = seen.findIndex(({ method, url }) => method === 'PUT' && /_checkpoints/.test(url));
  const kinds: Record<string, number> = {};
  for (const [at, { method, url }] of seen.entries()) {
    const text = decodeURIComponent(url);
    const isList = text.includes('comp=list');
    if (text.includes('/_lake.json') || (at < claimed && text.includes('_delta_log'))) continue;
    if (isList && !text.includes(`date=${DATE}/vessel=${VESSEL}/`)) continue;
    const kind = isList ? 'LIST' : method;
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return kinds;
}
