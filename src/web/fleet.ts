/** `GET /api/fleet`: simultaneous requests share one read of Redis, and one of the lake's backfills. */
import type { FastifyInstance } from 'fastify';
import { sharedLimitNames } from '../app.ts';
import { endsWithin, shareAnswer } from '../core/concurrency.ts';
import { messageOf } from '../core/errors.ts';
import type { Clock } from '../core/model/index.ts';
import type { Hold } from '../fleet/queue/hold.ts';
import { KINDS_COUNTED_AT_MOST, type KindCount } from '../fleet/queue/queued-day.ts';
import { type Backfill, listBackfills } from '../lake/backfills.ts';
import type { FactName, FleetSeen } from '../redis/fleet-facts.ts';
import { lookAtFleet, REQUEST_SLICE_MS, REQUEST_SLICES } from '../redis/fleet-facts.ts';
import type { ObjectStore } from '../store/store.ts';
import type { FleetAnswer } from './answers.ts';
import type { WebPorts } from './ports.ts';
import { askRedis, WebError } from './web-error.ts';

type FleetPorts = NonNullable<WebPorts['fleet']>;

/** Requests within this time share an answer; backfills too are read at most so often. */
const SHARED_MS = 1_000;
/** Older progress of a backfill says nothing about its rate now. */
const FRESH_MS = 120_000;

const UNKNOWN =
  'only there stands what the fleet does now. Vessel-days that are under way wait for it; nothing is lost. Look whether it runs, and whether REDIS_URL is right';
const UNPLANNED = { lookedMs: null, missing: null, oldestMissing: null, failed: null, refused: null };

export function registerFleet(api: FastifyInstance, ports: WebPorts): void {
  const { fleet } = ports;
  if (fleet === undefined) {
    const text =
      "this page is served from the lake alone, which knows no fleet; 'vessel-export schedule' and 'worker' serve it with one";
    api.get('/fleet', () => Promise.reject(new WebError(404, 'no-fleet', text)));
  } else api.get('/fleet', createLook(ports, fleet));
}

function createLook(ports: WebPorts, fleet: FleetPorts): () => Promise<FleetAnswer> {
  const { clock, jobs, store } = ports;
  const readBackfills = createBackfillReader(store, clock);
  const limits = sharedLimitNames(fleet.app.config.settings);

  async function look(): Promise<FleetAnswer> {
    const backfills = await readBackfills();
    const ofJob = (of: string): FactName[] => [
      { kind: 'planned', of },
      { kind: 'look-back', of },
    ];
    const ofBackfill = ({ id: of }: Backfill): FactName => ({ kind: 'backfill', of });
    const names = [...jobs.flatMap(({ name }) => ofJob(name)), ...backfills.backfills.map(ofBackfill)];
    const { connection, prefix } = fleet;
    const redis = connection.client;
    const asked = Promise.all([
      lookAtFleet({ connection, prefix, limits }, names),
      fleet.queue.countKinds(),
      fleet.queue.hold.read(),
    ]);
    return answerOf(ports, fleet, await askRedis(asked, UNKNOWN, redis, clock), backfills);
  }

  return shareAnswer(clock, look, SHARED_MS);
}

function answerOf(
  ports: WebPorts,
  fleet: FleetPorts,
  [seen, queue, held]: readonly [FleetSeen, readonly KindCount[], Hold | undefined],
  backfills: BackfillsRead,
): FleetAnswer {
  const nowMs = ports.clock.nowMs();
  return {
    readAtMs: nowMs,
    hold: held ?? null,
    running: runningOf(seen, nowMs),
    queue,
    limits: limitsOf(fleet, seen, nowMs),
    requests: requestsOf(seen),
    processes: seen.processes
      .map(({ running: _, upMs, agoMs, ...process }) => ({
        ...process,
        startedMs: nowMs - agoMs - upMs,
        seenMs: nowMs - agoMs,
      }))
      // The one with the latest report first: in a restarted container it may have the same pid.
      .sort(
        (a, b) =>
          a.role.localeCompare(b.role) ||
          a.host.localeCompare(b.host) ||
          a.pid - b.pid ||
          b.seenMs - a.seenMs,
      ),
    backfills: backfills.backfills.map((backfill) => backfillOf(backfill, seen)),
    lookBacks: ports.jobs.flatMap(({ name: job }) => {
      const found = seen.fact('look-back', job);
      return found === undefined ? [] : [{ job, ...found.fact }];
    }),
    planned: ports.jobs.map(({ name: job, schedule }) => {
      const { fact = UNPLANNED } = seen.fact('planned', job) ?? {};
      return { job, hasSchedule: schedule !== undefined, ...fact };
    }),
    notes: [...backfills.notes, ...notesOf(seen, queue)],
  };
}

