/** `GET /api/jobs/:job/coverage`: the map of a job's vessel-days. */
import type { FastifyInstance } from 'fastify';
import { ConfigError, shortName } from '../core/errors.ts';
import {
  addDays,
  datesBetween,
  isDate,
  type Job,
  lookbackDaysOf,
  microsToDate,
} from '../core/model/index.ts';
import { jobNamed } from '../core/names.ts';
import { firstReceiptDate } from '../lake/ledger/newest-days.ts';
import { createCoverageAnswers } from './coverage-answers.ts';
import type { WebPorts } from './ports.ts';

const DEFAULT_DAYS = 365;
/** Eleven years. */
const MAX_DAYS = 4_018;

/** UTC dates, `to` exclusive. */
interface AskedRange {
  readonly from: string;
  readonly to: string;
}

export function registerCoverage(api: FastifyInstance, ports: WebPorts): void {
  const answers = createCoverageAnswers(ports);
  api.addHook('onClose', async () => answers.close());
  api.get<{ Params: { job: string }; Querystring: Readonly<Record<string, unknown>> }>(
    '/jobs/:job/coverage',
    async ({ params, query }, reply) => {
      const job = jobNamed(ports.jobs, params.job);
      const asked = { from: readDate(query, 'from'), to: readDate(query, 'to') };
      const name = `${job.name} ${asked.from ?? ''} ${asked.to ?? ''}`;
      const body = await answers.of(name, job, async () => {
        const firstDate = await firstReceiptDate(ports.store, job.name);
        return { ...rangeOf(ports, job, asked, firstDate), firstDate };
      });
      return reply.type('application/json; charset=utf-8').send(body);
    },
  );
}

function readDate(query: Readonly<Record<string, unknown>>, name: 'from' | 'to'): string | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  if (typeof text === 'string' && isDate(text)) return text;
  const got = typeof text === 'string' ? shortName(text) : 'it more than once';
  throw new ConfigError('usage', `${name}: got ${got}, expected a UTC date YYYY-MM-DD`);
}

/** Throws ConfigError `usage` for a range that is empty, or too long. */
function rangeOf(
  { clock }: WebPorts,
  job: Job,
  asked: { readonly [E in keyof AskedRange]: string | undefined },
  firstDate: string | undefined,
): AskedRange {
  const today = microsToDate(clock.nowMs() * 1_000);
  const to = asked.to ?? addDays(today, 1);
  const from = asked.from ?? defaultFrom(to, firstDate, lookbackDaysOf(job));
  if (from >= to)
    throw new ConfigError('usage', `from and to: got ${from} to ${to}, expected a later date to stop before`);
  if (addDays(from, MAX_DAYS) < to) {
    const days = datesBetween(from, to).length;
    throw new ConfigError('usage', `from and to: got ${days} days, expected at most ${MAX_DAYS}`);
  }
  return { from, to };
}

/** The last year, from the first published date on; as many days as a look-back has where there is none. */
function defaultFrom(to: string, firstDate: string | undefined, lookbackDays: number): string {
  const yearBefore = addDays(to, -DEFAULT_DAYS);
  if (firstDate === undefined) return addDays(to, -lookbackDays);
  return firstDate > yearBefore && firstDate < to ? firstDate : yearBefore;
}
