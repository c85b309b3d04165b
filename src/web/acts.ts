/**
 * `POST /api/acts`: what users may do with the page. Every act, including refused and failed ones, is logged in one line: the
 * user, the address, the act, its object and its end. The code of each act is elsewhere, and commands use the same.
 */
import type { FastifyInstance } from 'fastify';
import { endsWithin } from '../core/concurrency.ts';
import { ConfigError, codeOf, messageOf } from '../core/errors.ts';
import { addDays, type Clock, countOf, formatVesselDay } from '../core/model/index.ts';
import { jobNamed } from '../core/names.ts';
import { type BackfillChange, changeBackfill, startBackfill } from '../fleet/backfills.ts';
import { liftHold } from '../fleet/queue/hold.ts';
import { type TriedAgain, tryAgain, tryFailedAgain } from '../fleet/try-again.ts';
import { acceptWarning, describeAccepting } from '../lake/accept.ts';
import { type Act, namesOf, readAct } from './act-body.ts';
import type { ActAnswer } from './answers.ts';
import type { WebPorts } from './ports.ts';
import type { EndedSessions } from './sign-in/ended-sessions.ts';
import { askRedis, WebError } from './web-error.ts';

/** Longer than any act takes if Redis and lake respond, even with a large ledger or thousands of failed vessel-days. */
const ANSWER_MS = 60_000;

type ActPorts = WebPorts & { readonly ended: EndedSessions };

export function registerActs(api: FastifyInstance, ports: ActPorts): void {
  const { log, clock } = ports;
  api.post('/acts', async ({ actor, body }): Promise<ActAnswer> => {
    // The guards admit only those who may act; without guards there are no acts.
    if (actor === undefined) throw new WebError(403, 'may-not-act', 'who acts is not known');
    const { name: by, namedBy, address } = actor;
    const fields = { by, namedBy, address, ...namesOf(body) };
    const recorded = async () => {
      try {
        const said = await perform(ports, readAct(body));
        log.info({ ...fields, outcome: 'done', said }, 'act');
        return said;
      } catch (error) {
        const isRefused = error instanceof ConfigError || (error instanceof WebError && error.status < 500);
        const why = { code: codeOf(error), reason: messageOf(error) };
        log.warn({ ...fields, outcome: isRefused ? 'refused' : 'failed', ...why }, 'act');
        throw error;
      }
    };
    return { message: await inTime(clock, recorded()) };
  });
}

/** Answers in bounded time, even if Redis or the lake stop to respond. */
async function inTime<T>(clock: Clock, work: Promise<T>): Promise<T> {
  if (await endsWithin(work, ANSWER_MS, clock)) return await work;
  // Its end is logged anyway.
  work.catch(() => {});
  const text = `Redis or the lake has not answered for ${ANSWER_MS / 1_000} s: it may still be done; check before you try again`;
  throw new WebError(503, 'no-answer-in-time', text);
}

type ActOf<Name extends Act['act']> = Extract<Act, { readonly act: Name }>;
type WebFleet = NonNullable<WebPorts['fleet']>;

/** Do it, and return what was done as a sentence. Throws ConfigError, WebError, and what the act itself throws. */
async function perform(ports: ActPorts, act: Act): Promise<string> {
  if (act.act === 'accept-warning') return await accept(ports, act);
  if (act.act === 'end-all-sessions') {
    await ports.ended.endAll();
    return 'all sessions have ended: everybody who looks or acts signs in again';
  }
  if (ports.fleet === undefined) throw noFleet(act);
  // Commands of the queue wait until Redis is back; a request of the page must not.
  const { client } = ports.fleet.connection;
  await askRedis(client.ping(), 'nothing was done; try again when it is back', client, ports.clock);
  switch (act.act) {
    case 'try-again':
      return await tryDay(ports, ports.fleet, act);
    case 'try-failed-again':
      return await tryFailed(ports, ports.fleet, act);
    case 'start-backfill':
      return await start(ports, ports.fleet, act);
    case 'lift-hold':
      return await liftHold(ports.fleet.queue);
    default:
      return await change(ports.fleet, act);
  }
}

const TRIED_WORDS: Readonly<Record<Exclude<TriedAgain, 'not-due'>, string>> = {
  queued: 'is in the queue now',
  released: 'was taken out of the failed set and is in the queue again, with all its attempts',
  'brought-forward': 'is tried now, and would have waited; while the reason lasts it waits on',
  'in-queue': 'is in the queue, and its turn comes',
  'under-way': 'is being exported now',
  done: 'is published as its job asks: there is nothing to try again',
};

