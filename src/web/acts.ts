/**
 * `POST /api/acts`: what a person may do by the page. Who may is the guards' to say; here every act, refused and failed
 * ones too, leaves one line in the log: who, from where, what, to what, and how it ended.
 */
import type { FastifyInstance } from 'fastify';
import { endsWithin } from '../core/concurrency.ts';
import { ConfigError, codeOf, messageOf } from '../core/errors.ts';
import type { Clock, Log } from '../core/model/index.ts';
import { perform } from './act.ts';
import { namesOf, readAct } from './act-body.ts';
import type { ActAnswer } from './answers.ts';
import type { WebAccess, WebPorts } from './ports.ts';
import type { Actor } from './sign-in/guard.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import { WebError } from './web-error.ts';

/** Longer than anything takes where Redis and lake answer: a list of a large ledger, or thousands of failed vessel-days. */
const ANSWER_MS = 60_000;

export function registerActs(
  api: FastifyInstance,
  ports: WebPorts,
  _access: WebAccess,
  { ended }: Pick<SignIn, 'ended'>,
): void {
  api.post('/acts', async ({ actor, body }): Promise<ActAnswer> => {
    // The guards let nobody else in; without them nobody acts.
    if (actor === undefined) throw new WebError(403, 'may-not-act', 'who acts is not known');
    const line = { actor, ...namesOf(body) };
    const act = await recorded(ports.log, line, async () => readAct(body));
    const message = await inTime(
      ports.clock,
      recorded(
        ports.log,
        line,
        () => perform({ ...ports, ended }, act),
        (text) => text,
      ),
    );
    return { message };
  });
}

/** Of one line of the log. */
interface ActLine {
  readonly actor: Actor;
  readonly act: string;
  readonly target: string;
}

/** Do it, and log how it ended; what went well only with `sayDone`. Throws what `work` throws. */
async function recorded<T>(
  log: Log,
  { actor, act, target }: ActLine,
  work: () => Promise<T>,
  sayDone?: (outcome: T) => string,
): Promise<T> {
  const { name: by, namedBy, address } = actor;
  const fields = { by, namedBy, address, act, target };
  try {
    const outcome = await work();
    if (sayDone) log.info({ ...fields, outcome: 'done', said: sayDone(outcome) }, 'act');
    return outcome;
  } catch (error) {
    const isRefused = error instanceof ConfigError || (error instanceof WebError && error.status < 500);
    const why = { code: codeOf(error), reason: messageOf(error) };
    log.warn({ ...fields, outcome: isRefused ? 'refused' : 'failed', ...why }, 'act');
    throw error;
  }
}

/** An answer in bounded time, though Redis or the lake fell silent in the middle. */
async function inTime<T>(clock: Clock, work: Promise<T>): Promise<T> {
  if (await endsWithin(work, ANSWER_MS, clock)) return await work;
  // How it ends is logged all the same.
  work.catch(() => {});
  throw new WebError(
    503,
    'no-answer-in-time',
    `Redis or the lake has not answered for ${ANSWER_MS / 1_000} s: it may still be done; look before you try again`,
  );
}
