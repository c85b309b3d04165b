/**
 * Every finding of verify, in both layouts and all datasets: a damage gives it and nothing else, and what its advice says
 * puts the day right. One lake a layout, a vessel for each damage, and the process that exported it goes on in it: what
 * somebody else committed to a table meanwhile is news to it.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reconcileJob } from '../../../src/audit/reconcile/reconcile-jobs.ts';
import { repairTasks } from '../../../src/audit/reconcile/repair.ts';
import { adviceFor, FINDINGS, type Finding } from '../../../src/audit/verify/findings.ts';
import type { ReadableStore } from '../../../src/audit/verify/lake-walk.ts';
import {
  addDays,
  type Clock,
  type Dataset,
  dayRange,
  formatVesselDay,
  type Layout,
  systemClock,
  type VesselDay,
} from '../../../src/core/model/index.ts';
import { thisProcess } from '../../../src/core/process/process-id.ts';
import type { DayResult, ExportEvent } from '../../../src/export/events.ts';
import { performTasks } from '../../../src/export/run/run-jobs.ts';
import { rebuildLog } from '../../../src/lake/upkeep/rebuild-log.ts';
import type { JobDefinition } from '../../../src/runtime/config/jobs.ts';
import { fleetVessels } from '../../../src/service/data/made-up/fleet.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { lakeFiles, receiptOf } from '../../helpers/lake.ts';
import { type LakeApp, openLakeApp } from '../../helpers/lake-app.ts';
import { DATE, startTestService, type TestService } from '../../helpers/run.ts';
import { newMemoryFolder, type TempFolder } from '../../helpers/temp.ts';
import { refuseWrites } from './audit-lake.ts';
import { type Advice, put, TRIALS, type Trial, type Victim } from './damages.ts';

const SILENT_DATE = addDays(DATE, 1);
const FLEET = { seed: 1, vessels: TRIALS.length, readingsPerDay: 1_000 };
const VESSELS = fleetVessels(FLEET).map(({ identifier }) => identifier);
/** Small, so that a day has several row groups and parts. */
const SIZES = { rowGroupRows: 20, partBytes: 800 };

const DEFINITIONS: Readonly<Record<Dataset, Pick<JobDefinition, 'dataset' | 'window' | 'aggregations'>>> = {
  measurements: { dataset: 'measurements' },
  statistics: { dataset: 'statistics', window: '2h', aggregations: ['mean', 'last_val'] },
  metadata: { dataset: 'metadata' },
};

/** What an advice has to say for its finding's advice to mean it. */
const SAYS: Readonly<Record<Advice, RegExp>> = {
  run: /run the day again(?! with --force)/,
  force: /run the day again with --force/,
  restore: /restore/,
  reconcile: /reconcile/,
  again: /verify again/,
  rebuild: /'vessel-export rebuild-log JOB --yes'/,
  'by hand': /remove|move|with that vessel-export/,
  'by hand, then run': /remove .* run the day again/,
  'by hand, then rebuild': /move .* 'vessel-export rebuild-log JOB --yes'/,
};

/** A trial with a vessel-day of its own, and what became of it. */
interface Run extends Trial {
  readonly day: VesselDay;
  /** Findings beside the damage: of a plain verify and, for what only a deep one finds, of that. */
  found: Finding[];
  foundDeep: Finding[];
  /** Results of what was run again. */
  results: DayResult[];
  /** Findings of a deep verify in the end. */
  left: Finding[];
}

/** A vessel for each: one whose readings change at the source is no other one's. */
const ALL: readonly Run[] = TRIALS.map((trial, at) => {
  const isAlone = trial.isOfLog || trial.advice.endsWith('rebuild');
  const job = isAlone ? `logged-${at}` : trial.dataset;
  const date = trial.isEmptyDay ? SILENT_DATE : DATE;
  return {
    ...trial,
    day: { job, vessel: VESSELS[at]!, date },
    found: [],
    foundDeep: [],
    results: [],
    left: [],
  };
});

const LAYOUTS = ['plain', 'delta'] as const;
const runsOf = (layout: Layout) => ALL.filter((run) => run.layout === layout);

