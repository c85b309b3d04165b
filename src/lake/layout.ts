/**
 * `_lake.json`: how a lake is read, written once, where there is nothing, by whoever exports into it first. A lake that
 * has content and no such file is older than it, and plain.
 *
 * Only `convert` changes it, twice: to say that the conversion has begun, and that it is over. So whoever exports into a
 * plain lake looks at it again, after its claim was put, unless its last look began less than LOOK_MS before that:
 * LOOK_MS after the conversion has said that it begins, every claim that could be put without knowing of it is there to
 * be seen, and no other comes. However long a process was stopped in between, its claim is followed by a look.
 */
import { ConfigError, FencedError, messageOf } from '../errors.ts';
import type { Clock, Layout } from '../model/index.ts';
import type { ObjectStore, Version } from '../store/store.ts';
import { readClaim } from './claims.ts';
import { jsonBytes, parseJson, unlessDamaged } from './json.ts';
import { keyPrefix, LAKE_KEY, logKeyPrefix, parseClaimKey, parseReceiptKey } from './keys.ts';
import { readReceipt } from './ledger.ts';
import { checkedFile, isObject, LAKE_FILE, shown } from './shapes.ts';

/** For so long a process may believe what it has read of a plain lake. */
export const LOOK_MS = 15_000;

export interface LakeFile {
  readonly lakeVersion: 1;
  readonly layout: Layout;
  /** While `convert` is at work: who, so that of two one knows that it is over. Nobody exports meanwhile. */
  readonly converting?: { readonly to: 'delta'; readonly by: string };
}

/** The lake's own file; undefined where there is none. Throws ConfigError `damaged-lake-file` or `unknown-lake-version`. */
export async function readLakeFile(
  store: Pick<ObjectStore, 'get'>,
): Promise<{ readonly file: LakeFile; readonly version: Version } | undefined> {
  const object = await store.get(LAKE_KEY);
  if (object === undefined) return undefined;
  const value = undamaged(() => parseJson(object.bytes, LAKE_KEY));
  if (isObject(value) && value.lakeVersion !== 1)
    throw new ConfigError(
      'unknown-lake-version',
      `${LAKE_KEY}: got lakeVersion ${shown(value.lakeVersion)}, expected 1; a newer vessel-export wrote it: use that one`,
    );
  // Of other files members may be missing, not of this one.
  const whole = isObject(value) ? { layout: null, ...value } : value;
  const file = undamaged(() => checkedFile<LakeFile>(whole, LAKE_KEY, LAKE_FILE));
  return { file, version: object.version };
}

/** It must not be removed, as other files of ours may: a lake without it is taken for a plain one. */
function undamaged<T>(reading: () => T): T {
  try {
    return reading();
  } catch (cause) {
    throw new ConfigError(
      'damaged-lake-file',
      `${LAKE_KEY}: it is not as vessel-export wrote it; put back {"lakeVersion":1,"layout":"delta"} where the folders of the jobs have a _delta_log, else {"lakeVersion":1,"layout":"plain"} (${messageOf(cause)})`,
      { cause },
    );
  }
}

/** How a lake is to be read: for those who only look. */
export async function readLayout(store: Pick<ObjectStore, 'get'>): Promise<Layout> {
  return (await readLakeFile(store))?.file.layout ?? 'plain';
}

/** What a process that exports knows of the layout of its lake. */
export interface LakeLayout {
  /**
   * Which it is; at a lake's first use it is written down. Throws ConfigError `lake-layout` where LAKE_LAYOUT says
   * otherwise, and FencedError `lake-converting` while the lake is converted.
   */
  settle(): Promise<Layout>;
  /** Throws what `settle` throws of a lake that says how it is read; writes nothing. */
  check(): Promise<void>;
  /** After a claim was put: throws what `settle` throws, and FencedError when the layout is not `expected` any more. */
  confirm(expected: Layout): Promise<void>;
}

interface LayoutOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  /** LAKE_LAYOUT; undefined: as the lake is, and plain for a new one. */
  readonly wanted: Layout | undefined;
}

