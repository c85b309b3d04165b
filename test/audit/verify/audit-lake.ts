/** A lake with a day of every kind, copies of it to be damaged, and verify as a user runs it. */

import { hash } from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { AppOverrides } from '../../../src/app.ts';
import { type VerifyOptions, verifyCommand } from '../../../src/cli/commands/verify.ts';
import {
  addDays,
  dateToMicros,
  dayRange,
  type Receipt,
  systemClock,
  type VesselDay,
} from '../../../src/core/model/index.ts';
import { detailKey, objectKey, receiptKey } from '../../../src/lake/keys.ts';
import type { Detail } from '../../../src/lake/ledger/ledger.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { type CommandRun, commandRun } from '../../helpers/command-run.ts';
import {
  DATE,
  type JobFile,
  mustExport,
  newLake,
  QUICK_LIMITS,
  type RunExportOptions,
  startTestService,
  type TestLake,
  type TestService,
  VESSEL,
} from '../../helpers/run.ts';

export const EMPTY_DATE = addDays(DATE, 1);
export const TO = addDays(DATE, 2);

const SELECT = ['flat/{vessel}/*'];
export const JOBS: Readonly<Record<string, JobFile>> = {
  measurements: { dataset: 'measurements', vessels: [VESSEL], select: SELECT },
  metadata: { dataset: 'metadata', vessels: [VESSEL], select: SELECT },
  statistics: {
    dataset: 'statistics',
    vessels: [VESSEL],
    select: SELECT,
    window: '2h',
    aggregations: ['mean', 'min', 'max', 'sum', 'first_val', 'last_val', 'last_time', 'stddev'],
  },
};

export const MEASURED: VesselDay = { job: 'measurements', vessel: VESSEL, date: DATE };
export const EMPTY: VesselDay = { job: 'measurements', vessel: VESSEL, date: EMPTY_DATE };
export const WINDOWS: VesselDay = { job: 'statistics', vessel: VESSEL, date: DATE };
export const SNAPSHOT: VesselDay = { job: 'metadata', vessel: VESSEL, date: DATE };

/** Small, so that a day has several row groups and parts. */
const SIZES = { rowGroupRows: 400, partBytes: 4_096 };

/** A fleet of one vessel that is silent on EMPTY_DATE, and whose series have longs beyond 2^53 and mixed kinds. */
export async function startAuditService(options: { toInclusive?: boolean } = {}): Promise<TestService> {
  const service = await startTestService({ readingsPerDay: 2_000, ...options });
  service.overlay.removeReadings(undefined, dayRange(EMPTY_DATE));
  return service;
}

/** Ids of series of a running service whose readings are doubles, to put odd readings into. */
export function addOddReadings(service: TestService, ids: readonly string[]): void {
  const at = (seconds: number) => dateToMicros(DATE) + seconds * 1_000_000;
  const [huge, mixed, json, big] = ids as [string, string, string, string];
  for (const id of ids) service.overlay.removeReadings(id, dayRange(DATE));
  service.overlay.addReadings(huge, [
    { timestampMicros: at(10), valueText: '9007199254740993' },
    { timestampMicros: at(20), valueText: '-9223372036854775808' },
    { timestampMicros: at(20), valueText: '9223372036854775807' },
  ]);
  service.overlay.addReadings(mixed, [
    { timestampMicros: at(30), valueText: '5' },
    { timestampMicros: at(30), valueText: '5.25' },
    { timestampMicros: at(40), valueText: '-7.5' },
    { timestampMicros: at(86_399), valueText: '3' },
  ]);
  service.overlay.addReadings(json, [
    { timestampMicros: at(50), valueText: '{"lat": 1.50, "lon":2}' },
    { timestampMicros: at(60), valueText: 'null' },
    { timestampMicros: at(70), valueText: '"on"' },
  ]);
  // Sums whose result is small beside what is added: their order shows.
  service.overlay.addReadings(
    big,
    Array.from({ length: 200 }, (_, i) => ({
      timestampMicros: at(100 + i),
      valueText: i % 2 === 0 ? `${1e15 + i}.125` : `-${1e15 + i}.0`,
    })),
  );
}

export interface ExportOptions {
  readonly lakeUrl: string;
  readonly env?: RunExportOptions['env'];
  readonly sizes?: typeof SIZES;
  readonly jobs?: Readonly<Record<string, JobFile>>;
}

