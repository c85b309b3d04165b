/**
 * The lakes that other engines read: the demo's fleet, and one of every odd value and of every change that a lake goes
 * through. What they hold is known without us: from the service's own lines, and from the objects that receipts name, by
 * DuckDB.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  addDays,
  dateToMicros,
  dayRange,
  type Layout,
  MICROS_PER_DAY,
  type Receipt,
  silentLog,
  systemClock,
} from '../../../src/core/model/index.ts';
import { thisProcess } from '../../../src/core/process/process-id.ts';
import { TABLE_RETENTION } from '../../../src/lake/table/retention.ts';
import { openTable } from '../../../src/lake/table/table.ts';
import { convertLake } from '../../../src/lake/upkeep/convert.ts';
import { findGarbage } from '../../../src/lake/upkeep/garbage.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import type { JobFile } from '../../helpers/command-run.ts';
import { duckRows, serviceNames } from '../../helpers/lake.ts';
import {
  DATE,
  mustExport,
  OTHER_VESSEL,
  type RunExportOptions,
  startTestService,
  type TestService,
  VESSEL,
} from '../../helpers/run.ts';
import { type Row, readObjects } from './truth.ts';

/** How the table of a lake came to be. `tidied`: after a checkpoint and a clean-up, with entries behind. */
export const HISTORIES = ['plain', 'delta', 'tidied', 'converted'] as const;
export type History = (typeof HISTORIES)[number];
export const LAKES = ['fleet', 'odd'] as const;

