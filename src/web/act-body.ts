/** The body of `POST /api/acts`, validated: others than the page may send anything. */
import { z } from 'zod';
import { cleanForeignText, shortName } from '../core/errors.ts';
import { isDate, JOB_NAME, VESSEL_ID } from '../core/model/index.ts';
import { backfillKey, parseBackfillKey } from '../lake/keys.ts';
import { WebError } from './web-error.ts';

/** Vessels of one backfill. */
const MAX_VESSELS = 2_000;
const MAX_ID_CHARS = 100;

const job = z.string().regex(JOB_NAME, 'expected the name of a job');
const vessel = z.string().regex(VESSEL_ID, 'expected IMO and seven digits');
const date = z.string().refine(isDate, 'expected a UTC date YYYY-MM-DD');
const id = z
  .string()
  .max(MAX_ID_CHARS)
  .refine((text) => parseBackfillKey(backfillKey(text)) === text, 'expected the id of a backfill');

const ACT = z.discriminatedUnion('act', [
  // `allowShrink`: publish it although series have lost readings, as a person has decided.
  z.strictObject({ act: z.literal('try-again'), job, vessel, date, allowShrink: z.boolean() }),
  z.strictObject({ act: z.literal('try-failed-again'), job }),
  z.strictObject({
    act: z.literal('start-backfill'),
    job,
    from: date,
    to: date,
    vessels: z
      .array(vessel)
      .max(MAX_VESSELS)
      .refine((vessels) => new Set(vessels).size === vessels.length, 'expected each vessel once'),
    allowShrink: z.boolean(),
  }),
  z.strictObject({ act: z.literal(['pause-backfill', 'resume-backfill', 'cancel-backfill']), id }),
  z.strictObject({ act: z.literal('lift-hold') }),
  // Ends the sessions of all users.
  z.strictObject({ act: z.literal('end-all-sessions') }),
  z.strictObject({ act: z.literal('accept-warning'), job, vessel }),
]);

/** A JSON body of one of these; the answer is an ActAnswer. */
export type Act = z.infer<typeof ACT>;

/** Throws WebError 400 `usage`: what was found, and what was expected. */
export function readAct(body: unknown): Act {
  const parsed = ACT.safeParse(body, { reportInput: true });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = shortName(issue!.path.map(String).join('.')) || 'the body';
  const found = issue!.code === 'unrecognized_keys' ? issue!.keys : issue!.input;
  const text = shortName(JSON.stringify(found) ?? 'nothing');
  throw new WebError(400, 'usage', `${where}: got ${text}, ${cleanForeignText(issue!.message)}`);
}

/** The act and its object for the log, whatever was sent. */
export function namesOf(body: unknown): { readonly act: string; readonly target: string } {
  const { success, data } = ACT.safeParse(body);
  if (success) return { act: data.act, target: targetOf(data) };
  const act = (body as { readonly act?: unknown } | null | undefined)?.act;
  return { act: typeof act === 'string' ? shortName(act) : '-', target: '-' };
}

function targetOf(act: Act): string {
  switch (act.act) {
    case 'try-again':
      return `${act.job}/${act.vessel}/${act.date}`;
    case 'accept-warning':
      return `${act.job}/${act.vessel}`;
    case 'try-failed-again':
      return act.job;
    case 'start-backfill':
      return `${act.job} ${act.from} to ${act.to}`;
    case 'lift-hold':
      return 'the queue';
    case 'end-all-sessions':
      return 'all sessions';
    default:
      return act.id;
  }
}
