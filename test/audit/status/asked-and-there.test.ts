/**
 * Which days are missing, which nobody has asked for, and which are refused: over whatever a job asks for, backfills,
 * receipts and notes, everything that says so says the same; and nothing that was asked for and is not there is quiet.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Coverage, type CoverageState, createCoverageSum } from '../../../src/audit/status/cells.ts';
import { readJobStatus } from '../../../src/audit/status/job-status.ts';
import { createStatusMemory } from '../../../src/audit/status/status-memory.ts';
import type { Job, Note, VesselDay } from '../../../src/core/model/index.ts';
import { addDays, datesBetween, formatVesselDay, silentLog } from '../../../src/core/model/index.ts';
import { settingsHash } from '../../../src/core/plan/settings-hash.ts';
import { thisProcess } from '../../../src/core/process/process-id.ts';
import type { ExportPorts } from '../../../src/export/ports.ts';
import { createNightly } from '../../../src/fleet/nightly.ts';
import type { VesselDayQueue } from '../../../src/fleet/queue/vessel-day-queue.ts';
import { createFailedWatch } from '../../../src/fleet/watches.ts';
import { noteRegularRun } from '../../../src/lake/asked-days.ts';
import { writeNote } from '../../../src/lake/ledger/ledger.ts';
import { createLedgerView } from '../../../src/lake/ledger/ledger-view.ts';
import type { ScheduleState } from '../../../src/redis/schedule-state.ts';
import { CELL_LETTERS } from '../../../src/web/answers.ts';
import { readCoverage } from '../../../src/web/coverage-map.ts';
import type { WebPorts } from '../../../src/web/ports.ts';
import { answerVesselDay } from '../../../src/web/vessel-day.ts';
import { createKnownSeries } from '../../../src/web/vessel-day-series.ts';
import { defineBackfill } from '../../helpers/backfills.ts';
import { makeReceipt, writeReceipt } from '../../helpers/ledger.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';

const TODAY = '2026-06-30';
const VESSELS = ['IMO9000001', 'IMO9000002'] as const;
const DAY_MS = 86_400_000;
const ago = (days: number) => addDays(TODAY, -days);
const [FROM, TO] = [ago(70), addDays(TODAY, 1)];
const NOW_MS = Date.parse(`${TODAY}T12:00:00Z`);
const API = '2026-09-10';
const DAILY = { cron: '15 6 * * *', timezone: 'UTC' };
const never = new AbortController().signal;

/** A lake as people may have it. Days are said as how many of them ago. */
interface Lake {
  readonly job: Job;
  /** Somebody runs it without dates since then. */
  readonly regularFrom: string | undefined;
  readonly backfills: readonly {
    from: string;
    to: string;
    vessels: string[];
    job: string;
    paused: boolean;
  }[];
  /** By vessel: dates, and what is published of them. */
  readonly published: ReadonlyMap<string, ReadonlyMap<string, 'published' | 'empty' | 'stale'>>;
  /** Left after what is published, by `formatVesselDay`. */
  readonly notes: ReadonlyMap<string, { readonly day: VesselDay; readonly state: Note['state'] }>;
}

const CODES = { failed: 'bad-field', refused: 'would-shrink', waiting: 'fewer-series' } as const;
const daysAgo = fc.integer({ min: 0, max: 70 });
// Only of what is due.
const tried = fc.integer({ min: 3, max: 70 });
const anyVessel = fc.constantFrom(...VESSELS);
// Holes about as long as one may be, too.
const stretch = fc.record({
  hole: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(30, 31, 32)),
  days: fc.integer({ min: 1, max: 6 }),
  is: fc.constantFrom('published', 'empty', 'stale'),
});
const someLake = fc
  .record({
    schedule: fc.option(fc.constantFrom(0, 30 * 3_600_000)),
    lookbackDays: fc.option(fc.integer({ min: 1, max: 40 })),
    since: fc.option(daysAgo),
    regularFrom: fc.option(daysAgo),
    backfills: fc.array(
      fc.record({
        days: fc.tuple(daysAgo, daysAgo),
        vessels: fc.subarray([...VESSELS]),
        job: fc.constantFrom('m', 'm', 'other'),
        paused: fc.boolean(),
      }),
      { maxLength: 2 },
    ),
    stretches: fc.tuple(fc.array(stretch, { maxLength: 5 }), fc.array(stretch, { maxLength: 5 })),
    notes: fc.array(
      fc.record({ vessel: anyVessel, days: tried, state: fc.constantFrom('failed', 'refused', 'waiting') }),
      { maxLength: 4 },
    ),
  })
  .map(({ schedule, lookbackDays, since, regularFrom, backfills, stretches, notes }): Lake => {
    const published = new Map(
      VESSELS.map((vessel, index) => {
        let at = FROM;
        const dates = stretches[index]!.flatMap(({ hole, days, is }) => {
          const from = addDays(at, hole);
          at = addDays(from, days);
          return datesBetween(from, at).map((date) => [date, is] as const);
        });
        return [vessel, new Map(dates.filter(([date]) => date < TODAY))];
      }),
    );
    const base = { name: 'm', vessels: VESSELS, select: [], transport: 'ndjson', verify: 'exact' } as const;
    return {
      job: {
        ...{ ...base, dataset: 'measurements' },
        ...(schedule !== null && { schedule: { ...DAILY, settleMs: schedule } }),
        ...(lookbackDays !== null && { reconcile: { ...DAILY, lookbackDays } }),
        ...(since !== null && { since: ago(since) }),
      },
      regularFrom: regularFrom === null ? undefined : ago(regularFrom),
      backfills: backfills.map(({ days: [a, b], ...rest }) => ({
        ...{ ...rest, from: ago(Math.max(a, b) + 1), to: ago(Math.min(a, b)) },
      })),
      published,
      notes: new Map(
        notes.map(({ vessel, days, state }) => {
          const day = { job: 'm', vessel, date: ago(days) };
          return [formatVesselDay(day), { day, state }];
        }),
      ),
    };
  });

