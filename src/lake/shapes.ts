/**
 * The shapes of the small files of a lake. Anyone who can write to the lake can write them, so they are validated like any
 * input: texts are bounded, names are valid in keys, instants are instants.
 */
import { DataError } from '../core/errors.ts';
import type { Note, VesselDay } from '../core/model/index.ts';
import {
  API_VERSIONS,
  isDate,
  JOB_NAME,
  LAYOUTS,
  parseTimestamp,
  shortName,
  VESSEL_ID,
} from '../core/model/index.ts';
import { MAX_ADDRESS_CHARS } from '../core/model/web-address.ts';
import type { ObjectStore, Version } from '../store/store.ts';
import { parseJson } from './json.ts';

type Test = (value: unknown) => boolean;

/** By member: whether it is valid, and what is expected. */
export type Shape = Readonly<Record<string, readonly [isRight: Test, expected: string]>>;

type Fields = Readonly<Record<string, unknown>>;

/** Longest text in a file of ours, but for names and messages. */
const MAX_TEXT_CHARS = 1_024;
const MAX_INSTANT_MS = 8.64e15;

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const isCount: Test = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isTextUpTo = (maxChars: number) => (value: unknown) =>
  typeof value === 'string' && value !== '' && value.length <= maxChars;
export const isText = isTextUpTo(MAX_TEXT_CHARS);
const isAddress = isTextUpTo(MAX_ADDRESS_CHARS);
const isMatch = (pattern: RegExp) => (value: unknown) => typeof value === 'string' && pattern.test(value);
export const isSha256 = isMatch(/^[0-9a-f]{64}$/);
const isMoment: Test = (value) => typeof value === 'string' && parseTimestamp(value) !== undefined;
const isDay: Test = (value) => typeof value === 'string' && isDate(value);
const isFlag: Test = (value) => typeof value === 'boolean';
const isInstantMs: Test = (value) =>
  typeof value === 'number' && Math.abs(value) <= MAX_INSTANT_MS && !Number.isNaN(value);
const isMessage: Test = (value) => typeof value === 'string';
const oneOf =
  (...names: readonly unknown[]) =>
  (value: unknown) =>
    names.includes(value);
const orNull = (test: Test) => (value: unknown) => value === null || test(value);
const optional = (test: Test) => (value: unknown) => value === undefined || test(value);
const isListOf = (test: Test) => (value: unknown) => Array.isArray(value) && value.every(test);
const isMapOf = (test: Test) => (value: unknown) => isObject(value) && Object.values(value).every(test);
const isObjectOf = (members: Readonly<Record<string, Test>>) => {
  const tests = Object.entries(members);
  return (value: unknown) => isObject(value) && tests.every(([name, test]) => test(value[name]));
};

const isParts: Test = (value) =>
  isListOf(isObjectOf({ sizeBytes: isCount, sha256: isSha256 }))(value) && (value as unknown[]).length > 0;
const isPublished = isObjectOf({ key: isText, sizeBytes: isCount, upload: isText, parts: isParts });
const isAsked = isObjectOf({ rows: isCount, askedAt: isMoment, totalsSha256: optional(isSha256) });
const isCompared = isObjectOf({
  ...{ date: isDay, finishedAt: isMoment, series: isCount },
  selectHash: optional(isText),
});

const DAY: Shape = {
  job: [isMatch(JOB_NAME), 'the name of a job'],
  vessel: [isMatch(VESSEL_ID), 'IMO and seven digits'],
  date: [isDay, 'a date'],
};

export const RECEIPT: Shape = {
  receiptVersion: [oneOf(1), '1'],
  ...DAY,
  dataset: [oneOf('measurements', 'statistics', 'metadata'), 'a dataset'],
  epoch: [isCount, 'a number'],
  settingsHash: [isText, 'a hash'],
  proof: [oneOf('exact', 'at-least', 'unproven'), 'exact, at-least or unproven'],
  rows: [isCount, 'a number'],
  series: [isCount, 'a number'],
  firstTimestamp: [orNull(isMoment), 'an instant or null'],
  lastTimestamp: [orNull(isMoment), 'an instant or null'],
  object: [orNull(isPublished), 'key, sizeBytes, upload and parts, or null'],
  detail: [orNull(isObjectOf({ key: isText, sha256: isSha256 })), 'key and sha256, or null'],
  source: [orNull(isAsked), 'rows and askedAt, or null'],
  apiVersion: [oneOf(...API_VERSIONS), 'a version of the API'],
  formatVersion: [isCount, 'a number'],
  startedAt: [isMoment, 'an instant'],
  finishedAt: [isMoment, 'an instant'],
};

/** By time series id, rows of hour, count, first and last. */
const isCounts = isMapOf(
  isListOf((row) => {
    if (!Array.isArray(row) || row.length !== 4 || !row.every(Number.isSafeInteger)) return false;
    return row[0] >= 0 && row[0] < 24;
  }),
);

export const DETAIL: Shape = {
  ours: [isCounts, 'counts by series and hour'],
  source: [orNull(isCounts), 'counts by series and hour, or null'],
};

export const DETAIL_ADDED: Shape = { series: [isObject, 'names by series'] };