let service: TestService;
let folder: TempFolder;
beforeAll(async () => {
  [service, folder] = [await startTestService(FLEET), await newMemoryFolder()];
  service.overlay.removeReadings(undefined, dayRange(SILENT_DATE));
  for (const layout of LAYOUTS) await tryAll(layout);
  // All of the work is here.
}, 240_000);
afterAll(async () => {
  await service.close();
  await folder[Symbol.asyncDispose]();
});

const idOf = (day: Finding['day']) =>
  day.vessel === undefined ? day.job : formatVesselDay(day as VesselDay);

async function tryAll(layout: Layout): Promise<void> {
  const runs = runsOf(layout);
  const dir = join(folder.path, layout);
  const lakeUrl = pathToFileURL(dir).href;
  const jobs: Record<string, JobDefinition> = {};
  for (const { day, dataset } of runs) {
    const vessels = (jobs[day.job]?.vessels ?? []) as string[];
    jobs[day.job] = {
      ...DEFINITIONS[dataset],
      select: ['flat/{vessel}/S*'],
      vessels: [...vessels, day.vessel],
    };
  }
  const options = { service, lakeUrl, jobs, env: { LAKE_LAYOUT: layout } };
  // Nobody waits for a second to commit with others.
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => systemClock.sleep(ms > 1_000 ? ms : 0, signal),
  };
  // Metadata is captured on the day itself.
  const noon = { ...clock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
  await using later = await openLakeApp({ ...options, overrides: { sizes: SIZES, clock } });
  await using then = await openLakeApp({ ...options, overrides: { sizes: SIZES, clock: noon } });
  const appOf = ({ dataset }: Pick<Run, 'dataset'>) => (dataset === 'metadata' ? then : later);
  for (const group of groupsOf(runs, () => ''))
    expect(
      (await runAgain(appOf(group[0]!), group)).filter(({ status }) => !/published|empty/.test(status)),
    ).toEqual([]);

  const sound = await lakeFiles(dir);
  const victims = new Map<Run, Victim>();
  for (const run of runs) {
    const receipt = (await receiptOf(dir, run.day))!;
    victims.set(run, { dir, layout, service, day: run.day, receipt });
  }
  for (const [run, victim] of victims) await run.act(victim);
  const unreadable = new Set([...victims].map(([run, victim]) => run.unreadable?.(victim)));
  await tell(
    later,
    runs,
    false,
    withUnreadable(refuseWrites(later.app.store), unreadable),
    (run) => run.found,
  );
  await tell(
    later,
    runs.filter(({ isDeep }) => isDeep),
    true,
    later.app.store,
    (run) => run.foundDeep,
  );

  const isRun = (advice: Advice) => advice === 'run' || advice === 'force' || advice === 'by hand, then run';
  for (const [run, victim] of victims) {
    if (run.advice.startsWith('by hand')) await run.byHand!(victim);
    if (run.advice === 'restore') await restore(dir, run, sound);
    if (run.advice.endsWith('rebuild')) await rebuild(later, run);
  }
  for (const group of groupsOf(
    runs.filter(({ advice }) => isRun(advice)),
    ({ advice }) => advice,
  ))
    keepResults(group, await runAgain(appOf(group[0]!), group, { force: group[0]!.advice === 'force' }));
  const maySay = ({ finding, results }: Run) =>
    /--allow-shrink/.test(FINDINGS[finding].next) && results.some(({ status }) => status === 'refused');
  for (const group of groupsOf(runs.filter(maySay), () => ''))
    keepResults(group, await runAgain(appOf(group[0]!), group, { force: true, allowShrink: true }));
  await reconcile(
    later,
    runs.filter(({ advice }) => advice === 'reconcile'),
  );
  await tell(later, runs, true, later.app.store, (run) => run.left);
}

/** Runs of one job and date, and of what else they are to have in common. */
function groupsOf(runs: readonly Run[], of: (run: Run) => string): Run[][] {
  return [...Map.groupBy(runs, (run) => `${run.day.job} ${run.day.date} ${of(run)}`).values()];
}

function runAgain(
  app: LakeApp,
  group: readonly Run[],
  how: Parameters<LakeApp['run']>[0] = {},
): Promise<DayResult[]> {
  const { job, date } = group[0]!.day;
  return app.run({ jobs: [job], from: date, vessels: group.map(({ day }) => day.vessel), ...how });
}