/** From which day on the job asks by itself, as docs/jobs-and-settings.md says it. */
function startOf({ job, regularFrom, published }: Lake): string {
  if (job.since !== undefined) return job.since;
  const first = [...published.values()].flatMap((dates) => [...dates.keys()]).sort()[0];
  const lookBack = job.reconcile && ago(job.reconcile.lookbackDays);
  const settleDays = Math.ceil((job.schedule?.settleMs ?? 0) / DAY_MS) + 1;
  const starts =
    job.schedule === undefined
      ? [regularFrom, lookBack]
      : [first, ago(Math.max(job.reconcile?.lookbackDays ?? 14, settleDays))];
  return starts.filter((date) => date !== undefined).sort()[0] ?? '9999-12-31';
}

function isInHole({ published }: Lake, { vessel, date }: VesselDay, start: string): boolean {
  const dates = [...published.get(vessel)!.keys()].filter((each) => each < start).sort();
  const [before, after] = [dates.findLast((each) => each < date), dates.find((each) => each > date)];
  return before !== undefined && after !== undefined && datesBetween(before, after).length - 1 <= 31;
}

const isDue = ({ job }: Lake, date: string) =>
  NOW_MS >= Date.parse(`${date}T00:00:00Z`) + DAY_MS + (job.schedule?.settleMs ?? 0);

/** What a vessel-day is, by what the documentation promises. */
function expectedState(lake: Lake, day: VesselDay): CoverageState {
  const published = lake.published.get(day.vessel)!.get(day.date);
  const note = lake.notes.get(formatVesselDay(day))?.state;
  if (note !== undefined) return note === 'refused' && published === undefined ? 'failed' : note;
  if (published !== undefined) return published;
  if (!isDue(lake, day.date)) return 'not-due';
  const start = startOf(lake);
  const isInBackfill = lake.backfills.some(
    ({ job, from, to, vessels }) =>
      job === 'm' &&
      from <= day.date &&
      day.date < to &&
      (vessels.length === 0 || vessels.includes(day.vessel)),
  );
  return day.date >= start || isInBackfill || isInHole(lake, day, start) ? 'missing' : 'not-asked-for';
}

async function open(lake: Lake): Promise<WebPorts> {
  const store = createMemoryStore();
  for (const [vessel, dates] of lake.published)
    for (const [date, is] of dates)
      await writeReceipt(
        store,
        makeReceipt(
          { job: 'm', vessel, date },
          {
            ...{ settingsHash: is === 'stale' ? 'another' : settingsHash(lake.job, API) },
            ...{ rows: is === 'empty' ? 0 : 5, finishedAt: `${TODAY}T09:00:00.000Z` },
          },
        ),
      );
  for (const { day, state } of lake.notes.values())
    await writeNote(store, {
      ...{ noteVersion: 1, ...day, state, code: CODES[state], message: 'so it is' },
      at: `${TODAY}T10:00:00.000Z`,
    });
  if (lake.regularFrom !== undefined) await noteRegularRun(store, lake.job, lake.regularFrom);
  for (const [index, backfill] of lake.backfills.entries())
    await defineBackfill(store, {
      ...{ backfillVersion: 1, id: `b-${index}`, ...backfill, allowShrink: false },
      createdAt: `${TODAY}T00:00:00.000Z`,
    });
  const clock = createManualClock(NOW_MS);
  const ports = { store, clock, jobs: [lake.job], log: silentLog, self: thisProcess() };
  return { ...ports, apiVersion: API, version: '0' };
}

