/**
 * `GET /api/jobs/:job/coverage`: the map of a job's vessel-days. Reading a year of a large fleet takes seconds: so one map is
 * read at a time, for all simultaneous requests; it is cached for ten times as long as the read took; and dates whose list has
 * not changed are not read again. Nothing is read without a request.
 */
import type { FastifyInstance } from 'fastify';
import { createStatusMemory, type StatusMemory } from '../audit/status/status-memory.ts';
import { shareAnswer } from '../core/concurrency.ts';
import { ConfigError, messageOf, shortName } from '../core/errors.ts';
import type { Job } from '../core/model/index.ts';
import { addDays, datesBetween, isDate, lookbackDaysOf, microsToDate } from '../core/model/index.ts';
import { jobNamed } from '../core/names.ts';
import { collectEarly } from '../core/process/heap.ts';
import type { QueueNames } from '../fleet/queue/vessel-day-queue.ts';
import { firstReceiptDate } from '../lake/ledger/newest-days.ts';
import { readCoverage } from './coverage-map.ts';
import type { WebPorts } from './ports.ts';
import { askRedis, WebError } from './web-error.ts';

const DEFAULT_DAYS = 365;
const MAX_DAYS = 4_018;

export function registerCoverage(api: FastifyInstance, ports: WebPorts): void {
  const answers = createCoverageAnswers(ports);
  api.addHook('onClose', async () => answers.close());
  api.get<{ Params: { job: string }; Querystring: Readonly<Record<string, unknown>> }>(
    '/jobs/:job/coverage',
    async ({ params, query }, reply) => {
      const job = jobNamed(ports.jobs, params.job);
      const asked = { from: readDate(query, 'from'), to: readDate(query, 'to') };
      return reply.type('application/json; charset=utf-8').send(await answers.of(job, asked));
    },
  );
}

interface Asked {
  readonly from: string | undefined;
  readonly to: string | undefined;
}

function readDate(query: Readonly<Record<string, unknown>>, name: 'from' | 'to'): string | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  if (typeof text === 'string' && isDate(text)) return text;
  const got = typeof text === 'string' ? shortName(text) : 'it more than once';
  throw new ConfigError('usage', `${name}: got ${got}, expected a UTC date YYYY-MM-DD`);
}

/** Throws ConfigError `usage` for a range that is empty or too long. */
async function rangeOf({ store, clock }: WebPorts, job: Job, asked: Asked) {
  const firstDate = await firstReceiptDate(store, job.name);
  const today = microsToDate(clock.nowMs() * 1_000);
  const to = asked.to ?? addDays(today, 1);
  const from = asked.from ?? defaultFrom(to, firstDate, lookbackDaysOf(job));
  if (from >= to)
    throw new ConfigError('usage', `from and to: got ${from} to ${to}, expected a later date to stop before`);
  if (addDays(from, MAX_DAYS) < to) {
    const days = datesBetween(from, to).length;
    throw new ConfigError('usage', `from and to: got ${days} days, expected at most ${MAX_DAYS}`);
  }
  return { from, to, firstDate };
}

/** The last year, from the first published date on; if none is published, as many days as a look-back. */
function defaultFrom(to: string, firstDate: string | undefined, lookbackDays: number): string {
  const yearBefore = addDays(to, -DEFAULT_DAYS);
  if (firstDate === undefined) return addDays(to, -lookbackDays);
  return firstDate > yearBefore && firstDate < to ? firstDate : yearBefore;
}

/** Minimum and maximum time for which an answer is cached; in between, reading takes less than a tenth of the time. */
const MIN_KEPT_MS = 10_000;
const MAX_KEPT_MS = 300_000;
const KEPT_TIMES = 10;
/** Maximum of cached answers: some 400 kB each. */
const MAX_KEPT = 8;
/** Maximum of different requests that wait for their turn. */
const MAX_WAITING = 16;
/** Vessel-days that are cached for a job, at some 230 bytes each, while its map is requested. */
const MAX_REMEMBERED = 800_000;
const FORGOTTEN_AFTER_MS = 600_000;
/** Ids that are read of each state. Planning fills the queue with some thousands. */
const MAX_NAMES = 200_000;

