/**
 * Verify: every vessel-day that the lake has anything of, checked against its receipt, and with `deep` against the
 * service. I4: only reads, from store and service; `deep` writes into its temp folder.
 */
import { CancelledError, messageOf } from '../errors.ts';
import { grainOf } from '../export/proof.ts';
import type { SourceContext } from '../export/source-context.ts';
import type { QueryClient } from '../fetch/client.ts';
import { createRequestStats } from '../fetch/exchange.ts';
import type { Job, Log, Receipt, VesselDay } from '../model/index.ts';
import { objectKey, receiptKey } from '../model/index.ts';
import { settingsHash } from '../plan/settings-hash.ts';
import { runInline } from '../queue/runner.ts';
import type { DayVerdict, SettingsOf } from '../verify/day-check.ts';
import { checkDay } from '../verify/day-check.ts';
import type { DetailCounts } from '../verify/detail-check.ts';
import type { Difference, Finding, Place, Remark } from '../verify/findings.ts';
import { firstFew } from '../verify/findings.ts';
import type { StrayFiles } from '../verify/lake-walk.ts';
import { walkClaims, walkDays, walkUploads } from '../verify/lake-walk.ts';
import type { ReadableStore } from '../verify/object-check.ts';
import type { ReadBack } from '../verify/read-back.ts';
import { createReadBack } from '../verify/read-back.ts';
import { describeUnfinished, readUnfinished } from '../verify/unfinished.ts';
import { checkDeep } from './deep-check.ts';
import type { SeriesCache } from './source-values.ts';
import { createSeriesCache, seriesToAsk } from './source-values.ts';
import type { TempObject, TempObjects } from './temp-objects.ts';
import { openTempObjects } from './temp-objects.ts';

export interface VerifyRequest {
  readonly jobs: readonly Job[];
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** Empty: all that the lake has. */
  readonly vessels: readonly string[];
  /** Vessel-days at once. */
  readonly concurrency: number;
  /** Read the rows back and ask the service. */
  readonly deep?: { readonly client: QueryClient; readonly tempDir: string };
}

export interface VerifyObserver {
  /** Vessel-days to be checked. */
  onPlanned(vesselDays: number): void;
  /** Bytes of objects as they are read. */
  onBytes(bytes: number): void;
  onDay(verified: VerifiedDay): void;
}

export interface VerifiedDay {
  readonly day: Place;
  /** False for what is said of a day that is counted elsewhere, or not at all. */
  readonly checked: boolean;
  /** As the receipt says; undefined without one. */
  readonly rows: number | undefined;
  readonly findings: readonly Finding[];
  readonly remarks: readonly Remark[];
}

interface VerifyPorts {
  readonly store: ReadableStore;
  readonly log: Log;
}

/** With `deep`: what it works with, for the time of the run. */
interface DeepTools {
  readonly client: QueryClient;
  readonly temps: TempObjects;
  readonly readBack: ReadBack;
  readonly seriesOf: SeriesCache;
}

/**
 * Check all vessel-days of a request. What cannot be checked is a finding, `not-verified`. Throws CancelledError,
 * and errors that concern every vessel-day: a store out of reach, a refused credential, a full disk.
 */
export async function verifyLake(
  ports: VerifyPorts,
  request: VerifyRequest,
  observer: VerifyObserver,
  signal: AbortSignal,
): Promise<void> {
  const tasks: { job: Job; day: VesselDay }[] = [];
  const strays: VerifiedDay[] = [];
  for (const job of request.jobs) {
    signal.throwIfAborted();
    const found = await walkDays(ports.store, rangeOf(request, job));
    for (const day of found.days) tasks.push({ job, day });
    strays.push(...found.strays.map((one) => strayFinding(job, one)));
  }
  observer.onPlanned(tasks.length);
  for (const stray of strays) observer.onDay(stray);
  const tools = request.deep && (await openTools(request.deep, ports.store.url, signal));
  try {
    await runInline(tasks, {
      concurrency: request.concurrency,
      signal,
      perform: ({ job, day }, scope) => verifyDay(ports, job, day, tools, observer, scope),
      onSettled: ({ day }, settled) => {
        if ('outcome' in settled) observer.onDay(settled.outcome);
        else if (!signal.aborted && !(settled.error instanceof CancelledError))
          observer.onDay(notVerified(day, settled.error));
      },
    });
    for (const job of request.jobs) await remarkUnfinished(ports.store, request, job, observer);
  } finally {
    await tools?.readBack.close();
    await tools?.temps.close();
  }
}

function strayFinding(job: Job, { folder, names, ...rest }: StrayFiles): VerifiedDay {
  const day: Place = { job: job.name, ...rest };
  const isDayFolder = rest.vessel !== undefined && rest.date !== undefined;
  const finding: Finding = {
    name: 'object-stray',
    day,
    where: folder,
    found: firstFew(names),
    expected: isDayFolder ? 'data.parquet and nothing else' : 'no files',
  };
  return { day, checked: false, rows: undefined, findings: [finding], remarks: [] };
}

