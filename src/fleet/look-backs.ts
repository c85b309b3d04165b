/**
 * Look-backs: when a job's reconcile schedule has fired, its published days are compared with the source, and changed ones
 * are queued. A scheduler that was down for several firings looks back once.
 *
 * A look-back takes minutes for a large fleet, so it runs beside the planning, one at a time, with few requests, and can be
 * aborted anywhere: a firing counts as planned once everything that it found is in the queue.
 */
import { FINDING_STATES, type FindingState } from '../audit/reconcile/compare-day.ts';
import { type JobReconciliation, reconcileJob } from '../audit/reconcile/reconcile-jobs.ts';
import { noteRefusals, repairTasks } from '../audit/reconcile/repair.ts';
import { messageOf, RetriableError } from '../core/errors.ts';
import { addDays, formatVesselDay, type Job, type Log, microsToDate } from '../core/model/index.ts';
import { lastFiringMs } from '../core/plan/firings.ts';
import type { ExportTask } from '../export/ports.ts';
import type { ScheduleState } from '../redis/schedule-state.ts';
import { createRequestStats } from '../source/fetch/exchange.ts';
import type { LookBack } from './events.ts';
import { type QueuedRepair, queueRepairs } from './fill-queue.ts';
import type { PlanningPorts } from './nightly.ts';
import { type Guard, warnOfFew } from './say-once.ts';

interface LookBackOptions extends Omit<PlanningPorts, 'ledger'> {
  readonly jobs: readonly Job[];
  readonly state: ScheduleState;
  readonly guard: Guard;
}

/** Vessels that are compared at once: most of the concurrency limit is left to the workers. */
const VESSELS_AT_ONCE = 2;
const RETRY_MS = 300_000;

interface Firing {
  readonly job: Job;
  readonly firingMs: number;
  /** When the firing was noticed: later days are not compared. */
  readonly lookedMs: number;
}

export function createLookBacks(options: LookBackOptions) {
  const { ports, queue, log, state, guard } = options;
  const { clock, store } = ports;
  const jobs = options.jobs.filter(({ reconcile }) => reconcile !== undefined);
  /** How often a job's look-backs have failed one after the other, and when the next may begin. */
  const failed = new Map<string, { readonly times: number; readonly untilMs: number }>();
  let underWay: { readonly ended: Promise<void>; readonly stop: AbortController } | undefined;
  /** What a look-back found, until all of it is in the queue. */
  let pending: (Firing & { readonly tasks: readonly ExportTask[] }) | undefined;

  async function nextFiring(nowMs: number): Promise<Firing | undefined> {
    for (const job of jobs) {
      if (clock.monotonicMs() < (failed.get(job.name)?.untilMs ?? Number.NEGATIVE_INFINITY)) continue;
      const firingMs = lastFiringMs(job.reconcile!, nowMs);
      if ((await state.plannedFiringMs('reconcile', job.name)) !== firingMs)
        return { job, firingMs, lookedMs: nowMs };
    }
    return undefined;
  }

  async function lookBack(firing: Firing, signal: AbortSignal): Promise<void> {
    const { job } = firing;
    const stats = createRequestStats();
    const startedMs = clock.monotonicMs();
    const to = microsToDate(firing.lookedMs * 1_000);
    const lookbackFrom = addDays(to, -job.reconcile!.lookbackDays);
    const from = job.since !== undefined && job.since > lookbackFrom ? job.since : lookbackFrom;
    const request = { from, to, vessels: [], concurrency: VESSELS_AT_ONCE };
    const reconciliation = await reconcileJob(ports, job, request, signal, stats);
    signal.throwIfAborted();
    const { findings, compared, notCompared, unasked } = reconciliation;
    // A firing that has compared nothing is no look-back.
    if (compared === 0 && notCompared > 0) throw nothingCompared(job, notCompared, unasked[0]?.message);
    const tasks = repairTasks(ports, job, reconciliation, { allowShrink: false, takeover: false });
    const queued = await queueRepairs({ queue, store }, tasks, { retryFailed: true });
    // Logged before it is recorded: after a crash in between it is logged twice, not never.
    sayTroubles(log, reconciliation, queued);
    // They need no retry, so they leave the failed set too.
    for (const day of await noteRefusals(ports, reconciliation))
      if ((await queue.find(day))?.state === 'failed') await queue.remove(day);
    const byState = countBy(findings.map(({ state }) => state));
    await settle(firing, tasks, queued);
    failed.delete(job.name);
    const found = { ...NOTHING, ...byState, 'not-compared': notCompared };
    const uncompared = uncomparedOf(reconciliation);
    options.onEvent?.({ kind: 'looked-back', job: job.name, found, from, to, uncompared });
    const seconds = Math.round((clock.monotonicMs() - startedMs) / 1_000);
    log.info(
      { ...summaryOf(reconciliation, byState, queued), requests: stats.requests, seconds },
      'looked back',
    );
  }

  /** If everything is in the queue, the firing is planned. Otherwise the rest is kept until there is room. */
  async function settle(of: Firing, tasks: readonly ExportTask[], queued: readonly QueuedRepair[]) {
    // Queued ones are kept too: they are queued again if Redis is flushed meanwhile.
    const left = tasks.filter((_, index) => !ENDED.has(queued[index]!.status));
    pending = queued.some(({ status }) => status === 'no-room') ? { ...of, tasks: left } : undefined;
    if (pending === undefined) await state.setPlannedFiringMs('reconcile', of.job.name, of.firingMs);
  }

  async function topUp(found: NonNullable<typeof pending>): Promise<void> {
    const queued = await queueRepairs({ queue, store }, found.tasks, { retryFailed: false });
    await settle(found, found.tasks, queued);
    const { enqueued = 0, 'no-room': left = 0 } = countBy(queued.map(({ status }) => status));
    if (enqueued > 0) log.info({ job: found.job.name, enqueued, left }, 'queued more of what changed');
  }

  function fail(job: string, error: unknown): void {
    const times = (failed.get(job)?.times ?? 0) + 1;
    failed.set(job, { times, untilMs: clock.monotonicMs() + RETRY_MS });
    options.onEvent?.({ kind: 'look-back-failed', job, times, reason: messageOf(error) });
  }

  function begin(firing: Firing, signal: AbortSignal): void {
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const work = () =>
      lookBack(firing, either).catch((error: unknown) => {
        if (!either.aborted) fail(firing.job.name, error);
        throw error;
      });
    const ended = guard(`reconcile of ${firing.job.name}`, either, work, 'cannot look back now')
      // Rejects when it was aborted.
      .catch(() => {})
      .then(() => {
        underWay = undefined;
      });
    underWay = { ended, stop };
  }

  return {
    /** Queue what had no room, then begin the next look-back that has fired by `nowMs`, without waiting for its end. */
    async step(nowMs: number, signal: AbortSignal): Promise<void> {
      if (underWay !== undefined) return;
      if (pending !== undefined) await topUp(pending);
      if (pending !== undefined) return;
      const firing = await nextFiring(nowMs);
      if (firing !== undefined) begin(firing, signal);
    },
    /** Abort the one under way; its firing counts as not planned. */
    async stop(): Promise<void> {
      underWay?.stop.abort();
      await underWay?.ended;
      pending = undefined;
      failed.clear();
    },
  };
}

