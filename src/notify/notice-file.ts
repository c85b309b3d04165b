/**
 * What was told, in the lake: it outlives a flushed Redis, a restart and a new leader. A version is replaced only by who has
 * read it, so that of two processes one goes on.
 */

import { jsonBytes, unlessDamaged } from '../lake/json.ts';
import { NOTICES_KEY } from '../lake/keys.ts';
import type { Shape } from '../lake/shapes.ts';
import { isCount, isObject, isText, parseFile } from '../lake/shapes.ts';
import type { ObjectStore, Version } from '../store/store.ts';
import type { ToldCause } from './causes.ts';
import { CAUSE_KINDS } from './causes.ts';
import type { Message } from './message.ts';

/** A message on its way. */
interface Sending {
  readonly message: Message;
  /** What will have been told when it has arrived. */
  readonly told: readonly ToldCause[];
  /** Who sends it, and since when: for a while it is left to that process. */
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

/** Nothing was told where there is no file, or one that is none. Throws what the store throws. */
export async function readNotices(store: Pick<ObjectStore, 'get'>): Promise<FoundNotices> {
  const object = await store.get(NOTICES_KEY);
  const nothing: Notices = { noticesVersion: 1, told: [] };
  if (object === undefined) return { notices: nothing, version: null };
  const notices = await unlessDamaged(
    (async () => parseFile<Notices>(object.bytes, NOTICES_KEY, NOTICES_FILE))(),
  );
  return { notices: { ...nothing, ...notices }, version: object.version };
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

const isToldCause = (value: unknown) =>
  isObject(value) &&
  CAUSE_KINDS.includes(value.kind as never) &&
  (value.job === undefined || isText(value.job)) &&
  Array.isArray(value.members) &&
  value.members.every(isText) &&
  isCount(value.count) &&
  isCount(value.sinceMs);
const isTold = (value: unknown) => Array.isArray(value) && value.every(isToldCause);

const NOTICES_FILE: Shape = {
  told: [isTold, 'causes'],
  sending: [
    (value) =>
      isObject(value) &&
      isTold(value.told) &&
      isText(value.by) &&
      isCount(value.sinceMs) &&
      isMessage(value.message),
    'message, told, by and sinceMs',
  ],
};

function isMessage(value: unknown): boolean {
  return (
    isObject(value) &&
    isText(value.id) &&
    isText(value.at) &&
    Array.isArray(value.changes) &&
    value.changes.every(
      (change) =>
        isObject(change) &&
        ['begun', 'more', 'over'].includes(change.what as string) &&
        CAUSE_KINDS.includes(change.kind as never) &&
        typeof change.text === 'string' &&
        Array.isArray(change.members) &&
        change.members.every(isText),
    )
  );
}