export function createLakeLayout({ store, clock, wanted }: LayoutOptions): LakeLayout {
  let look: { readonly layout: Layout; readonly monotonicMs: number; readonly nowMs: number } | undefined;
  let looking: Promise<Layout> | undefined;

  /** By either clock: one of them stands still while the machine sleeps, the other can be set. */
  const isFresh = () =>
    look !== undefined &&
    (look.layout === 'delta' ||
      (clock.monotonicMs() - look.monotonicMs < LOOK_MS && Math.abs(clock.nowMs() - look.nowMs) < LOOK_MS));

  function expectUsable({ layout, converting }: LakeFile): void {
    if (converting !== undefined) throw isConverting();
    if (wanted !== undefined && wanted !== layout) throw otherLayout(store.url, wanted, layout);
  }

  async function lookAgain(): Promise<Layout> {
    const [monotonicMs, nowMs] = [clock.monotonicMs(), clock.nowMs()];
    const file = (await readLakeFile(store))?.file ?? (await writeFirst(store, wanted));
    expectUsable(file);
    const { layout } = file;
    look = { layout, monotonicMs, nowMs };
    return layout;
  }

  async function settle(): Promise<Layout> {
    // Vessel-days that begin together look once; an answer counts from when its question was asked.
    if (!isFresh()) await looking?.catch(() => {});
    if (look !== undefined && isFresh()) return look.layout;
    const own = lookAgain();
    looking = own;
    return await own;
  }

  return {
    settle,
    async check() {
      const found = await readLakeFile(store);
      if (found !== undefined) expectUsable(found.file);
    },
    async confirm(expected) {
      if ((await settle()) === expected) return;
      throw new FencedError('lake-converting', 'the lake has been converted meanwhile: run again');
    },
  };
}

/** The first use of a lake: of those who race for it one writes, and the others read what it wrote. */
async function writeFirst(store: ObjectStore, wanted: Layout | undefined): Promise<LakeFile> {
  const isOld = await hasContent(store);
  const layout = isOld ? 'plain' : (wanted ?? 'plain');
  if (isOld && wanted === 'delta') throw otherLayout(store.url, wanted, layout);
  const file: LakeFile = { lakeVersion: 1, layout };
  await store.putIfAbsent(LAKE_KEY, jsonBytes(file));
  return (await readLakeFile(store))?.file ?? file;
}

/**
 * Has anybody exported into it, or begun to, before there was `_lake.json`? Only what parses as a receipt or a claim
 * tells: anybody may have left a file there. Throws ConfigError `damaged-lake-file` where there is a table: then the
 * file was there, and is gone.
 */
export async function hasContent(store: ObjectStore): Promise<boolean> {
  const content = await findContent(store);
  // Whoever was first meanwhile had put the file before his claim.
  if (content === undefined || (await readLakeFile(store)) !== undefined) return false;
  if (content === 'table') throw isGone();
  return true;
}

async function findContent(store: ObjectStore): Promise<'table' | 'files' | undefined> {
  const jobs = new Set<string>();
  for (const kind of ['receipt', 'claim'] as const)
    for await (const listed of store.list(keyPrefix(kind))) {
      const claim = kind === 'claim' ? parseClaimKey(listed.key) : undefined;
      const day = claim?.day ?? parseReceiptKey(listed.key);
      if (day === undefined) continue;
      if (!jobs.has(day.job)) for await (const _ of store.list(logKeyPrefix(day.job))) return 'table';
      jobs.add(day.job);
      const found = claim
        ? (await readClaim(store, { ...listed, ...claim }))?.file
        : await unlessDamaged(readReceipt(store, day));
      if (found !== undefined) return 'files';
    }
  return undefined;
}

function isGone(): ConfigError {
  return new ConfigError(
    'damaged-lake-file',
    `${LAKE_KEY}: it is missing, and the jobs have tables; put back {"lakeVersion":1,"layout":"delta"}`,
  );
}

function isConverting(): FencedError {
  return new FencedError(
    'lake-converting',
    `${LAKE_KEY}: the lake is being converted; nothing is exported into it meanwhile. Wait, or, if the conversion has died, run 'vessel-export convert --to delta' again: it goes on where it was`,
  );
}

function otherLayout(url: string, wanted: Layout, layout: Layout): ConfigError {
  const advice =
    wanted === 'delta'
      ? "to make it a table run 'vessel-export convert --to delta'; to go on as it is set LAKE_LAYOUT=plain, or leave it out; or choose another LAKE_URL for a new lake"
      : 'set LAKE_LAYOUT=delta, or leave it out; or choose another LAKE_URL for a new lake';
  return new ConfigError(
    'lake-layout',
    `LAKE_LAYOUT is '${wanted}', and the lake at ${url} is '${layout}': ${advice}`,
  );
}