function rangeOf({ from, to, vessels }: VerifyRequest, job: Job) {
  return { job: job.name, from, to, vessels };
}

async function openTools(
  { client, tempDir }: NonNullable<VerifyRequest['deep']>,
  lakeUrl: string,
  signal: AbortSignal,
): Promise<DeepTools> {
  const temps = await openTempObjects(tempDir, lakeUrl);
  const readableDirs = temps.localDir === undefined ? [] : [temps.localDir];
  const readBack = createReadBack({ readableDirs, tempDir: temps.tempDir, signal });
  return { client, temps, readBack, seriesOf: createSeriesCache() };
}

function notVerified(day: VesselDay, error: unknown): VerifiedDay {
  const found = messageOf(error);
  const finding: Finding = {
    name: 'not-verified',
    day,
    where: receiptKey(day),
    found,
    expected: 'an answer',
  };
  return { day, checked: true, rows: undefined, findings: [finding], remarks: [] };
}

async function verifyDay(
  ports: VerifyPorts,
  job: Job,
  day: VesselDay,
  tools: DeepTools | undefined,
  observer: VerifyObserver,
  signal: AbortSignal,
): Promise<VerifiedDay> {
  const temp = await tools?.temps.open(objectKey(day));
  try {
    let remarks: Remark[] = [];
    const verdict = await checkDay(
      {
        store: ports.store,
        signal,
        settingsOf: (receipt) => settingsOf(job, receipt),
        onBytes: async (bytes, atByte) => {
          observer.onBytes(bytes.length);
          await temp?.write?.(bytes, atByte);
        },
        ...(tools && {
          deepen: (receipt, counts) => {
            // Of the last look only: the day may be looked at again.
            remarks = [];
            const onRemark = (name: Remark['name'], text: string) => remarks.push({ name, day, text });
            return deepen(ports, job, day, { tools, temp: temp!, receipt, counts, onRemark, signal });
          },
        }),
      },
      day,
    );
    return toVerified(day, verdict, remarks);
  } finally {
    await temp?.remove();
  }
}

function toVerified(day: VesselDay, verdict: DayVerdict, remarks: readonly Remark[]): VerifiedDay {
  const { receipt, findings } = verdict;
  return { day, checked: true, rows: receipt?.rows, findings, remarks };
}

/** What is known of a receipt's settings: all, where the job still has them. */
function settingsOf(job: Job, receipt: Receipt): SettingsOf {
  if (!hasSettings(job, receipt)) return { aggregations: undefined, grain: 'day' };
  return { aggregations: job.aggregations, grain: grainOf(job) };
}

function hasSettings(job: Job, receipt: Receipt): boolean {
  return settingsHash(job, receipt.apiVersion) === receipt.settingsHash;
}

interface Deepening {
  readonly tools: DeepTools;
  readonly temp: TempObject;
  readonly receipt: Receipt;
  readonly counts: DetailCounts | undefined;
  readonly onRemark: (name: Remark['name'], text: string) => void;
  readonly signal: AbortSignal;
}

async function deepen(
  { log }: VerifyPorts,
  job: Job,
  day: VesselDay,
  { tools, temp, receipt, counts, onRemark, signal }: Deepening,
): Promise<Difference[]> {
  const { client, readBack, seriesOf } = tools;
  const context: SourceContext = { client, job, day, log, signal, stats: createRequestStats() };
  return checkDeep({
    context,
    receipt,
    counts,
    path: temp.path,
    readBack,
    sameSettings: hasSettings(job, receipt),
    onRemark,
    resolveSeries: (named) => (named === undefined ? seriesOf(context) : seriesToAsk(context, named)),
  });
}

/** Attempts and uploads that are under way or were left: none of them is a difference. */
async function remarkUnfinished(
  store: ReadableStore,
  request: VerifyRequest,
  job: Job,
  observer: VerifyObserver,
): Promise<void> {
  const range = rangeOf(request, job);
  const remark = (day: VesselDay, text: string) =>
    observer.onDay({
      day,
      checked: false,
      rows: undefined,
      findings: [],
      remarks: [{ name: 'unfinished', day, text }],
    });
  const claimed = new Set<string>();
  for (const day of await walkClaims(store, range)) {
    const unfinished = await readUnfinished(store, day);
    if (unfinished === undefined) continue;
    claimed.add(objectKey(day));
    remark(day, describeUnfinished(unfinished));
  }
  for (const { day, startedMs } of await walkUploads(store, range)) {
    if (!claimed.has(objectKey(day)))
      remark(day, `an upload without a claim, begun at ${new Date(startedMs).toISOString()}; gc removes it`);
  }
}
