/** `demo`: a query service with a made-up fleet, an export of it, and a query on the result. */
import { tmpdir } from 'node:os';
import { relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { openApp } from '../../app.ts';
import { asPattern } from '../../core/duckdb/locked.ts';
import { duckdbText, type Sql, sql } from '../../core/duckdb/sql-text.ts';
import { addDays, microsToDate, silentLog, systemClock } from '../../core/model/index.ts';
import type { ExportEvent } from '../../export/events.ts';
import { exportJobs } from '../../export/run/run-jobs.ts';
import { readLayout } from '../../lake/lake-file.ts';
import { openLakeSession } from '../../query/sql/lake-session.ts';
import { findSources, lakeFolder } from '../../query/sql/lake-sources.ts';
import { type Config, type JobDefinitions, loadConfig } from '../../runtime/config/config.ts';
import type { RunningService } from '../../service/options.ts';
import { startService } from '../../service/service.ts';
import { openStore } from '../../store/open-store.ts';
import { formatTable } from '../terminal/format.ts';
import { createProgressView, type ProgressView } from '../terminal/progress-view.ts';
import { writeText } from '../terminal/screen.ts';
import { formatCoverage } from '../terminal/status-view.ts';
import { type CommandContext, commandLog, EXIT_FAILED, EXIT_OK } from './command.ts';
import { isBad, summarize } from './run.ts';

interface DemoOptions {
  readonly lake: string;
  readonly readingsPerDay: number;
  /** How the lake is read: `plain` or `delta`; absent: as it is, and plain for a new one. */
  readonly layout?: string;
}

/** What the lake says of where it is from: the address of the service is another one each time. */
const SOURCE = { url: 'made-up:demo', isMadeUp: true };
const VESSELS = 3;
const DAYS = 2;
const SEED = 1;
/** Copies of what lies in a bucket, while the result is shown. */
const MAX_FETCH_BYTES = 1 << 30;

export async function demoCommand(context: CommandContext, options: DemoOptions): Promise<number> {
  const isAddress = /^[a-z0-9]+:\/\//.test(options.lake);
  const lakeUrl = isAddress ? options.lake : pathToFileURL(resolve(options.lake)).href;
  const { stdout } = context;
  writeText(stdout, `A query service with ${VESSELS} made-up vessels is starting on this machine.\n`);
  const { readingsPerDay } = options;
  const service = await startService({
    ...{ host: '127.0.0.1', port: 0, tenant: 'demo', tokenTtlSeconds: 3_600, clock: systemClock },
    data: { seed: SEED, vessels: VESSELS, readingsPerDay, isImaginary: true },
  });
  try {
    const config = demoConfig(context, service, lakeUrl, options.layout);
    writeText(stdout, `Exporting ${DAYS} days of them into ${lakeFolder(lakeUrl) ?? lakeUrl}\n\n`);
    const view = await exportDemo(context, config);
    const ends = [summarize(view.results), view.closingLine(config.settings.LAKE_URL)];
    writeText(stdout, `${formatCoverage(view.results)}\n\n${ends.join('\n').trimEnd()}\n\n`);
    if (view.results.some(isBad)) return EXIT_FAILED;
    await showResult(context, lakeUrl, config.jobs);
    return EXIT_OK;
  } finally {
    await service.close();
  }
}

function demoConfig(
  context: CommandContext,
  service: RunningService,
  lakeUrl: string,
  layout: string | undefined,
): Config {
  const env = {
    LOG_LEVEL: context.env.LOG_LEVEL ?? 'warn',
    QUERY_BASE_URL: service.baseUrl,
    QUERY_AUTH_URL: service.authUrl,
    QUERY_CLIENT_ID: service.clientId,
    QUERY_CLIENT_SECRET: service.clientSecret,
    LAKE_URL: lakeUrl,
    ...(layout !== undefined && { LAKE_LAYOUT: layout }),
  };
  return loadConfig(env, DEMO_JOBS);
}

async function exportDemo(context: CommandContext, config: Config): Promise<ProgressView> {
  const view = createProgressView(context.stderr, systemClock);
  const log = commandLog(context, config.settings.LOG_LEVEL, view.log);
  const app = await openApp(config, context.env, log, { source: SOURCE });
  const today = microsToDate(systemClock.nowMs() * 1_000);
  // The day before yesterday has settled at any hour.
  const past = { from: addDays(today, -1 - DAYS), to: addDays(today, -1) };
  const concurrency = config.settings.WORKER_CONCURRENCY;
  const how = { vessels: [], force: false, allowShrink: false, takeover: false, concurrency };
  const isSnapshot = (job: Config['jobs'][number]) => job.dataset === 'metadata';
  try {
    const snapshots = { jobs: config.jobs.filter(isSnapshot), from: today, to: addDays(today, 1), ...how };
    const days = { jobs: config.jobs.filter((job) => !isSnapshot(job)), ...past, ...how };
    // Done in a moment: the bar is for the days.
    const unplanned = (event: ExportEvent) => event.kind !== 'planned' && view.onEvent(event);
    await exportJobs(app.ports, snapshots, unplanned, context.signal);
    await exportJobs(app.ports, days, view.onEvent, context.signal);
  } finally {
    view.end();
    await app.close();
  }
  return view;
}

async function showResult({ env, stdout, signal }: CommandContext, lakeUrl: string, jobs: Config['jobs']) {
  const folder = lakeFolder(lakeUrl);
  const lake = folder === undefined ? lakeUrl : relative(process.cwd(), folder) || '.';
  await using stack = new AsyncDisposableStack();
  const store = stack.adopt(await openStore(lakeUrl, env), (opened) => opened.close());
  const layout = await readLayout(store);
  const isTable = layout === 'delta';
  const table = sql`delta_scan(${duckdbText.literal(`${lake}/measurements`)})`;
  const query = fleetQuery(isTable ? table : globbed(lake));
  const shipped = fileURLToPath(new URL('../../../jobs', import.meta.url));
  const ofPackage = resolve('jobs') === shipped ? '' : ` JOBS_DIR=${relative(process.cwd(), shipped)}`;
  const lines = [
    'How to go on, with this lake:',
    `  export LAKE_URL=${lakeUrl}${ofPackage}`,
    '  npx vessel-export sql "FROM readings LIMIT 5"   # any SQL',
    '  npx vessel-export web                           # a map of it in the browser',
    ...(folder === undefined ? [] : [`  cat ${lake}/_ledger/measurements/*/*.json       # the proof`]),
    'and with your own service and a lake of its own, in another terminal:',
    '  npx vessel-export init                          # asks for both, writes .env and a first job',
    '  npx vessel-export check                         # tests them, and says what to fix',
    "If you have no service, 'npx vessel-export service' serves this API as long as you like.",
  ];
  const sources = await findSources(store, jobs, []);
  const wide = () => ({ columns: [], windowMicros: 1, aggregate: 'mean', holdMicros: 1 }) as const;
  const bounds = { log: silentLog, tempDir: tmpdir(), maxFetchBytes: MAX_FETCH_BYTES };
  const session = await openLakeSession({ store, layout, wide, ...sources, ...bounds }, signal);
  const shown: (string | number)[][] = [];
  try {
    // The relation of the session has the rows that the query below reads from the files themselves.
    const found = await session.query(fleetQuery(sql`measurements`), signal);
    shown.push([...found.columns]);
    for await (const row of found.rows)
      shown.push(row.map((cell) => (typeof cell === 'number' ? cell : String(cell ?? '-'))));
  } finally {
    await session.close();
  }
  const what = isTable
    ? 'DuckDB on the files that the log of the table names; with its delta extension'
    : 'DuckDB on the lake';
  writeText(stdout, `${what}:\n${query};\n\n${formatTable(shown)}\n\n${lines.join('\n')}\n`);
}

/** What a fleet engineer would ask first: how far, how fast, at what power, with how much fuel; of readings with their vessel and date. */
const fleetQuery = (rows: Sql) => sql`
  WITH mean AS (
    SELECT vessel, date, split_part(id, '/', 2) AS tag,
           avg(coalesce(double_value, long_value)) AS value
    FROM ${rows}
    GROUP BY ALL
  ), day AS (
    SELECT vessel, date,
           max(value) FILTER (tag = 'Speed Over Ground') AS speed_kn,
           max(value) FILTER (tag = 'Shaft Power') AS power_kw,
           max(value) FILTER (tag = 'ME Fuel Oil Consumption') AS fuel_kg_per_h
    FROM mean GROUP BY ALL
  )
  SELECT vessel, date,
         round(24 * speed_kn, 0) + 0 AS distance_nm,
         round(speed_kn, 1) + 0 AS speed_kn,
         round(power_kw, 0) AS power_kw,
         round(24 * fuel_kg_per_h / 1000, 1) AS fuel_t,
         CASE WHEN speed_kn > 1 THEN round(fuel_kg_per_h / speed_kn, 1) END
           AS kg_per_nm
  FROM day ORDER BY vessel, date`;

function globbed(lake: string): Sql {
  return sql`read_parquet(${duckdbText.literal(`${asPattern(lake)}/measurements/*/*/*.parquet`)},
                      hive_partitioning = true)`;
}

const FLEET = { vessels: { discover: 'flat/*/*' }, select: ['flat/{vessel}/*'] };

const DEMO_JOBS: JobDefinitions = {
  measurements: { dataset: 'measurements', ...FLEET },
  metadata: { dataset: 'metadata', ...FLEET },
  statistics: {
    ...{ dataset: 'statistics', ...FLEET },
    ...{ window: '10m', aggregations: ['mean', 'min', 'max', 'count'] },
  },
};