/** What could not be compared. A vessel without a valid name has no days, and discovery reports it. */
function uncomparedOf({ findings, unasked }: JobReconciliation): LookBack['uncompared'] {
  const vessels = unasked.filter(({ code }) => code !== 'malformed-imo');
  const days = findings.filter(({ state }) => state === 'disagree' || state === 'unreadable');
  return [
    ...vessels.map(({ vessel, message }) => ({ what: vessel, reason: message })),
    ...days.map(({ day, message }) => ({ what: formatVesselDay(day), reason: message })),
  ];
}

function nothingCompared({ name }: Job, vesselDays: number, reason = 'no answer'): RetriableError {
  const text = `job '${name}': none of ${vesselDays} published vessel-days could be compared with the source: ${reason}`;
  return new RetriableError('nothing-compared', text);
}

const NOTHING = Object.fromEntries(FINDING_STATES.map((finding) => [finding, 0]));
/** These need nothing more. */
const ENDED: ReadonlySet<QueuedRepair['status']> = new Set(['done', 'in-failed-set']);

function countBy(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

function summaryOf(
  { job, from, to, reason, vessels, compared, notCompared, unasked }: JobReconciliation,
  byState: Readonly<Record<string, number>>,
  queued: readonly QueuedRepair[],
): object {
  if (reason !== null) return { job, notReconciled: reason };
  return {
    ...{ job, from, to, vessels, compared, changed: 0, ...byState },
    ...(notCompared > 0 && { notCompared, unasked: unasked.length }),
    ...{ enqueued: 0, ...countBy(queued.map(({ status }) => status)) },
  };
}

/** Logs what people have to see. Earlier refusals are not logged again. */
function sayTroubles(
  log: Log,
  { job, findings, unasked }: JobReconciliation,
  queued: readonly QueuedRepair[],
): void {
  const say = (text: string, troubles: readonly object[]) => warnOfFew(log, job, text, troubles);
  const reasonsOf = (state: FindingState) =>
    findings
      .filter((finding) => finding.state === state)
      .map(({ day, message }) => ({ vesselDay: formatVesselDay(day), reason: message }));
  say('would lose readings: the published day stays', reasonsOf('would-shrink'));
  say("the source's statistics disagree", reasonsOf('disagree'));
  say('its receipt cannot be read', reasonsOf('unreadable'));
  say(
    'could not be compared',
    unasked.map(({ vessel, code, message }) => ({ job, vessel, code, reason: message })),
  );
  const failed = queued.filter(({ status }) => status === 'in-failed-set');
  say(
    'changed, but in the failed set',
    failed.map(({ day, code, message }) => ({ vesselDay: formatVesselDay(day), code, reason: message })),
  );
}
