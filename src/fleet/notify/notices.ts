/**
 * Telling: what is new is written down as being sent, sent, and written down as told. So nothing is told twice, whoever
 * leads; a process that dies between sending and writing has its message sent again, with the same id. What was told lies in
 * the lake: it outlives a flushed Redis, a restart and a new leader. A version is replaced only by who has read it, so that
 * of two processes one goes on.
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

/** A message on its way. */
interface Sending {
  readonly message: Message;
  /** What will have been told when it has arrived. */
  readonly told: readonly ToldCause[];
  /** Who sends it, and since when by its own clock: for a while it is left to that process. */
  readonly by: string;
  readonly sinceMs: number;
}

export interface Notices {
  readonly noticesVersion: 1;
  readonly told: readonly ToldCause[];
  readonly sending?: Sending;
}

/** `version`: null where there is no file yet. */
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

export type Teller = ReturnType<typeof createTeller>;

/** A message that another process has begun to send is left to it for so long since it was seen: its clock may be wrong. */
const LEFT_TO_OTHERS_MS = 60_000;
/** After a message that did not arrive. */
const RETRY_MS = [30_000, 600_000] as const;

export function createTeller({ store, webhook, clock, log }: NoticePorts) {
  const self = uniqueId();
  let found: FoundNotices | undefined;
  /** What another process is sending, and since when that is seen. */
  let seen: { readonly sending: string; readonly sinceMs: number } | undefined;
  /** It has arrived, whatever became of writing that down. */
  let arrivedId: string | undefined;
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  let delayMs: number = RETRY_MS[0];

  async function read(): Promise<FoundNotices> {
    found ??= await readNotices(store);
    return found;
  }

  /** False: somebody else has written. */
  async function write(notices: Notices): Promise<boolean> {
    const { version } = await read();
    // Whatever comes of it: what is known now may be wrong.
    found = undefined;
    const written = await store.putIf(NOTICES_KEY, jsonBytes(notices), version);
    if (written !== undefined) found = { notices, version: written };
    return written !== undefined;
  }

  async function deliver({ sending }: Notices, signal: AbortSignal): Promise<void> {
    if (sending === undefined) return;
    const { message, told } = sending;
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
    await write({ noticesVersion: 1, told });
  }

  /** Is there nothing more on its way? */
  async function finishSending(signal: AbortSignal): Promise<boolean> {
    const { notices } = await read();
    const { sending } = notices;
    if (sending === undefined) return true;
    if (sending.by !== self) {
      const name = `${sending.message.id} ${sending.by} ${sending.sinceMs}`;
      if (seen?.sending !== name) seen = { sending: name, sinceMs: clock.monotonicMs() };
      if (clock.monotonicMs() - seen.sinceMs < LEFT_TO_OTHERS_MS) {
        found = undefined;
        return false;
      }
      if (!(await write({ ...notices, sending: { ...sending, by: self, sinceMs: clock.nowMs() } })))
        return false;
    }
    await deliver(notices, signal);
    return found !== undefined;
  }

  return {
    /** What was told and is not over. Throws what the store throws. */
    told: async (): Promise<readonly ToldCause[]> => (await read()).notices.told,
    /** Tell what is new. Throws RetriableError `notice-not-delivered`, what the store throws, and the signal's reason. */
    async tell(now: KnownCauses, signal: AbortSignal): Promise<void> {
      if (clock.monotonicMs() < notBeforeMs || !(await finishSending(signal))) return;
      const { notices } = await read();
      const nowMs = clock.nowMs();
      const { changes, told } = compareCauses(notices.told, now, nowMs);
      if (changes.length === 0) return;
      const message = { id: uniqueId(), at: new Date(nowMs).toISOString(), changes };
      const next: Notices = { ...notices, sending: { message, told, by: self, sinceMs: nowMs } };
      if (await write(next)) await deliver(next, signal);
    },
    /** Somebody else may write now: read again before the next step. */
    forget(): void {
      found = undefined;
    },
  };
}