/** Members that older receipts do not have. */
export const RECEIPT_ADDED: Shape = {
  selectedSeries: [isCount, 'a number'],
  selectHash: [isText, 'a hash'],
  unmatchedExpressions: [isListOf(isCount), 'numbers'],
  unlisted: [isFlag, 'true or false'],
  table: [isObjectOf({ version: isCount }), 'a version'],
  sourceUrl: [isAddress, 'an address'],
  remark: [
    isObjectOf({
      ...{ kind: oneOf('fewer-series'), names: isListOf(isMessage), missing: isCount },
      ...{ since: isDay, comparedWith: isCompared },
    }),
    'kind fewer-series, missing, names, since and comparedWith',
  ],
  warnings: [
    isListOf(
      isObjectOf({
        ...{ kind: isText, series: isCount, names: isListOf(isMessage), digest: isText, since: isDay },
      }),
    ),
    'a list of kind, series, names, digest and since',
  ],
};

export const NOTE_FILE: Shape = {
  ...DAY,
  state: [
    oneOf(...(['failed', 'refused', 'waiting'] satisfies Note['state'][])),
    'failed, refused or waiting',
  ],
  code: [isText, 'a word'],
  message: [isMessage, 'a text'],
  at: [isText, 'an instant'],
  totalsSha256: [isSha256, 'a SHA-256'],
  waiting: [
    isObjectOf({
      ...{ firstSeenAt: isText, publishedFrom: isText },
      ...{ selectedSeries: isCount, comparedWith: isCompared },
    }),
    'firstSeenAt, publishedFrom, selectedSeries and comparedWith',
  ],
};

export const CLAIM_FILE: Shape = {
  epoch: [isCount, 'a number'],
  attempt: [isText, 'a text'],
  owner: [isObjectOf({ host: isText, pid: isCount }), 'host and pid'],
  settingsHash: [isText, 'a hash'],
  heartbeatMs: [isInstantMs, 'milliseconds since 1970'],
  checkpoint: [orNull(isObject), 'an object or null'],
  sealed: [orNull(isObject), 'an object or null'],
  fencedBy: [isCount, 'a number'],
};

export const LAKE_FILE: Shape = {
  layout: [oneOf(...LAYOUTS), LAYOUTS.join(' or ')],
  converting: [isObjectOf({ to: oneOf('delta'), by: isText }), 'to and by'],
  sources: [isMapOf(isAddress), 'addresses by job'],
  madeUp: [isFlag, 'true or false'],
};

export const ACCEPTANCE_FILE: Shape = {
  series: [isCount, 'a number'],
  at: [isText, 'an instant'],
  selectHash: [isText, 'a hash'],
  warnings: [isMapOf(isText), 'a digest by kind'],
};

export const SELECT_ACCEPTANCE_FILE: Shape = {
  selectHash: [isText, 'a hash'],
  at: [isText, 'an instant'],
};

export const BACKFILL_FILE: Shape = {
  id: [isText, 'a text'],
  job: DAY.job!,
  from: [isDay, 'a date'],
  to: [isDay, 'a date'],
  vessels: [isListOf(isMatch(VESSEL_ID)), 'a list of IMO and seven digits'],
  allowShrink: [isFlag, 'true or false'],
  paused: [isFlag, 'true or false'],
  createdAt: [isText, 'an instant'],
};

export const REGULAR_RUNS_FILE: Shape = { from: [isDay, 'a date'] };

/** Faults of the members that a file has; with `whole` also missing members. */
export function shapeFaults(value: Fields, shape: Shape, whole: boolean) {
  const faults: { readonly found: string; readonly expected: string }[] = [];
  for (const name in shape) {
    const [isRight, what] = shape[name]!;
    if ((whole || value[name] !== undefined) && !isRight(value[name]))
      faults.push({ found: `${name} ${shown(value[name])}`, expected: `${name}: ${what}` });
  }
  return faults;
}

/** Further conditions: the vessel-day, required members, and the error's code. */
interface Whole {
  readonly day?: VesselDay | undefined;
  readonly needed?: Shape;
  readonly code?: string;
}

/**
 * A file whose present members are valid, and name the vessel-day of its key. Throws DataError `damaged-file` (or `code`) that
 * names the key, what was found and what was expected.
 */
export function parseFile<T>(bytes: Uint8Array, key: string, shape: Shape, whole?: Whole): T {
  return checkedFile<T>(parseJson(bytes, key, whole?.code), key, shape, whole);
}

/** The file at a key, and its version; undefined if there is none. Throws as `parseFile`, and what the store throws. */
export async function readFile<T>(
  store: Pick<ObjectStore, 'get'>,
  key: string,
  shape: Shape,
  whole?: Whole,
): Promise<{ readonly file: T; readonly version: Version } | undefined> {
  const object = await store.get(key);
  return object && { file: parseFile<T>(object.bytes, key, shape, whole), version: object.version };
}

export function checkedFile<T>(
  value: unknown,
  key: string,
  shape: Shape,
  { day, needed = {}, code }: Whole = {},
): T {
  if (!isObject(value)) throw damagedFile(key, shown(value), 'an object', code);
  const [fault] = [...shapeFaults(value, needed, true), ...shapeFaults(value, shape, false)];
  if (fault !== undefined) throw damagedFile(key, fault.found, fault.expected, code);
  for (const [name, expected] of Object.entries(day ?? {}))
    if (value[name] !== undefined && value[name] !== expected)
      throw damagedFile(key, `${name} ${shown(value[name])}`, `${name}: ${expected}`, code);
  return value as T;
}

function damagedFile(key: string, found: string, expected: string, code = 'damaged-file'): DataError {
  return new DataError(
    code,
    `${key}: found ${found}, expected ${expected}; vessel-export did not write it like this: check it, then remove it and run again`,
  );
}

export function shown(value: unknown): string {
  return value === undefined ? 'missing' : shortName(JSON.stringify(value));
}
