/**
 * What a process that exports believes of its lake: `_lake.json`, written where there is nothing by whoever exports into
 * it first, and again by the first export of each job, which adds where that job is copied from. A lake that has content
 * and no such file is older than it, and plain.
 *
 * `convert` changes it twice: to say that the conversion has begun, and that it is over. So whoever exports looks at it
 * again, after its claim was put, unless its last look began less than LOOK_MS before that: LOOK_MS after the conversion
 * has said that it begins, every claim that could be put without knowing of it is there to be seen, and no other comes.
 * However long a process was stopped in between, its claim is followed by a look.
 */
import { ConfigError, FencedError } from '../core/errors.ts';
import type { Clock, Layout, Log } from '../core/model/index.ts';
import { expectConditionalPut, type ObjectStore, UNFIT } from '../store/store.ts';
import { jsonBytes } from './json.ts';
import { LAKE_KEY } from './keys.ts';
import type { LakeFile, LakeSource } from './lake-file.ts';
import {
  checkSources,
  expectSource,
  hasContent,
  isConverting,
  readLakeFile,
  withSource,
} from './lake-file.ts';

/** For so long a process may believe what it has read. */
export const LOOK_MS = 15_000;

export type LakeLayout = ReturnType<typeof createLakeLayout>;

interface LayoutOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  /** LAKE_LAYOUT; undefined: as the lake is, and plain for a new one. */
  readonly wanted: Layout | undefined;
  readonly source: LakeSource;
  /** Others export into it at the same time. */
  readonly isShared: boolean;
}

export function createLakeLayout(options: LayoutOptions) {
  const { store, clock, log, wanted, source, isShared } = options;
  let look: { readonly file: LakeFile; readonly monotonicMs: number; readonly nowMs: number } | undefined;
  let looking: Promise<LakeFile> | undefined;
  let isWarned = false;

  /** What is believed; by either clock: one of them stands still while the machine sleeps, the other can be set. */
  function believed(job: string | undefined): LakeFile | undefined {
    if (look === undefined || clock.monotonicMs() - look.monotonicMs >= LOOK_MS) return undefined;
    if (Math.abs(clock.nowMs() - look.nowMs) >= LOOK_MS) return undefined;
    return job === undefined || withSource(look.file, source, job) === look.file ? look.file : undefined;
  }

  function expectUsable({ layout, converting }: LakeFile): void {
    if (converting !== undefined) throw isConverting();
    if (wanted !== undefined && wanted !== layout) throw otherLayout(store.url, wanted, layout);
  }

  async function expectFit(layout: Layout): Promise<void> {
    if (isShared) await expectConditionalPut(store, 'a fleet (schedule, worker, backfill)');
    if (layout === 'delta') await expectConditionalPut(store, 'a table (LAKE_LAYOUT=delta)');
    if (isWarned || (await store.capabilities()).conditionalPut) return;
    isWarned = true;
    log.warn({ lake: store.url }, UNFIT);
  }

  async function lookAgain(job: string | undefined): Promise<LakeFile> {
    for (;;) {
      const [monotonicMs, nowMs] = [clock.monotonicMs(), clock.nowMs()];
      const found = await readLakeFile(store);
      const file = found?.file ?? (await firstFile(options));
      expectUsable(file);
      if (job !== undefined) expectSource(store.url, file, source, job);
      await expectFit(file.layout);
      const named = job === undefined ? file : withSource(file, source, job);
      const isWritten = found !== undefined && named === file;
      // One of those who race writes, and the others read what it wrote.
      if (!isWritten && !(await store.putIf(LAKE_KEY, jsonBytes(named), found?.version ?? null))) continue;
      look = { file: named, monotonicMs, nowMs };
      return named;
    }
  }

  /**
   * How it is read; at a lake's first use it is written down, and at that of a job where the job is copied from. Throws
   * FencedError `lake-converting` while the lake is converted, and ConfigError: `lake-layout` where LAKE_LAYOUT says
   * otherwise, `other-source` where the job is from another service, `unfit-store` where the store is none for a table
   * or a fleet.
   */
  async function settle(job?: string): Promise<Layout> {
    // Vessel-days that begin together look once; an answer counts from when its question was asked.
    if (believed(job) === undefined && looking !== undefined) await looking.catch(() => {});
    let file = believed(job);
    if (file === undefined) {
      const own = lookAgain(job).finally(() => {
        if (looking === own) looking = undefined;
      });
      looking = own;
      file = await own;
    }
    if (job !== undefined) expectSource(store.url, file, source, job);
    return file.layout;
  }

  return {
    settle,
    /** Throws what `settle` throws of these jobs in a lake that says how it is read; writes nothing into it. */
    async check(jobs: readonly string[]): Promise<void> {
      const file = await checkSources(store, source, jobs);
      if (file !== undefined) expectUsable(file);
      const layout = file?.layout ?? wanted ?? 'plain';
      if (isShared || layout === 'delta') await expectFit(layout);
    },
    /** Throws ConfigError `other-source`: for those who compare with the service, and export nothing. */
    async checkSource(jobs: readonly string[]): Promise<void> {
      await checkSources(store, source, jobs);
    },
    /** After a claim was put: throws what `settle` throws, and FencedError when the layout is not `expected` any more. */
    async confirm(expected: Layout, job: string): Promise<void> {
      if ((await settle(job)) === expected) return;
      throw new FencedError('lake-converting', 'the lake has been converted meanwhile: run again');
    },
  };
}

async function firstFile({ store, wanted, source }: LayoutOptions): Promise<LakeFile> {
  if (await hasContent(store)) return { lakeVersion: 1, layout: 'plain' };
  return { lakeVersion: 1, layout: wanted ?? 'plain', ...(source.isMadeUp && { madeUp: true }) };
}

function otherLayout(url: string, wanted: Layout, layout: Layout): ConfigError {
  const advice =
    wanted === 'delta'
      ? "to convert it to tables run 'vessel-export convert --to delta'; to keep it as it is set LAKE_LAYOUT=plain, or leave it out; or choose another LAKE_URL for a new lake"
      : 'set LAKE_LAYOUT=delta, or leave it out; or choose another LAKE_URL for a new lake';
  return new ConfigError(
    'lake-layout',
    `LAKE_LAYOUT is '${wanted}', and the lake at ${url} is '${layout}': ${advice}`,
  );
}