function createCoverageAnswers(ports: WebPorts) {
  const { clock } = ports;
  const closed = new AbortController();
  const kept = new Map<string, { readonly answer: Promise<Buffer>; untilMs: number }>();
  const memories = new Map<string, StatusMemory>();
  let lastReading: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let lastAskedMs = 0;
  let isForgetting = false;
  const askQueue = createQueueQuestion(ports);

  async function read(job: Job, asked: Asked): Promise<Buffer> {
    // What was read soon becomes garbage: without this a worker would keep some sixty megabytes of it.
    const collectAsBefore = collectEarly();
    try {
      const memory = memories.get(job.name) ?? createStatusMemory();
      memories.set(job.name, memory);
      const [range, queue] = await Promise.all([rangeOf(ports, job, asked), askQueue()]);
      const answer = await readCoverage(ports, { job, ...range, queue, memory });
      if (memory.receipts.size > MAX_REMEMBERED) memories.delete(job.name);
      return Buffer.from(JSON.stringify(answer));
    } finally {
      collectAsBefore();
    }
  }

  async function forgetLater(): Promise<void> {
    isForgetting = true;
    for (let restMs = FORGOTTEN_AFTER_MS; restMs > 0 && !closed.signal.aborted; ) {
      await clock.sleep(restMs, closed.signal).catch(() => {});
      restMs = lastAskedMs + FORGOTTEN_AFTER_MS - clock.monotonicMs();
    }
    memories.clear();
    kept.clear();
    isForgetting = false;
  }

  function begin(name: string, job: Job, asked: Asked): Promise<Buffer> {
    const readInTurn = async () => {
      const sinceMs = clock.monotonicMs();
      const body = await read(job, asked);
      const tookMs = clock.monotonicMs() - sinceMs;
      const keptMs = Math.min(Math.max(MIN_KEPT_MS, KEPT_TIMES * tookMs), MAX_KEPT_MS);
      one.untilMs = clock.monotonicMs() + keptMs;
      return body;
    };
    if (waiting >= MAX_WAITING)
      throw new WebError(503, 'busy', `${waiting} maps are being made for others; try again later`);
    waiting++;
    const answer = lastReading.then(readInTurn).finally(() => waiting--);
    const one = { answer, untilMs: Number.POSITIVE_INFINITY };
    kept.delete(name);
    kept.set(name, one);
    for (const oldest of kept.keys()) if (kept.size > MAX_KEPT) kept.delete(oldest);
    lastReading = answer.catch(() => {
      if (kept.get(name) === one) kept.delete(name);
    });
    return answer;
  }

  return {
    /** The JSON of a CoverageAnswer. Throws ConfigError `too-many-vessel-days`, and WebError 503 `busy`. */
    async of(job: Job, asked: Asked): Promise<Buffer> {
      lastAskedMs = clock.monotonicMs();
      if (!isForgetting) void forgetLater();
      const name = `${job.name} ${asked.from ?? ''} ${asked.to ?? ''}`;
      const known = kept.get(name);
      if (known !== undefined && lastAskedMs < known.untilMs) return await known.answer;
      return await begin(name, job, asked);
    },
    close: () => closed.abort(),
  };
}

/** Undefined without a fleet. Commands wait while Redis is unreachable: so one read at a time, with a short time-out. */
function createQueueQuestion({ fleet, clock, log }: WebPorts) {
  const names = fleet && shareAnswer(clock, () => fleet.queue.names(MAX_NAMES), 0);
  return async (): Promise<QueueNames | 'away' | undefined> => {
    if (fleet === undefined || names === undefined) return undefined;
    try {
      return await askRedis(names(), 'the page shows what the lake says', fleet.redis, clock);
    } catch (error) {
      log.debug({}, messageOf(error));
      return 'away';
    }
  };
}