async function tryDay(ports: WebPorts, fleet: WebFleet, act: ActOf<'try-again'>): Promise<string> {
  const { vessel, date, allowShrink } = act;
  const day = { job: act.job, vessel, date };
  const { planning, queue } = fleet;
  const job = jobNamed(ports.jobs, act.job);
  const tried = await tryAgain({ queue, ports: planning.ports }, job, day, allowShrink);
  const name = formatVesselDay(day);
  if (tried === 'not-due') {
    const text = `${name} is not due: its day is not over, or cannot be exported any more`;
    throw new WebError(409, 'not-due', text);
  }
  if (tried === 'under-way' && allowShrink) {
    const text = `${name} is being exported now, and not with fewer readings`;
    throw new WebError(409, 'under-way', `${text}: wait for its end, and try again if it is refused`);
  }
  const decided = allowShrink && tried !== 'done' ? '; fewer readings than are published are accepted' : '';
  return `${name} ${TRIED_WORDS[tried]}${decided}${await whileOnHold(fleet)}`;
}

async function tryFailed(ports: WebPorts, fleet: WebFleet, act: ActOf<'try-failed-again'>): Promise<string> {
  const { name } = jobNamed(ports.jobs, act.job);
  const { released, refused, noRoom } = await tryFailedAgain(fleet.queue, name);
  const said = [
    released > 0 &&
      `${countOf(released, 'vessel-day')} of ${name} ${released === 1 ? 'is' : 'are'} in the queue again`,
    released === 0 && `${name} has no failed vessel-day to try again`,
    refused > 0 &&
      `${countOf(refused, 'vessel-day')} would lose readings and stay${refused === 1 ? 's' : ''} refused: decide on the page of each`,
    noRoom > 0 &&
      `${countOf(noRoom, 'vessel-day')} stay${noRoom === 1 ? 's' : ''} failed, as the queue is full: try again later`,
  ].filter((text) => text !== false);
  return `${said.join('; ')}${released > 0 ? await whileOnHold(fleet) : ''}`;
}

async function start(ports: WebPorts, fleet: WebFleet, act: ActOf<'start-backfill'>): Promise<string> {
  const { job, from, to, vessels, allowShrink } = act;
  const request = { job, from, to, vessels, allowShrink };
  const { backfill, state } = await startBackfill(fleet, jobNamed(ports.jobs, act.job), request);
  if (state === 'under-way') return `${backfill.id} is under way already`;
  return `${backfill.id} ${state === 'started' ? 'is started' : 'goes on'}: the scheduler queues its vessel-days`;
}

type BackfillAct = ActOf<'pause-backfill' | 'resume-backfill' | 'cancel-backfill'>;

const CHANGES: Readonly<Record<BackfillAct['act'], readonly [BackfillChange, string]>> = {
  'pause-backfill': ['pause', 'is paused'],
  'resume-backfill': ['resume', 'goes on: the scheduler queues its vessel-days'],
  'cancel-backfill': ['cancel', 'is cancelled'],
};

async function change(fleet: WebFleet, { act, id }: BackfillAct): Promise<string> {
  const [what, words] = CHANGES[act];
  try {
    const { withdrawn } = await changeBackfill(fleet, what, id);
    return `${id} ${words}${withdrawn === 0 ? '' : `; ${countOf(withdrawn, 'vessel-day')} left the queue`}`;
  } catch (error) {
    if (!(error instanceof ConfigError) || error.code !== 'unknown-backfill') throw error;
    // The button was pressed twice.
    if (what === 'cancel') return `${id} is not under way any more: it was covered or cancelled`;
    throw new WebError(404, error.code, error.message);
  }
}

async function accept(ports: WebPorts, act: ActOf<'accept-warning'>): Promise<string> {
  const { name } = jobNamed(ports.jobs, act.job);
  const accepting = await acceptWarning(ports, name, act.vessel);
  const said = `${name}/${act.vessel}: ${describeAccepting(accepting)}`;
  if (accepting.state === 'nothing-to-accept') throw new WebError(409, accepting.state, said);
  return said;
}

async function whileOnHold(fleet: WebFleet): Promise<string> {
  const hold = await fleet.queue.hold.read();
  return hold ? `. The queue is on hold for '${hold.code}': nothing is exported until it goes on` : '';
}

type FleetAct = Exclude<Act, { readonly act: 'accept-warning' | 'end-all-sessions' }>;

const MAX_TYPED = 20;

/** Names the command to type instead. */
function noFleet(act: FleetAct): WebError {
  const here = 'the page is served from a lake alone, without a queue';
  return new WebError(409, 'no-fleet', `${here}; type: vessel-export ${commandFor(act)}`);
}

function commandFor(act: FleetAct): string {
  switch (act.act) {
    case 'try-again': {
      const { job, vessel, date, allowShrink } = act;
      const range = `--from ${date} --to ${addDays(date, 1)} --vessel ${vessel}`;
      return `run ${job} ${range}${allowShrink ? ' --force --allow-shrink' : ''}`;
    }
    case 'try-failed-again':
      return `backfill ${act.job} --failed`;
    case 'start-backfill': {
      const named = act.vessels.length > MAX_TYPED ? '…' : act.vessels.join(' ');
      const vessels = named === '' ? '' : ` --vessel ${named}`;
      return `backfill ${act.job} --from ${act.from} --to ${act.to}${vessels}${act.allowShrink ? ' --allow-shrink' : ''}`;
    }
    case 'lift-hold':
      return 'hold lift';
    default:
      return `backfill ${CHANGES[act.act][0]} ${act.id}`;
  }
}
