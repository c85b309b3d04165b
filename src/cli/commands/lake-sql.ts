/** What `views` and `sql` begin with: a session on the lake's views, of the jobs that are meant. */
import { ConfigError } from '../../core/errors.ts';
import { readLayout } from '../../lake/lake-file.ts';
import type { LakeSession } from '../../query/sql/lake-session.ts';
import { openLakeSession } from '../../query/sql/lake-session.ts';
import { findSources } from '../../query/sql/lake-sources.ts';
import type { ViewedLake } from '../../query/views/dialect.ts';
import { pickJobs } from '../../runtime/config/config.ts';
import { paint, writeText } from '../terminal/screen.ts';
import type { CommandContext } from './context.ts';
import { openLake } from './open.ts';
import type { WideCommandOptions } from './wide-options.ts';
import { wideFromOptions } from './wide-options.ts';

export interface LakeSqlOptions extends WideCommandOptions {
  readonly job?: readonly string[];
  readonly fetchGb: number;
}

interface OpenedSession {
  readonly session: LakeSession;
  /** What there are objects of; of a lake without any, what its jobs will make. */
  readonly lake: ViewedLake;
  readonly wide: ReturnType<typeof wideFromOptions>;
  close(): Promise<void>;
}

/** What follows for a job without objects, as a warning says it; and for a lake of such jobs alone, or it is refused. */
interface OfEmpty {
  readonly ofJob: string;
  readonly ofLake: string | undefined;
}

/** Throws ConfigError for settings and options, and where the lake has no objects of the jobs. */
export async function openLakeSql(
  context: CommandContext,
  options: LakeSqlOptions,
  { ofJob, ofLake }: OfEmpty,
): Promise<OpenedSession> {
  const warn = (text: string) =>
    writeText(context.stderr, `${paint(context.stderr, 'yellow', 'warning:')} ${text}\n`);
  const wide = wideFromOptions(options, warn);
  const { job: names = [], fetchGb } = options;
  const opened = await openLake(context, [], false, {});
  try {
    const { store, config } = opened;
    const named = names.length === 0 ? [] : pickJobs(config, names);
    const layout = await readLayout(store);
    const { sources, emptySources, receiptJobs } = await findSources(store, opened.jobs, named);
    const isEmpty = sources.length === 0;
    if (isEmpty && (ofLake === undefined || emptySources.length === 0))
      throw new ConfigError(
        'empty-lake',
        `${store.url} has no objects of the jobs in ${config.settings.JOBS_DIR} (${opened.jobs.map(({ name }) => name).join(', ')}): look at LAKE_URL and JOBS_DIR, or run 'vessel-export run' first`,
      );
    if (isEmpty) warn(`${store.url} has no objects of any job yet: ${ofLake}`);
    else
      for (const { job } of emptySources) warn(`the lake has no objects of the job '${job}' yet: ${ofJob}`);
    const { TEMP_DIR: tempDir } = config.settings;
    const bounds = { tempDir, maxFetchBytes: fetchGb * 1e9 };
    const session = await openLakeSession(
      { store, layout, log: opened.log, sources, emptySources, receiptJobs, wide, ...bounds },
      context.signal,
    );
    const close = async () => {
      await session.close();
      await opened.close();
    };
    const jobs = opened.jobs.map(({ name }) => name);
    // The first export makes it what LAKE_LAYOUT says.
    const toBe = layout === 'plain' ? (config.settings.LAKE_LAYOUT ?? layout) : layout;
    const lake = isEmpty
      ? { ...session.lake, layout: toBe, sources: emptySources, receiptJobs: jobs }
      : session.lake;
    return { session, lake, wide, close };
  } catch (error) {
    await opened.close();
    throw error;
  }
}
