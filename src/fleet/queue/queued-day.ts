/**
 * What stands in the queue, and the one way to read it. Whoever can write to Redis can put anything there, and what
 * comes out of it becomes keys of the lake and labels of metrics: so it is read like any input, by the model's own rules
 * for names of jobs, vessels and dates. What breaks them is dropped: the queue holds no truth, and a job that stayed,
 * in the failed set too, would keep the vessel-day whose id it has from being queued.
 */
import { z } from 'zod';
import { shortName } from '../../core/errors.ts';
import type { ComparedDay, VesselDay } from '../../core/model/index.ts';
import { cleanMessage, formatVesselDay, isDate, JOB_NAME, VESSEL_ID } from '../../core/model/index.ts';

export const QUEUED_KINDS = ['nightly', 'reconcile', 'backfill'] as const;
export type QueuedKind = (typeof QUEUED_KINDS)[number];
/** Jobs of priority 0 run before all others. */
export const PRIORITY: Readonly<Record<QueuedKind, number>> = { nightly: 0, reconcile: 50, backfill: 100 };

/** What stands in the queue. */
export interface QueuedDay extends VesselDay {
  readonly kind: QueuedKind;
  readonly force?: boolean | undefined;
  readonly allowShrink?: boolean | undefined;
  /** With `force`: only while the published day is still the one that was compared. */
  readonly compared?: ComparedDay | undefined;
  /** The job's discovery did not name the vessel, which is known from the ledger. */
  readonly unlisted?: boolean | undefined;
  /** How often it was handed back because readings and counts disagreed. */
  readonly disagreements?: number | undefined;
  /** In the failed set: the failure may have passed by the next firing of the schedule. */
  readonly mayPass?: boolean | undefined;
  /** In the failed set: why; BullMQ itself keeps a text only. */
  readonly failure?: { readonly code: string; readonly message: string } | undefined;
}

/** What goes into the queue of a vessel-day, with neither failures nor attempts of before. */
export function newQueuedDay(
  { job, vessel, date }: VesselDay,
  kind: QueuedKind,
  how: Pick<QueuedDay, 'force' | 'allowShrink' | 'compared' | 'unlisted'>,
): QueuedDay {
  return {
    ...{ job, vessel, date, kind },
    ...(how.force && { force: true }),
    ...(how.allowShrink && { allowShrink: true }),
    ...(how.unlisted && { unlisted: true }),
    ...(how.compared && { compared: how.compared }),
  };
}

/** Most bytes of a vessel-day in the queue: a failure has the longest text. */
export const MAX_QUEUED_BYTES = 64 << 10;

const CODE = /^[a-z0-9-]{1,60}$/;
const flag = z.boolean().optional();

const QUEUED_DAY = z.object({
  job: z.string().regex(JOB_NAME, 'expected the name of a job'),
  vessel: z.string().regex(VESSEL_ID, 'expected IMO and seven digits'),
  date: z.string().refine(isDate, 'expected a UTC date YYYY-MM-DD'),
  kind: z.enum(QUEUED_KINDS),
  force: flag,
  allowShrink: flag,
  compared: z.object({ epoch: z.int().min(0), totalsSha256: z.string().min(1).max(100) }).optional(),
  unlisted: flag,
  disagreements: z.int().min(0).max(1_000).optional(),
  mayPass: flag,
  failure: z
    .object({ code: z.string().regex(CODE), message: z.string().transform((text) => cleanMessage(text)) })
    .optional(),
});

/** A vessel-day of the queue, or why it is none: what was found, and what was expected. */
type ReadDay = { readonly day: QueuedDay; readonly fault?: undefined } | { readonly fault: string };

/** `id`: under which it stands in the queue. */
export function readQueuedDay(id: string | undefined, data: unknown): ReadDay {
  const parsed = QUEUED_DAY.safeParse(data, { reportInput: true });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue!.path.map(String).join('.') || 'its data';
    return {
      fault: `${shortName(field)}: got ${shortName(JSON.stringify(issue!.input) ?? 'nothing')}, ${issue!.message}`,
    };
  }
  const expected = formatVesselDay(parsed.data);
  if (id !== expected) return { fault: `id: got ${shortName(JSON.stringify(id))}, expected ${expected}` };
  return { day: parsed.data };
}

/** The same of the text in Redis; null: there is none, or too much of it. */
export function parseQueuedDay(id: string, text: string | null): ReadDay {
  if (text === null) return { fault: `its data: got none, or more than ${MAX_QUEUED_BYTES} bytes` };
  try {
    return readQueuedDay(id, JSON.parse(text));
  } catch {
    return { fault: `its data: got ${shortName(text)}, expected JSON` };
  }
}