function keepResults(group: readonly Run[], results: readonly DayResult[]): void {
  for (const run of group)
    run.results = results.filter(({ day }) => formatVesselDay(day) === formatVesselDay(run.day));
}

/** Verify the days of these runs, and tell each what was found in its own. */
async function tell(
  app: LakeApp,
  runs: readonly Run[],
  deep: boolean,
  store: ReadableStore,
  of: (run: Run) => Finding[],
): Promise<void> {
  const places = new Map(
    runs.flatMap(
      (run) => [[idOf(run.day), run], ...(run.isOfLog ? [[run.day.job, run]] : [])] as [string, Run][],
    ),
  );
  for (const group of groupsOf(runs, () => '')) {
    const { job, date } = group[0]!.day;
    const vessels = group.map(({ day }) => day.vessel);
    const { findings } = await app.verify({
      jobs: [job],
      from: date,
      vessels,
      deep,
      ...(store && { store }),
    });
    for (const finding of findings) of(places.get(idOf(finding.day))!).push(finding);
  }
}

/** Reading these keys fails. */
function withUnreadable(store: ObjectStore, keys: ReadonlySet<string | undefined>): ObjectStore {
  return {
    ...store,
    async getRange(key, from, to) {
      if (keys.has(key)) throw new Error('input/output error');
      return store.getRange(key, from, to);
    },
  };
}

/** The files of a vessel-day, or of its job's log, as they were. */
async function restore(
  dir: string,
  { day, isOfLog }: Run,
  sound: ReadonlyMap<string, Buffer>,
): Promise<void> {
  for (const [key, bytes] of sound) {
    const isOwn = isOfLog
      ? key.startsWith(`${day.job}/_delta_log/`)
      : key.includes(`vessel=${day.vessel}`) &&
        key.includes(`date=${day.date}`) &&
        key.split('/').includes(day.job);
    if (isOwn) await put(dir, key, bytes);
  }
}

/** `rebuild-log JOB --yes`. */
async function rebuild({ app }: LakeApp, { day }: Run): Promise<void> {
  const { signal } = new AbortController();
  const ports = { ...app.ports, signal, self: thisProcess(), say: () => {} };
  expect(await rebuildLog(ports, day.job, true)).toMatchObject({ isWritten: true, leftOut: [] });
}

/** `reconcile --run`, and with `--allow-shrink` for what that finds refused. */
async function reconcile({ app, jobs }: LakeApp, runs: readonly Run[]): Promise<void> {
  const { signal } = new AbortController();
  for (const group of groupsOf(runs, () => '')) {
    const { job: name, date } = group[0]!.day;
    const job = jobs.find((one) => one.name === name)!;
    const vessels = group.map(({ day }) => day.vessel);
    const request = { from: date, to: addDays(date, 1), vessels, concurrency: 4 };
    const found = await reconcileJob(app.ports, job, request, signal);
    const results: DayResult[] = [];
    const onEvent = (event: ExportEvent) => event.kind === 'day-result' && results.push(event.result);
    const tasks = repairTasks(app.ports, job, found, { allowShrink: true, takeover: false });
    await performTasks(app.ports, tasks, 4, onEvent, signal);
    keepResults(group, results);
  }
}

test('each advice that is tried is what its finding says', () => {
  for (const { finding, advice, dataset } of TRIALS)
    expect(adviceFor(finding, dataset), finding).toMatch(SAYS[advice]);
  expect(new Set(TRIALS.map(({ finding }) => finding))).toEqual(new Set(Object.keys(FINDINGS)));
});

describe.for(LAYOUTS)('%s', (layout) => {
  const shown = runsOf(layout).map(
    (run) =>
      [
        run.finding,
        run.what,
        run.dataset === 'measurements' ? '' : ` (${run.dataset})`,
        run.advice,
        run,
      ] as const,
  );

  test.for(shown)('%s: %s%s, and %s', async ([finding, , , , run]) => {
    const [found, ...more] = run.isDeep ? run.foundDeep : run.found;
    expect({ name: found?.name, more }).toEqual({ name: finding, more: [] });
    expect(found!.found).not.toBe(found!.expected);
    if (run.isDeep) expect(run.found).toEqual([]);
    const odd = run.results.filter(({ status }) => !['published', 'empty'].includes(status));
    expect({ left: run.left, odd }).toEqual({ left: [], odd: [] });
  });
});
