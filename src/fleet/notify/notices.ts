/**
 * Telling: what is new is written down as being sent, sent, and written down as told, in the lake, which outlives Redis and
 * every process. So nothing is told twice, whoever leads; who dies in between has its message sent again, with the same id.
 * A version is replaced only by who has read it, so that of two processes one goes on.
 */

import { z } from 'zod';
import type { Clock, Log } from '../../core/model/index.ts';
import { uniqueId } from '../../core/unique-id.ts';
import { jsonBytes, unlessDamaged } from '../../lake/json.ts';
import { NOTICES_KEY } from '../../lake/keys.ts';
import { parseFile } from '../../lake/shapes.ts';
import type { ObjectStore, Version } from '../../store/store.ts';
import { compareCauses, type KnownCauses, type ToldCause } from './cause-changes.ts';
import type { Message, Webhook } from './webhook.ts';

interface Sending {
  readonly message: Message;
  /** What will have been told when it has arrived. */
  readonly told: readonly ToldCause[];
  /** Who sends it, and since when by its own clock: for a while it is left to that process. */
  readonly by: string;
  readonly sinceMs: number;
}

interface Notices {
  readonly noticesVersion: 1;
  readonly told: readonly ToldCause[];
  readonly sending?: Sending;
}

type FoundNotices = { readonly notices: Notices; readonly version: Version | null };

const text = z.string().min(1).max(1_024);
const count = z.int().min(0);
const name = { kind: text, job: text.optional() };
const TOLD = z.object({ ...name, members: z.array(text), count, sinceMs: count });
const CHANGE = z.object({
  ...name,
  what: z.enum(['begun', 'more', 'over']),
  text: z.string(),
  members: z.array(text),
});
const SENDING = z.object({
  ...{ by: text, sinceMs: count, told: z.array(TOLD) },
  message: z.object({ id: text, at: text, changes: z.array(CHANGE) }),
});

/** A file, or a part of it, that is none is left out alone; an unknown kind of cause is one like any other. */
async function readNotices(store: Pick<ObjectStore, 'get'>): Promise<FoundNotices> {
  const object = await store.get(NOTICES_KEY);
  const read = object && (await unlessDamaged((async () => parseFile(object.bytes, NOTICES_KEY, {}))()));
  const { told, sending } = (read ?? {}) as Partial<Notices>;
  const isFit = (shape: z.ZodType) => (value: unknown) => shape.safeParse(value).success;
  const notices: Notices = {
    noticesVersion: 1,
    told: Array.isArray(told) ? told.filter(isFit(TOLD)) : [],
    ...(sending && isFit(SENDING)(sending) && { sending }),
  };
  return { notices, version: object?.version ?? null };
}

interface NoticePorts {
  readonly store: Pick<ObjectStore, 'get' | 'putIf'>;
  readonly webhook: Webhook;
  readonly clock: Clock;
  readonly log: Log;
}

/** A message that another process has begun to send is left to it for so long since it was seen: its clock may be wrong. */
const LEFT_TO_OTHERS_MS = 60_000;
/** After a message that did not arrive. */
const RETRY_MS = [30_000, 600_000] as const;

export type Tell = ReturnType<typeof createTeller>;

/**
 * Tell what is new of what `causesOf` knows; it is given what was told and is not over. Throws RetriableError
 * `notice-not-delivered`, what it throws itself, what the store throws, and the signal's reason.
 */
export function createTeller({ store, webhook, clock, log }: NoticePorts) {
  const self = uniqueId();
  /** What another process is sending, and since when that is seen. */
  let seen: { readonly sending: string; readonly sinceMs: number } | undefined;
  /** It has arrived, whatever became of writing that down. */
  let arrivedId: string | undefined;
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  let delayMs: number = RETRY_MS[0];

  /** Undefined: somebody else has written. */
  async function write(notices: Notices, { version: before }: FoundNotices) {
    const version = await store.putIf(NOTICES_KEY, jsonBytes(notices), before);
    return version === undefined ? undefined : { notices, version };
  }

  /** Send what is on its way, if anything is, and write down that it was told. */
  async function deliver(found: FoundNotices | undefined, signal: AbortSignal) {
    if (found?.notices.sending === undefined) return found;
    const { message, told } = found.notices.sending;
    try {
      if (message.id !== arrivedId) await webhook.send(message, signal);
    } catch (error) {
      notBeforeMs = clock.monotonicMs() + delayMs;
      delayMs = Math.min(delayMs * 2, RETRY_MS[1]);
      throw error;
    }
    arrivedId = message.id;
    delayMs = RETRY_MS[0];
    log.info({ notice: message.id, changes: message.changes.length }, 'told');
    return await write({ noticesVersion: 1, told }, found);
  }

  /** What somebody else is sending is ours once it was left to them for long enough; undefined until then. */
  async function takeOver(found: FoundNotices): Promise<FoundNotices | undefined> {
    const { notices } = found;
    const { sending } = notices;
    if (sending === undefined || sending.by === self) return found;
    const name = `${sending.message.id} ${sending.by} ${sending.sinceMs}`;
    if (seen?.sending !== name) seen = { sending: name, sinceMs: clock.monotonicMs() };
    if (clock.monotonicMs() - seen.sinceMs < LEFT_TO_OTHERS_MS) return undefined;
    return await write({ ...notices, sending: { ...sending, by: self, sinceMs: clock.nowMs() } }, found);
  }

  return async (
    causesOf: (told: readonly ToldCause[]) => KnownCauses | Promise<KnownCauses>,
    signal: AbortSignal,
  ): Promise<void> => {
    const found = await readNotices(store);
    const now = await causesOf(found.notices.told);
    if (clock.monotonicMs() < notBeforeMs) return;
    const free = await deliver(await takeOver(found), signal);
    if (free === undefined) return;
    const nowMs = clock.nowMs();
    const { changes, told } = compareCauses(free.notices.told, now, nowMs);
    if (changes.length === 0) return;
    const message = { id: uniqueId(), at: new Date(nowMs).toISOString(), changes };
    const sending = { message, told, by: self, sinceMs: nowMs };
    await deliver(await write({ ...free.notices, sending }, free), signal);
  };
}