async function statusOf(ports: WebPorts, job: Job): Promise<Coverage[]> {
  const { cells } = await readJobStatus(ports, job, { from: FROM, to: TO, vessels: VESSELS });
  return [...cells];
}

/** What the scheduler tells of a job: the vessel-days that are to be exported, and how many are refused. */
async function fleetOf(ports: WebPorts, job: Job) {
  let told: { readonly missing: number; readonly oldest: string | undefined } | undefined;
  let days: ReadonlySet<string> = new Set();
  const emptyQueue = {
    ...{ known: async () => new Set(), add: async () => {}, deadLetters: async () => [] },
    depth: async () => ({ waiting: 0, prioritized: 0, delayed: 0, active: 0, failed: 0 }),
  } as unknown as VesselDayQueue;
  const nightly = createNightly(
    {
      ...{ ports: ports as unknown as ExportPorts, queue: emptyQueue, log: silentLog },
      ledger: createLedgerView(ports.store),
      onEvent(event) {
        if (event.kind !== 'missing') return;
        told = { missing: event.missing, oldest: event.oldest };
        days = new Set([...event.unpublished()].map(formatVesselDay));
      },
    },
    {
      plannedFiringMs: async () => undefined,
      setPlannedFiringMs: async () => {},
    } as unknown as ScheduleState,
  );
  if (job.schedule !== undefined) await nightly.plan(job, never);
  let refused: number | undefined;
  const watch = createFailedWatch({
    ...{ jobs: [job], queue: emptyQueue, store: ports.store, clock: ports.clock },
    onEvent: (event) => {
      if (event.kind === 'failed') refused = event.refused;
    },
  });
  await watch();
  return { told, days, refused };
}

test('a day is the same for status, the map, its own page and the fleet, and what was asked for is never quiet', async () => {
  await fc.assert(
    fc.asyncProperty(someLake, fc.nat(), async (lake, pick) => {
      const { job } = lake;
      const ports = await open(lake);
      const cells = await statusOf(ports, job);
      const isPublished = ({ vessel, date }: VesselDay) => lake.published.get(vessel)!.has(date);

      for (const { day, state } of cells) expect(state, formatVesselDay(day)).toBe(expectedState(lake, day));

      const sum = createCoverageSum();
      for (const cell of cells) sum.add(cell);
      const { totals, oldestGap, rows } = sum.end();
      const question = { job, from: FROM, to: TO, firstDate: undefined, queue: undefined };
      const map = await readCoverage(ports, { ...question, memory: createStatusMemory() });
      expect(map.totals).toMatchObject(totals);
      expect([map.rows, map.oldestGap?.date]).toEqual([rows, oldestGap?.date]);
      const letters = VESSELS.map((vessel) =>
        cells.filter(({ day }) => day.vessel === vessel).map(({ state }) => CELL_LETTERS[state]),
      );
      expect(map.cells).toBe(letters.flat().join(''));
      const wrongAndGone = ['missing', 'failed', 'waiting'];
      const isGap = ({ day, state }: Coverage) => wrongAndGone.includes(state) && !isPublished(day);
      const gaps = VESSELS.map((vessel) => cells.filter(({ day }) => day.vessel === vessel).findIndex(isGap));
      expect(map.firstGaps).toEqual(gaps.map((gap) => (gap === -1 ? null : gap)));

      const { day, state } = cells[pick % cells.length]!;
      const page = await answerVesselDay({ ...ports, knownSeries: createKnownSeries(ports) }, job, day);
      expect(page.state, formatVesselDay(day)).toBe(state);

      const fleet = await fleetOf(ports, job);
      if ([...lake.notes.values()].every(({ day, state }) => state !== 'refused' || isPublished(day)))
        expect(fleet.refused).toBe(totals.refused);
      if (job.schedule === undefined) return;
      const start = startOf(lake);
      const unpublished = cells.filter(
        ({ day }) => day.date >= start && isDue(lake, day.date) && !isPublished(day),
      );
      const ofFleet = [...fleet.days].filter((id) => !isPublished(dayOf(id))).sort();
      expect(ofFleet).toEqual(unpublished.map(({ day }) => formatVesselDay(day)).sort());
      expect(unpublished.filter(({ state }) => state === 'not-asked-for' || state === 'not-due')).toEqual([]);
      expect(fleet.told?.missing).toBe(fleet.days.size);
    }),
    { numRuns: 60 },
  );
});

function dayOf(id: string): VesselDay {
  const [job, vessel, date] = id.split('/') as [string, string, string];
  return { job, vessel, date };
}
