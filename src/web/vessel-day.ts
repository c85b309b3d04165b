/** Everything that lake and queue have about a vessel-day. A damaged file costs only its part of the answer, which names it as a problem. */
import type { FastifyInstance } from 'fastify';
import { stateOf } from '../audit/status/cells.ts';
import { readDayStatus } from '../audit/status/job-status.ts';
import { nextStep } from '../audit/status/next-steps.ts';
import { ConfigError, DataError, messageOf, shortName } from '../core/errors.ts';
import type { Job, Receipt, VesselDay } from '../core/model/index.ts';
import {
  addDays,
  cleanMessage,
  durationMsOf,
  formatVesselDay,
  isDate,
  isOvertaken,
  VESSEL_ID,
} from '../core/model/index.ts';
import { jobNamed } from '../core/names.ts';
import { isEnded } from '../lake/claims/claim.ts';
import { type FoundClaim, heartbeatOf, isLive } from '../lake/claims/claims.ts';
import { unlessDamaged } from '../lake/json.ts';
import { readLayout } from '../lake/lake-file.ts';
import { readReceipt } from '../lake/ledger/ledger.ts';
import { describeWarnings, openWarnings, readAcceptance, warningsOf } from '../lake/warnings.ts';
import type { VesselDayAnswer } from './answers.ts';
import type { WebPorts } from './ports.ts';
import { createKnownSeries, dayDetail, dayVersions, hoursOf, seriesOf } from './vessel-day-details.ts';
import { createObjectSender, dayFile } from './vessel-day-object.ts';
import { askRedis, WebError } from './web-error.ts';

interface AnswerPorts extends WebPorts {
  readonly knownSeries: ReturnType<typeof createKnownSeries>;
}

/** `GET /jobs/:job/days/:vessel/:date`: a VesselDayAnswer; and below it `/object`: its Parquet, by GET and HEAD. */
export function registerVesselDay(api: FastifyInstance, ports: WebPorts): void {
  const send = createObjectSender(ports.store);
  const answerPorts = { ...ports, knownSeries: createKnownSeries(ports) };
  api.get<{ Params: VesselDay }>('/jobs/:job/days/:vessel/:date', async ({ params }) => {
    const { job, day } = dayOf(ports.jobs, params);
    return await answerVesselDay(answerPorts, job, day);
  });
  api.route<{ Params: VesselDay; Querystring: { readonly version?: unknown } }>({
    method: ['GET', 'HEAD'],
    url: '/jobs/:job/days/:vessel/:date/object',
    async handler(request, reply) {
      const { day } = dayOf(ports.jobs, request.params);
      return await send(day, request, reply);
    },
  });
}

/** Throws ConfigError `unknown-job`, and WebError 404 `no-such-vessel`, `no-such-date`, saying what was expected. */
function dayOf(jobs: readonly Job[], { job: name, vessel, date }: VesselDay) {
  const job = jobNamed(jobs, name);
  const fault = (code: string, text: string, what: string, expected: string) =>
    new WebError(404, code, `'${shortName(text)}' is no ${what}: expected ${expected}`);
  if (!VESSEL_ID.test(vessel))
    throw fault('no-such-vessel', vessel, 'vessel', 'IMO and seven digits, such as IMO9321483');
  if (!isDate(date)) throw fault('no-such-date', date, 'date', 'a day of the calendar, YYYY-MM-DD');
  return { job, day: { job: name, vessel, date } };
}

/** Errors that cost only a part of the answer. */
const TOLD = [DataError, ConfigError, WebError];

