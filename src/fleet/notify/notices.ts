/**
 * Sends notices: a change is recorded as being sent, then sent, then recorded as reported, in the lake, which outlives Redis
 * and every process. So nothing is reported twice, whoever leads. If a process dies in between, its message is sent again with
 * the same id. A process can replace only the version that it has read, so of two processes one continues.
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
  /** The record after the message is delivered. */
  readonly told: readonly ToldCause[];
  /** The process that sends it, and since when by its own clock: for a while the message is left to that process. */
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

/** Malformed parts of the file are ignored, and the rest still counts; unknown kinds of causes are kept. */
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

/** How long a message is left to the process that sends it, from when this process saw it: the other clock may be wrong. */
const LEFT_TO_OTHERS_MS = 60_000;
/** Delays after a message that was not delivered. */
const RETRY_MS = [30_000, 600_000] as const;

export type Tell = ReturnType<typeof createTeller>;

/**
 * Send what is new in the causes that `causesOf` returns; it is given the record of what was reported and is not over. Throws
 * RetriableError `notice-not-delivered`, what `causesOf` and the store throw, and the signal's reason.
 */
export function createTeller({ store, webhook, clock, log }: NoticePorts) {
  const self = uniqueId();
  /** The message that another process is sending, and since when this process has seen it. */
  let seen: { readonly sending: string; readonly sinceMs: number } | undefined;
  /** Id of a message that was delivered, even if recording that failed. */
  let arrivedId: string | undefined;
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  let delayMs: number = RETRY_MS[0];

  /** Undefined: another process has written. */
  async function write(notices: Notices, { version: before }: FoundNotices) {
    const version = await store.putIf(NOTICES_KEY, jsonBytes(notices), before);
    return version === undefined ? undefined : { notices, version };
  }

  /** Send the recorded message, if there is one, and record that it was reported. */
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

  /** Take over the message of another process after it was left to it for long enough; undefined until then. */
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
