/**
 * `_lake.json`: how a lake is read, written once, where there is nothing, by whoever exports into it first. A lake that
 * has content and no such file is older than it, and plain.
 *
 * Only `convert` changes it, twice: to say that the conversion has begun, and that it is over. So whoever exports into a
 * plain lake looks at it again, after its claim was put, unless its last look began less than LOOK_MS before that:
 * LOOK_MS after the conversion has said that it begins, every claim that could be put without knowing of it is there to
 * be seen, and no other comes. However long a process was stopped in between, its claim is followed by a look.
 */
import { ConfigError, FencedError } from '../errors.ts';
import type { Clock, Layout } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { jsonBytes } from './json.ts';
import { LAKE_KEY } from './keys.ts';
import type { LakeFile } from './lake-file.ts';
import { hasContent, readLakeFile } from './lake-file.ts';

/** For so long a process may believe what it has read of a plain lake. */
export const LOOK_MS = 15_000;

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