/** Export both days of every job, metadata on the day itself. */
export async function exportAuditLake(service: TestService, options: ExportOptions): Promise<void> {
  const { lakeUrl, env = {}, sizes = SIZES, jobs = JOBS } = options;
  const { metadata, ...rest } = jobs;
  await mustExport({ service, lakeUrl, jobs: rest, env, args: { to: TO }, overrides: { sizes } });
  if (metadata === undefined) return;
  const clock = { ...systemClock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
  await mustExport({ service, lakeUrl, jobs: { metadata }, env, overrides: { clock } });
}

/** A copy of a local lake. */
export async function copyLake(url: string): Promise<TestLake> {
  const lake = await newLake();
  await cp(fileURLToPath(url), lake.dir, { recursive: true, preserveTimestamps: true });
  return lake;
}

export interface RanVerify extends Omit<CommandRun, 'error'> {
  /** `<code> <job>/<date>`, sorted. */
  readonly found: readonly string[];
  readonly result: {
    readonly from: string | null;
    readonly to: string | null;
    readonly unknownJobs: readonly string[];
    readonly vesselDays: number;
    readonly withFindings: number;
    readonly rows: number;
    readonly sizeBytes: number;
    readonly findings: readonly (VesselDay &
      Record<'code' | 'key' | 'found' | 'expected' | 'message' | 'next', string>)[];
    readonly warnings: readonly (VesselDay & Record<'code' | 'message', string>)[];
  };
}

export interface RunVerifyOptions extends VerifyOptions {
  readonly lakeUrl: string;
  /** Without dates. */
  readonly whole?: boolean;
  /** Needed for `deep` only. */
  readonly service?: TestService;
  readonly jobs?: Readonly<Record<string, JobFile>>;
  readonly jobNames?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly wrapStore?: AppOverrides['wrapStore'];
  readonly signal?: AbortSignal;
}

/** `verify --json` over both days, in this process; throws what it throws. */
export async function runVerify(options: RunVerifyOptions): Promise<RanVerify> {
  const {
    lakeUrl,
    whole,
    service,
    jobs = JOBS,
    jobNames = [],
    env = {},
    wrapStore,
    signal,
    ...rest
  } = options;
  // Without a service there are no settings of one.
  const none = { QUERY_BASE_URL: '', QUERY_AUTH_URL: '', QUERY_CLIENT_ID: '', QUERY_CLIENT_SECRET: '' };
  const place = { lakeUrl, jobs, env: { ...(service ? {} : none), LOG_LEVEL: 'debug', ...env } };
  const { error, ...ran } = await commandRun(
    { ...place, ...(service && { service }), ...(signal && { signal }) },
    (context) =>
      verifyCommand(
        context,
        jobNames,
        { json: true, ...(whole === true ? {} : { from: DATE, to: TO }), ...rest },
        { clientLimits: QUICK_LIMITS, ...(wrapStore && { wrapStore }) },
      ),
  );
  if (error !== undefined) throw error;
  const result = JSON.parse(ran.stdout) as RanVerify['result'];
  const found = result.findings.map(({ code: name, job, date }) => `${name} ${job}/${date}`).sort();
  return { ...ran, found, result };
}

/** Rewrite a file of a lake. */
export async function edit(dir: string, key: string, change: (bytes: Buffer) => Uint8Array): Promise<void> {
  await writeFile(join(dir, key), change(await readFile(join(dir, key))));
}

export async function editReceipt(
  dir: string,
  day: VesselDay,
  change: (receipt: Receipt) => object,
): Promise<void> {
  await edit(dir, receiptKey(day), (bytes) => {
    const receipt = JSON.parse(bytes.toString()) as Receipt;
    return Buffer.from(JSON.stringify({ ...receipt, ...change(receipt) }));
  });
}

/** Rewrite the detail; with `consistent` the receipt names the new one. */
export async function editDetail(
  dir: string,
  day: VesselDay,
  change: (detail: Detail) => Detail,
  consistent = false,
): Promise<void> {
  let sha256 = '';
  await edit(dir, detailKey(day), (bytes) => {
    const text = Buffer.from(JSON.stringify(change(JSON.parse(gunzipSync(bytes).toString()) as Detail)));
    sha256 = hash('sha256', text);
    return gzipSync(text);
  });
  if (consistent) await editReceipt(dir, day, ({ detail }) => ({ detail: { ...detail, sha256 } }));
}

/** Put other bytes in the object's place, and let the receipt name them as if they had been published. */
export async function replaceObject(dir: string, day: VesselDay, bytes: Uint8Array): Promise<void> {
  await writeFile(join(dir, objectKey(day)), bytes);
  await editReceipt(dir, day, ({ object }) => ({
    object: {
      ...object,
      sizeBytes: bytes.length,
      parts: [{ sizeBytes: bytes.length, sha256: hash('sha256', bytes) }],
    },
  }));
}

const WRITES = [
  'put',
  'putIfAbsent',
  'remove',
  'begin',
  'append',
  'adopt',
  'publish',
  'abandon',
] as const satisfies (keyof ObjectStore)[];

/** I4: a store on which every call that could write throws. */
export function refuseWrites(store: ObjectStore): ObjectStore {
  const refuse = (name: string) => () => {
    throw new Error(`verify called ${name}`);
  };
  return { ...store, ...Object.fromEntries(WRITES.map((name) => [name, refuse(name)])) };
}
