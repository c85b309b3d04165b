/** `verify`: receipts against objects, with `--deep` also against the service. Read-only, always. */
import { FINDINGS, type Finding } from '../../audit/verify/findings.ts';
import { ALL_DATES, type JobExtent, walkLedger } from '../../audit/verify/lake-walk.ts';
import { type VerifyObserver, verifyLake } from '../../audit/verify/verify-lake.ts';
import { ConfigError } from '../../core/errors.ts';
import { addDays, countOf, systemClock } from '../../core/model/index.ts';
import { createVerifyView, formatVerified, type VerifyView } from '../terminal/verify-view.ts';
import type { Command, Item, OpenedLake, Output, OutputOptions } from './command.ts';
import { EXIT_FAILED, EXIT_OK, openLakeAndService, openOutput } from './command.ts';
import { askedDates, type Dates, formatDates, type RangeOptions } from './dates.ts';

export interface VerifyOptions extends RangeOptions, OutputOptions {
  readonly deep?: boolean;
}

/** Vessel-days at once with `--deep`: as many objects of S3 are in the temp folder. */
const MAX_DEEP_AT_ONCE = 4;
/** Without `--deep` most time is the store's latency, and each vessel-day holds a range of 4 MiB. */
const MIN_AT_ONCE = 8;

export const verifyCommand: Command<[jobNames: readonly string[], VerifyOptions]> = async (
  context,
  jobNames,
  options,
  { wrapStore, ...overrides } = {},
) => {
  const asked = askedDates(options, systemClock.nowMs());
  const isWhole = asked.from === undefined && asked.to === undefined;
  const output = openOutput(context.stdout, 'verify', options);
  const deep = options.deep === true;
  const view = createVerifyView(context.stderr, systemClock);
  await using lake = await openLakeAndService(context, jobNames, deep, overrides, view.log);
  const seen: Gathered = { unknownJobs: [], hints: [] };
  const verify = async () => {
    await lake.layout?.checkSource(lake.jobs.map(({ name }) => name));
    const { WORKER_CONCURRENCY, TEMP_DIR } = lake.config.settings;
    const request = {
      ...{ ...ALL_DATES, ...asked, jobs: lake.jobs, vessels: options.vessel ?? [] },
      concurrency: deep
        ? Math.min(WORKER_CONCURRENCY, MAX_DEEP_AT_ONCE)
        : Math.max(WORKER_CONCURRENCY, MIN_AT_ONCE),
      ...(lake.client && { deep: { client: lake.client, tempDir: TEMP_DIR } }),
    };
    const store = wrapStore?.(lake.store) ?? lake.store;
    const observer = observe(view, output, (dates) => {
      seen.dates = { ...dates, ...asked, ...(isWhole && { meaning: 'the whole lake' }) };
    });
    await verifyLake({ store, log: lake.log }, request, observer, context.signal);
    const isNothing = view.totals.planned === 0 && view.findings.length === 0;
    if (isNothing || (isWhole && jobNames.length === 0))
      await lookAround(lake, request.vessels, isNothing, seen);
  };
  const end = () => {
    const { planned, vesselDays, notVerified, sound, rows, bytes: sizeBytes } = view.totals;
    const { from = asked.from ?? null, to = asked.to ?? null } = seen.dates ?? {};
    const withFindings = vesselDays + notVerified - sound;
    const counts = { planned, vesselDays, notVerified, withFindings, rows, sizeBytes };
    const dates = seen.dates?.meaning === undefined ? [] : [formatDates(seen.dates)];
    const lines = [...dates, ...seen.hints].map((line) => `${line}\n`);
    const text = () => formatVerified(view, deep, context.stdout) + lines.join('');
    output.end({ from, to, ...counts, unknownJobs: seen.unknownJobs }, text);
  };
  await verify()
    .finally(view.end)
    .catch((error) => {
      if (view.totals.vesselDays + view.totals.notVerified > 0) end();
      throw error;
    });
  end();
  return view.findings.length === 0 ? EXIT_OK : EXIT_FAILED;
};

interface Gathered {
  dates?: Dates;
  unknownJobs: string[];
  hints: string[];
}

function observe(view: VerifyView, output: Output<'verify'>, onDates: (dates: Dates) => void) {
  return {
    onPlanned(vesselDays, dates) {
      view.onPlanned(vesselDays);
      if (dates !== undefined) onDates(dates);
    },
    onBytes: (bytes) => view.onBytes(bytes),
    onDay(verified) {
      view.onDay(verified);
      for (const finding of verified.findings) output.add('findings', toFinding(finding));
      for (const { name: code, day, text: message } of verified.warnings)
        output.add('warnings', { ...day, code, message });
    },
  } satisfies VerifyObserver;
}

function toFinding({ name: code, day, where: key, ...rest }: Finding): Item<'verify', 'findings'> {
  const { found, expected, next } = rest;
  const message = FINDINGS[code].means;
  return { ...day, code, message, key, found, expected, next };
}

/** Jobs in the lake without a job file. Throws ConfigError if jobs and vessels match nothing in the lake. */
async function lookAround(
  { store, jobs, config }: OpenedLake,
  vessels: readonly string[],
  isNothing: boolean,
  seen: Gathered,
): Promise<void> {
  const extents = await walkLedger(store);
  seen.unknownJobs = [...extents.keys()].filter((name) => !config.jobs.some((job) => job.name === name));
  if (seen.unknownJobs.length > 0)
    seen.hints.push(`not verified, since no job file is named so: ${seen.unknownJobs.join(', ')}`);
  if (!isNothing) return;
  if (extents.size === 0) return void seen.hints.push('the lake has no receipts');
  const has = `the lake has ${[...extents].map(describeExtent).join('; ')}`;
  const isThere = ({ name }: { name: string }) => {
    const known = extents.get(name)?.vessels;
    return known !== undefined && (vessels.length === 0 || vessels.some((vessel) => known.has(vessel)));
  };
  if (jobs.some(isThere)) return void seen.hints.push(has);
  const what = [...jobs.map(({ name }) => `job ${name}`), ...vessels.map((id) => `vessel ${id}`)].join(', ');
  const found = `nothing of ${what} is in the lake; ${has}. Name jobs and vessels of these, or none`;
  throw new ConfigError('nothing-to-verify', found);
}

function describeExtent([job, { vessels, first, last }]: [string, JobExtent]): string {
  const dates = formatDates({ from: first, to: addDays(last, 1) });
  return `${job}: ${countOf(vessels.size, 'vessel')}, ${dates}`;
}
