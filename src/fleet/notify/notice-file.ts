/**
 * What was told, in the lake: it outlives a flushed Redis, a restart and a new leader. A version is replaced only by who has
 * read it, so that of two processes one goes on.
 */

import { jsonBytes, unlessDamaged } from '../../lake/json.ts';
import { NOTICES_KEY } from '../../lake/keys.ts';
import { isCount, isObject, isText, parseFile } from '../../lake/shapes.ts';
import type { ObjectStore, Version } from '../../store/store.ts';
import type { ToldCause } from './causes.ts';
import type { Message } from './message.ts';

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

export interface FoundNotices {
  readonly notices: Notices;
  /** Null: there is no file yet. */
  readonly version: Version | null;
}

/**
 * Nothing was told where there is no file, or one that is none. A part that is none is left out alone: what else was told
 * is not told again. A cause whose kind this version does not know is one like any other. Throws what the store throws.
 */
export async function readNotices(store: Pick<ObjectStore, 'get'>): Promise<FoundNotices> {
  const object = await store.get(NOTICES_KEY);
  const read =
    object && (await unlessDamaged((async () => parseFile<Members>(object.bytes, NOTICES_KEY, {}))()));
  const { told, sending } = read ?? {};
  const notices = { noticesVersion: 1, told: toldOf(told), ...(isSending(sending) && { sending }) } as const;
  return { notices, version: object?.version ?? null };
}

/** Replace what was read; undefined where somebody else has. Throws what the store throws. */
export async function writeNotices(
  store: Pick<ObjectStore, 'putIf'>,
  notices: Notices,
  version: Version | null,
): Promise<FoundNotices | undefined> {
  const written = await store.putIf(NOTICES_KEY, jsonBytes(notices), version);
  return written === undefined ? undefined : { notices, version: written };
}

type Members = Readonly<Record<string, unknown>>;

const toldOf = (value: unknown) => (Array.isArray(value) ? value.filter(isToldCause) : []);

function isToldCause(value: unknown): value is ToldCause {
  return isCauseName(value) && isMembers(value.members) && isCount(value.count) && isCount(value.sinceMs);
}

function isSending(value: unknown): value is Sending {
  if (!isObject(value) || !isText(value.by) || !isCount(value.sinceMs) || !isObject(value.message))
    return false;
  const { id, at, changes } = value.message;
  const isWhole = Array.isArray(value.told) && value.told.every(isToldCause);
  return isWhole && isText(id) && isText(at) && Array.isArray(changes) && changes.every(isChange);
}

function isChange(value: unknown): boolean {
  const isKnown = isCauseName(value) && ['begun', 'more', 'over'].includes(value.what as string);
  return isKnown && typeof value.text === 'string' && isMembers(value.members);
}

function isCauseName(value: unknown): value is Members {
  return isObject(value) && isText(value.kind) && (value.job === undefined || isText(value.job));
}

const isMembers = (value: unknown) => Array.isArray(value) && value.every(isText);