function runningOf({ processes }: FleetSeen, nowMs: number): FleetAnswer['running'] {
  return processes
    .flatMap(({ running, host, pid, agoMs }) =>
      running.map(({ forMs, ...day }) => ({ ...day, startedMs: nowMs - agoMs - forMs, host, pid })),
    )
    .sort((a, b) => a.startedMs - b.startedMs);
}

function limitsOf(fleet: FleetPorts, { limits }: FleetSeen, nowMs: number): FleetAnswer['limits'] {
  const { QUERY_MAX_CONCURRENCY, QUERY_MAX_REQUESTS_PER_MINUTE } = fleet.app.config.settings;
  const setting = limits.concurrencySetting ?? QUERY_MAX_CONCURRENCY;
  const paceSetting = limits.paceSetting ?? (QUERY_MAX_REQUESTS_PER_MINUTE || null);
  const pace = limits.pace ?? paceSetting;
  return {
    concurrency: {
      now: Math.min(limits.concurrency ?? setting, setting),
      setting,
      inFlight: limits.inFlight,
    },
    pace: pace === null ? null : { now: pace, setting: paceSetting },
    holdUntilMs: limits.holdMs > 0 ? nowMs + limits.holdMs : null,
  };
}

/** Every ten minutes of a day, including those without a request. */
function requestsOf({ requests, nowMs }: FleetSeen): FleetAnswer['requests'] {
  const known = new Map(requests.map((step) => [step.fromMs, step]));
  const lastMs = Math.floor(nowMs / REQUEST_SLICE_MS) * REQUEST_SLICE_MS;
  return Array.from({ length: REQUEST_SLICES }, (_, index) => {
    const fromMs = lastMs - (REQUEST_SLICES - 1 - index) * REQUEST_SLICE_MS;
    return known.get(fromMs) ?? { fromMs, requests: 0, limited: 0, retries: 0, errors: 0 };
  });
}

function backfillOf(backfill: Backfill, seen: FleetSeen): FleetAnswer['backfills'][number] {
  const { id, job, from, to, vessels, paused, createdAt } = backfill;
  const { fact, agoMs = Infinity } = seen.fact('backfill', id) ?? {};
  const isMoving = fact !== undefined && !paused && agoMs < FRESH_MS;
  return {
    ...{ id, job, from, to, vessels, paused, createdAt },
    ...{ due: null, done: null, failed: null, queued: null, vesselDaysPerHour: null, secondsLeft: null },
    ...fact,
    ...(paused && { queued: null }),
    ...(!isMoving && { vesselDaysPerHour: null, secondsLeft: null }),
  };
}

function notesOf(seen: FleetSeen, queue: readonly KindCount[]): string[] {
  const notes: string[] = [];
  const other = queue.find(({ kind }) => kind === 'other');
  if (other !== undefined)
    notes.push(
      `The kinds of ${KINDS_COUNTED_AT_MOST} delayed and ${KINDS_COUNTED_AT_MOST} failed vessel-days were counted at the most; the rest stands under “other”.`,
    );
  const roles = new Set(seen.processes.map(({ role }) => role));
  if (!roles.has('worker')) notes.push("No worker is connected: start one with 'vessel-export worker'.");
  if (!roles.has('scheduler'))
    notes.push(
      "No scheduler is connected, so that nothing is planned: start one with 'vessel-export schedule'.",
    );
  return notes;
}

interface BackfillsRead {
  readonly backfills: readonly Backfill[];
  readonly notes: readonly string[];
}

/** Maximum that is shown: a longer page is of no use. */
const MAX_SHOWN = 200;
const MAX_NOTES = 5;
const PATIENCE_MS = 400;

/** Never rejects: if backfills cannot be read now, the last ones stay, and a note says so. */
function createBackfillReader(store: ObjectStore, clock: Clock): () => Promise<BackfillsRead> {
  let last: BackfillsRead = { backfills: [], notes: ['The backfills of the lake have not been read yet.'] };

  async function read(): Promise<void> {
    const damaged: string[] = [];
    try {
      const all = await listBackfills(store, (_, error) => damaged.push(messageOf(error)));
      const notes = damaged
        .slice(0, MAX_NOTES)
        .map((text) => `A backfill cannot be read, and so does not go on: ${text}`);
      if (damaged.length > MAX_NOTES)
        notes.push(`${damaged.length - MAX_NOTES} more backfills cannot be read.`);
      if (all.length > MAX_SHOWN) notes.push(`The oldest ${MAX_SHOWN} of ${all.length} backfills are shown.`);
      last = { backfills: all.slice(0, MAX_SHOWN), notes };
    } catch (error) {
      last = { ...last, notes: [`The lake cannot say which backfills there are: ${messageOf(error)}`] };
    }
  }

  const readNow = shareAnswer(clock, read, SHARED_MS);
  return async () => {
    await endsWithin(readNow(), PATIENCE_MS, clock);
    return last;
  };
}
