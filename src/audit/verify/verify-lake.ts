/**
 * Verify: every vessel-day that the lake has anything of, checked against its receipt, and with `deep` against the
 * service. I4: only reads, from store and service; `deep` writes into its temp folder.
 */
import { runInline } from '../../core/concurrency.ts';
import { CancelledError, messageOf } from '../../core/errors.ts';
import type { Job, Layout, Log, Receipt, VesselDay, Warning } from '../../core/model/index.ts';
import { addDays, toMoment } from '../../core/model/index.ts';
import type { DayRange } from '../../core/plan/due.ts';
import { settingsHash } from '../../core/plan/settings-hash.ts';
import { leastPrecision, precisionOf } from '../../core/proof/compare-counts.ts';
import { OBJECT_NAME, objectKey, receiptKey } from '../../lake/keys.ts';
import { readLayout } from '../../lake/lake-file.ts';
import { describeWarning, howToAccept, Warnings } from '../../lake/warnings.ts';
import { createSourceContext } from '../../source/context.ts';
import type { QueryClient } from '../../source/fetch/client.ts';
import { createSeriesCache, resolveSeriesOfIds, type SeriesCache } from '../../source/series.ts';
import { checkDay, type SettingsOf } from './day-check.ts';
import { checkDeep } from './deep-check.ts';
import type { DetailCounts } from './detail-check.ts';
import type { Difference, Finding, Place, VerifyWarning } from './findings.ts';
import { difference, findingAt, firstFew } from './findings.ts';
import { describeUnfinished, type ReadableStore, type StrayFiles, walkDays } from './lake-walk.ts';
import { createReadBack, type ReadBack } from './read-back.ts';
import { type CheckedTable, openCheckedTable } from './table-check.ts';
import { openTempObjects, type TempObjects } from './temp-objects.ts';

/** Without vessels: all that the lake has. */
interface VerifyRequest extends DayRange {
  readonly jobs: readonly Job[];
  readonly concurrency: number;
  /** Read the rows back and ask the service. */
  readonly deep?: { readonly client: QueryClient; readonly tempDir: string };
}

export interface VerifyObserver {
  /** Vessel-days to be checked, and from the first of their dates to the last, `to` exclusive. */
  onPlanned(vesselDays: number, dates?: { readonly from: string; readonly to: string }): void;
  onBytes(bytes: number): void;
  onDay(verified: VerifiedDay): void;
}

/** The result of `verify` for one vessel-day, or for files outside all days. */
export interface VerifiedDay {
  readonly day: Place;
  /** False if only stray files or a running attempt were found. */
  readonly checked: boolean;
  /** As the receipt says; undefined without one. */
  readonly rows: number | undefined;
  readonly findings: readonly Finding[];
  readonly warnings: readonly VerifyWarning[];
}

interface VerifyPorts {
  readonly store: ReadableStore;
  readonly log: Log;
}

interface WalkedJob {
  readonly job: Job;
  readonly days: Iterable<VesselDay>;
  readonly layout: Layout;
  readonly table: CheckedTable | undefined;
}

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
  const walked: WalkedJob[] = [];
  const strays: VerifiedDay[] = [];
  const layout = await readLayout(ports.store);
  for (const job of request.jobs) {
    signal.throwIfAborted();
    const range = rangeOf(request, job);
    const opened = layout === 'delta' ? await openCheckedTable(ports, range) : undefined;
    strays.push(...(opened?.found ?? []).map((difference) => ofJob(job, difference)));
    const table = opened?.table;
    const found = await walkDays(ports.store, range, layout === 'delta' ? (table ?? NO_TABLE) : undefined);
    walked.push({ job, days: found.days, layout, table });
    strays.push(...found.strays.map((files) => strayFinding(job, files)));
  }
  let [planned, first, last] = [0, '', ''];
  for (const { day } of tasksOf(walked)) {
    planned++;
    if (first === '' || day.date < first) first = day.date;
    if (day.date > last) last = day.date;
  }
  observer.onPlanned(planned, planned === 0 ? undefined : { from: first, to: addDays(last, 1) });
  for (const stray of strays) observer.onDay(stray);
  const said = new Warnings();
  const tools = request.deep && (await openTools(request.deep, ports.store.url, signal));
  const verification: Verification = { ports, observer, tools, said };
  try {
    await runInline(tasksOf(walked), {
      concurrency: request.concurrency,
      signal,
      perform: (task, scope) => verifyDay(verification, task, scope),
      onSettled: ({ day, job }, settled) => {
        if ('outcome' in settled) return observer.onDay(settled.outcome);
        if (signal.aborted || settled.error instanceof CancelledError) return;
        const found = difference('not-verified', receiptKey(day), messageOf(settled.error), 'an answer');
        const findings = [findingAt(day, job.dataset, found)];
        observer.onDay({ ...UNCHECKED, day, checked: true, findings });
      },
    });
    for (const { job, table } of walked)
      for (const difference of table?.findings() ?? []) observer.onDay(ofJob(job, difference));
    for (const job of request.jobs)
      for await (const { day, text } of describeUnfinished(ports.store, rangeOf(request, job)))
        observer.onDay({ ...UNCHECKED, day, warnings: [{ name: 'unfinished', day, text }] });
    for (const { day, warnings } of await said.open(ports.store)) {
      const textOf = (warning: Warning) => `${describeWarning(warning)}; '${howToAccept(day)}' accepts it`;
      const said = warnings.map((warning) => ({ name: warning.kind, day, text: textOf(warning) }));
      observer.onDay({ ...UNCHECKED, day, warnings: said });
    }
  } finally {
    await tools?.readBack.close();
    await tools?.temps.close();
  }
}