export async function answerVesselDay(
  ports: AnswerPorts,
  job: Job,
  day: VesselDay,
): Promise<VesselDayAnswer> {
  const problems: string[] = [];
  /** What was read; undefined if a file is damaged or Redis is unreachable, which is added to the problems. */
  async function told<T>(reading: Promise<T>): Promise<T | undefined> {
    try {
      return await reading;
    } catch (error) {
      if (!TOLD.some((kind) => error instanceof kind)) throw error;
      problems.push(messageOf(error));
      return undefined;
    }
  }
  const { store } = ports;
  const [status, queued, layout] = await Promise.all([
    readDayStatus(ports, job, day),
    told(queuedFacts(ports, day)),
    told(readLayout(store)),
  ]);
  const { receipt, note, claims } = status;
  problems.push(...status.damages.map(messageOf));
  if (Array.isArray(job.vessels) && !job.vessels.includes(day.vessel))
    problems.push(`job ${job.name} names its vessels, and ${day.vessel} is not among them`);
  const warning = receipt === undefined ? null : await warningOf(ports, receipt);
  const [facts, versions, file, isWarned] = await Promise.all([
    told(detailFacts(ports, day, receipt)),
    layout === 'delta' ? told(dayVersions(store, day, receipt)) : [],
    receipt === undefined ? undefined : dayFile(store, day, receipt),
    warning?.accepted === false && isNewest(ports, day, receipt!),
  ]);
  if (receipt?.object && file === undefined)
    problems.push(`${receipt.object.key}: the receipt names this object, and it is not there`);
  const isOver = note !== undefined && receipt !== undefined && isOvertaken(note, receipt);
  const url = `/api/jobs/${day.job}/days/${day.vessel}/${day.date}/object`;
  const inQueue = queued && (queued.state === 'failed' ? 'failed' : 'in-queue');
  return {
    ...day,
    dataset: job.dataset,
    state: stateOf(status.coverage, { queued: inQueue ?? undefined, isWarned }).state,
    readAtMs: ports.clock.nowMs(),
    receipt: receipt ?? null,
    durationMs: receipt === undefined ? null : durationMsOf(receipt),
    note: note === undefined ? null : { ...note, next: nextStep(note, day), isOver },
    warning,
    claim: claimFacts(ports, claims, receipt),
    queued: queued ?? null,
    logIds: { vesselDay: formatVesselDay(day), epochs: epochsOf(claims, receipt) },
    ...(facts ?? NO_DETAIL),
    versions: versions ?? [],
    object: file === undefined ? null : { url, sizeBytes: file.sizeBytes, etag: file.etag },
    problems,
  };
}

async function warningOf({ store }: WebPorts, receipt: Receipt): Promise<VesselDayAnswer['warning']> {
  const all = warningsOf(receipt);
  if (all.length === 0) return null;
  const open = openWarnings(receipt, await readAcceptance(store, receipt.job, receipt.vessel));
  const accepted = open.length === 0;
  return { message: describeWarnings(accepted ? all : open), accepted };
}

/** A warning is open if the vessel's newest receipt has it: each following day carries it on until it is over. */
async function isNewest({ store }: WebPorts, day: VesselDay, { startedAt }: Receipt): Promise<boolean> {
  const next = await unlessDamaged(readReceipt(store, { ...day, date: addDays(day.date, 1) }));
  return next === undefined || next.startedAt < startedAt;
}

function claimFacts(
  ports: WebPorts,
  claims: readonly FoundClaim[],
  receipt: Receipt | undefined,
): VesselDayAnswer['claim'] {
  const open = claims.filter((claim) => claim.file !== undefined && !isEnded(claim, receipt));
  const file = (open.find((claim) => isLive(claim.file!, ports)) ?? open[0])?.file;
  if (file === undefined) return null;
  const { epoch, owner, checkpoint, sealed } = file;
  const stored = checkpoint?.rowGroups.reduce((sum, { rows }) => sum + rows, 0);
  return {
    ...{ epoch, pid: owner.pid, host: cleanMessage(owner.host, 100) },
    state: isLive(file, ports) ? 'live' : 'left',
    heartbeatAt: new Date(heartbeatOf(file, ports.clock.nowMs())).toISOString(),
    rowsStored: sealed?.draft.rows ?? stored ?? null,
    rowsKnown: sealed?.draft.source?.rows ?? null,
  };
}

function epochsOf(claims: readonly FoundClaim[], receipt: Receipt | undefined): number[] {
  const epochs = [...claims.map(({ epoch }) => epoch), ...(receipt === undefined ? [] : [receipt.epoch])];
  return [...new Set(epochs)].sort((a, b) => a - b);
}

/** Null if it is not in the queue, or if there is no queue. Throws WebError if Redis is unreachable. */
async function queuedFacts({ fleet, clock }: WebPorts, day: VesselDay): Promise<VesselDayAnswer['queued']> {
  if (fleet === undefined) return null;
  const without = 'whether the vessel-day is in the queue is not known';
  const found = await askRedis(fleet.queue.facts(day), without, fleet.redis, clock);
  if (found === undefined) return null;
  const said = found.day?.failure?.message ?? found.failedReason;
  const reason = said === '' ? null : cleanMessage(said);
  return { state: found.state, kind: found.day?.kind ?? 'unknown', attempts: found.attempts, reason };
}

const NO_DETAIL = { hours: null, series: [] };

/** Throws DataError where the detail is damaged, and what the store throws. */
async function detailFacts(
  { store, knownSeries }: AnswerPorts,
  day: VesselDay,
  receipt: Receipt | undefined,
): Promise<Pick<VesselDayAnswer, 'hours' | 'series'>> {
  const detail = receipt && (await dayDetail(store, day, receipt));
  if (detail === undefined) return NO_DETAIL;
  return { hours: hoursOf(detail), series: seriesOf(day.date, detail, await knownSeries(day.vessel)) };
}