/** Where a lake is; `env`: the settings of its store. */
export interface Place {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface EngineLake extends Place {
  readonly name: (typeof LAKES)[number];
  readonly history: History;
  readonly jobs: Readonly<Record<string, JobFile>>;
  /** Rows of each job, by vessel and date. */
  readonly truth: ReadonlyMap<string, readonly Row[]>;
  /** Of the job of measurements: what a version of its table held when it was the newest. */
  readonly versions: ReadonlyMap<number, readonly Row[]>;
  readonly receipts: readonly Receipt[];
}

const SELECT = ['flat/{vessel}/*'];
const FLEET_JOBS = {
  measurements: { dataset: 'measurements', vessels: { discover: 'flat/*/*' }, select: SELECT },
};
const VESSELS = [VESSEL, OTHER_VESSEL];
const FEW = ['flat/{vessel}/S*'];
const WINDOWS = { dataset: 'statistics', vessels: VESSELS, select: FEW, window: '1h' };
const ODD_JOBS = {
  measurements: { dataset: 'measurements', vessels: VESSELS, select: FEW },
  windows: { ...WINDOWS, aggregations: ['mean', 'count', 'last_time'] },
  infinite: { dataset: 'measurements', vessels: [VESSEL], select: FEW, transport: 'parquet' },
};
const MORE_WINDOWS = { ...WINDOWS, aggregations: ['mean', 'max', 'first_val', 'count', 'last_time'] };

/** JSON texts that end a literal somewhere, or a line, or are none of what a reader expects. */
export const ODD_TEXTS = [
  ...['"on"', '"it\'s"', '"say \\"yes\\""', '"back\\\\slash"', '"`tick` [bracket] $dollar$ %s $x {{ y }}"'],
  ...[
    '"line\\nbreak\\ttab\\u0000nul"',
    '"\u2028 \u00e4 \u98a8\u901f \ud83d\udea2"',
    '""',
    '" "',
    'null',
    'true',
  ],
  ...['{"lat": 1.50, "lon":-0, "x":[1,"2"]}', '-0', '1e400', '123456789012345678901234567890'],
];
const ODD_NUMBERS = [
  ...['9223372036854775807', '-9223372036854775808', '9007199254740993', '0', '-1'],
  ...[
    '-0.0',
    '0.0',
    '5e-324',
    '-2.2250738585072014e-308',
    '1.7976931348623157e308',
    '-1.7976931348623157e308',
  ],
  ...['0.1', '1e300', '3.0', '1e22', '123456789.123456789'],
];

/** A service of two vessels; of the first, one series has all that is odd. */
async function oddService(): Promise<TestService> {
  const service = await startTestService({ vessels: 2, readingsPerDay: 1_000 });
  const ids = [...(await serviceNames(service, [`flat/${VESSEL}/S*`])).keys()];
  // Whose sums stay within 64 bits.
  for (const id of ids.slice(0, 6)) service.overlay.removeReadings(id, dayRange(DATE));
  const at = (date: string, micros: number) => dateToMicros(date) + micros;
  for (const [n, valueText] of ODD_NUMBERS.entries())
    service.overlay.addReadings(ids[n % 4]!, [{ timestampMicros: at(DATE, 1 + n * 7), valueText }]);
  for (const [n, valueText] of ODD_TEXTS.entries())
    service.overlay.addReadings(ids[4]!, [{ timestampMicros: at(DATE, 999_999 + n), valueText }]);
  // The first and the last microsecond of days, the first that a lake can hold among them; one reading twice.
  for (const date of ['1970-01-01', DATE])
    service.overlay.addReadings(ids[5]!, [
      { timestampMicros: at(date, 0), valueText: '1.5' },
      { timestampMicros: at(date, 1), valueText: '2.5' },
      { timestampMicros: at(date, MICROS_PER_DAY - 1), valueText: '3.5' },
      { timestampMicros: at(date, MICROS_PER_DAY - 1), valueText: '3.5' },
    ]);
  return service;
}

/** Values that only the transport `parquet` can carry. */
async function exportInfinite(service: TestService, run: Export, dir: string): Promise<void> {
  service.overlay.removeReadings(undefined, dayRange('2026-02-01'));
  const [id] = [...(await serviceNames(service, [`flat/${VESSEL}/Speed Over Ground`])).keys()];
  const ms = dateToMicros('2026-02-01') / 1_000;
  const values = ["'NaN'", '1.5', "'Infinity'", "'-Infinity'", "'NaN'", '-0.0'];
  service.overlay.addReadings(
    id!,
    values.map((_, n) => ({ timestampMicros: (ms + n) * 1_000, valueText: '1.5' })),
  );
  const path = join(dir, 'infinite.parquet');
  const rows = values.map(
    (value, n) => `(${ms + n}::BIGINT, '${id}', NULL::BIGINT, ${value}::DOUBLE, NULL::VARCHAR)`,
  );
  await duckRows(
    `COPY (SELECT * FROM (VALUES ${rows.join()}) AS t("timestamp", id, long_value, double_value, json_value)) TO '${path}' (FORMAT parquet)`,
  );
  const body = await readFile(path);
  const contentType = 'application/vnd.apache.parquet';
  service.faults = ({ family }) =>
    family === 'measurements' ? { kind: 'garbage', body, contentType } : undefined;
  await run({ infinite: ODD_JOBS.infinite }, { from: '2026-02-01' });
  service.faults = undefined;
}

type Export = (
  jobs: Readonly<Record<string, JobFile>>,
  args: NonNullable<RunExportOptions['args']>,
) => Promise<void>;

/**
 * A lake of this name and layout at an empty place, and then what becomes of it: after a clean-up, or as a table. Each is
 * gone when the next is asked for. `dir`: a folder for what is made on the way.
 */
export async function* lakeStages(
  name: EngineLake['name'],
  layout: Layout,
  place: Place,
  dir: string,
): AsyncGenerator<EngineLake> {
  const jobs = name === 'fleet' ? FLEET_JOBS : ODD_JOBS;
  const env = { ...place.env, LAKE_LAYOUT: layout };
  const run: Export = async (exported, args) => {
    await mustExport({ service, lakeUrl: place.url, env, jobs: exported, args });
  };
  const store = await openStore(place.url, place.env);
  const versions = new Map<number, readonly Row[]>();
  const remember = async () => {
    if (env.LAKE_LAYOUT === 'delta')
      versions.set((await tableOf(store)).version, await readObjects(store, 'measurements', dir));
  };
  const lakeOf = async (history: History): Promise<EngineLake> => {
    await remember();
    const truth = new Map<string, readonly Row[]>();
    for (const job of Object.keys(jobs)) truth.set(job, await readObjects(store, job, dir));
    return { ...place, name, history, jobs, truth, versions, receipts: await receiptsOf(store) };
  };
  const service = await (name === 'fleet'
    ? startTestService({ vessels: 3, readingsPerDay: 3_000 })
    : oddService());
  try {
    if (name === 'fleet') await run(FLEET_JOBS, { from: DATE, to: addDays(DATE, 2) });
    else await changeDays(service, run, remember, dir);
    yield await lakeOf(layout);
    if (layout === 'plain') await convertLake(ports(store));
    else await tidy(store, Object.keys(jobs));
    env.LAKE_LAYOUT = 'delta';
    // An older version can be read no more: the log begins anew.
    versions.clear();
    await remember();
    const [id] = [...(await serviceNames(service, [`flat/${VESSEL}/S*`])).keys()];
    service.overlay.addReadings(id!, [{ timestampMicros: dateToMicros(DATE) + 77, valueText: '7.75' }]);
    await run({ measurements: jobs.measurements }, { from: DATE, vessel: [VESSEL], force: true });
    yield await lakeOf(layout === 'plain' ? 'converted' : 'tidied');
  } finally {
    await service.close();
    await store.close();
  }
}

/** Days come, are replaced, emptied and filled again, and a job gets columns. */
async function changeDays(
  service: TestService,
  run: Export,
  remember: () => Promise<void>,
  dir: string,
): Promise<void> {
  const { measurements, windows } = ODD_JOBS;
  const [empty, emptied, next] = [1, 2, 3].map((days) => addDays(DATE, days)) as [string, string, string];
  service.overlay.removeReadings(undefined, dayRange(empty));
  await run({ measurements }, { from: '1970-01-01' });
  await run({ measurements, windows }, { from: DATE, to: next });
  await remember();
  const [id] = [...(await serviceNames(service, [`flat/${OTHER_VESSEL}/S*`])).keys()];
  service.overlay.addReadings(id!, [{ timestampMicros: dateToMicros(DATE) + 5, valueText: '42' }]);
  await run({ measurements }, { from: DATE, force: true });
  await remember();
  service.overlay.removeReadings(undefined, dayRange(emptied));
  await run({ measurements, windows }, { from: emptied, force: true, allowShrink: true });
  await remember();
  await run({ windows: MORE_WINDOWS }, { from: next });
  await exportInfinite(service, run, dir);
}

const ports = (store: ObjectStore) => ({
  ...{ store, log: silentLog, self: thisProcess(), say: () => {} },
  clock: { ...systemClock, sleep: async () => {} },
  signal: new AbortController().signal,
});

const tableOf = (store: ObjectStore, job = 'measurements', retention = {}) =>
  openTable({ ...ports(store), prefix: `${job}/`, retention: { ...TABLE_RETENTION, ...retention } });

/** A checkpoint of each table, and nothing of the log before it, as after a month. */
async function tidy(store: ObjectStore, jobs: readonly string[]): Promise<void> {
  for (const job of jobs) {
    const table = await tableOf(store, job, { checkpointVersions: 1, entriesMs: -1 });
    await table.commit(table.version, 'FENCE', []);
    await table.checkpoint();
    await table.tidy();
  }
  for await (const item of findGarbage(ports(store))) await item.remove();
}

async function receiptsOf(store: ObjectStore): Promise<Receipt[]> {
  const keys = await Array.fromAsync(store.list('_ledger/'), ({ key }) => key);
  const found = await Promise.all(keys.map((key) => store.get(key)));
  return found.map((file) => JSON.parse(Buffer.from(file!.bytes).toString()));
}