const UNCHECKED = { checked: false, rows: undefined, findings: [], warnings: [] } as const;

/** Where a log is damaged, receipts and details tell which days there are. */
const NO_TABLE = { days: () => [] };

interface Verification {
  readonly ports: VerifyPorts;
  readonly observer: VerifyObserver;
  readonly tools: DeepTools | undefined;
  readonly said: Warnings;
}

interface DayTask extends WalkedJob {
  readonly day: VesselDay;
}

function* tasksOf(walked: readonly WalkedJob[]): Generator<DayTask> {
  for (const job of walked) for (const day of job.days) yield { ...job, day };
}

function ofJob({ name: job, dataset }: Job, difference: Difference): VerifiedDay {
  return { ...UNCHECKED, day: { job }, findings: [findingAt({ job }, dataset, difference)] };
}

function strayFinding(job: Job, { folder, names, ...rest }: StrayFiles): VerifiedDay {
  const day: Place = { job: job.name, ...rest };
  const isDayFolder = rest.vessel !== undefined && rest.date !== undefined;
  const expected = isDayFolder ? `${OBJECT_NAME} and nothing else` : 'no files';
  const found = difference('object-stray', folder, firstFew(names), expected);
  return { ...UNCHECKED, day, findings: [findingAt(day, job.dataset, found)] };
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

async function verifyDay(
  { ports, observer, tools, said }: Verification,
  { job, day, layout, table }: DayTask,
  signal: AbortSignal,
): Promise<VerifiedDay> {
  const temp = await tools?.temps.open();
  try {
    let warnings: VerifyWarning[] = [];
    const deepen = (receipt: Receipt, counts: DetailCounts | undefined) => {
      // Those of the last look only: the day may be looked at again.
      warnings = [];
      const context = createSourceContext({ client: tools!.client, log: ports.log }, job, day, signal);
      const where = receipt.object?.key ?? objectKey(day);
      return checkDeep({
        ...{ context, receipt, counts, where, readBack: tools!.readBack },
        object: { path: temp!.pathOf(where), rows: receipt.rows },
        sameSettings: hasSettings(job, receipt),
        onWarning: (name, text) => warnings.push({ name, day, text }),
        resolveSeries: (named) =>
          named === undefined ? tools!.seriesOf(context) : resolveSeriesOfIds(context, named),
      });
    };
    const { receipt, findings } = await checkDay(
      {
        store: ports.store,
        ...{ signal, layout, table, dataset: job.dataset },
        settingsOf: (receipt) => settingsOf(job, receipt),
        onBytes: async (bytes, atByte) => {
          observer.onBytes(bytes.length);
          await temp?.write?.(bytes, atByte);
        },
        ...(tools && { deepen }),
      },
      day,
    );
    if (receipt !== undefined) said.add({ ...receipt, started: toMoment(receipt.startedAt) });
    return { day, checked: true, rows: receipt?.rows, findings, warnings };
  } finally {
    await temp?.remove();
  }
}

/** What is known of a receipt's settings: all, where the job still has them. */
function settingsOf(job: Job, receipt: Receipt): SettingsOf {
  if (!hasSettings(job, receipt))
    return { aggregations: undefined, precision: leastPrecision(receipt.dataset) };
  return { aggregations: job.aggregations, precision: precisionOf(job) };
}

function hasSettings(job: Job, receipt: Receipt): boolean {
  return settingsHash(job, receipt.apiVersion) === receipt.settingsHash;
}
