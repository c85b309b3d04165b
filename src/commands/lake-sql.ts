/** What `views` and `sql` begin with: a session on the lake's views, of the jobs that are meant. */
import { pickJobs } from '../config/config.ts';
import { ConfigError } from '../errors.ts';
import { readLayout } from '../lake/layout.ts';
import type { LakeSession } from '../sql/lake-session.ts';
import { openLakeSession } from '../sql/lake-session.ts';
import { findSources } from '../sql/lake-sources.ts';
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
  readonly wide: ReturnType<typeof wideFromOptions>;
  close(): Promise<void>;
}

/** Throws ConfigError for settings and options, and where the lake has no objects of the jobs. */
export async function openLakeSql(context: CommandContext, options: LakeSqlOptions): Promise<OpenedSession> {
  const warn = (text: string) =>
    writeText(context.stderr, `${paint(context.stderr, 'yellow', 'warning:')} ${text}\n`);
  const wide = wideFromOptions(options, warn);
  const { job: names = [], fetchGb } = options;
  const opened = await openLake(context, [], false, {});
  try {
    const { store, config } = opened;
    const named = names.length === 0 ? [] : pickJobs(config, names);
    const layout = await readLayout(store);
    const { sources, receiptJobs, empty } = await findSources(store, opened.jobs, named);
    for (const job of empty) warn(`the lake has no objects of the job '${job.name}' yet: no view of it`);
    if (sources.length === 0)
      throw new ConfigError(
        'empty-lake',
        `${store.url} has no objects of the jobs in ${config.settings.JOBS_DIR} (${opened.jobs.map(({ name }) => name).join(', ')}): look at LAKE_URL and JOBS_DIR, or run 'vessel-export run' first`,
      );
    const { TEMP_DIR: tempDir } = config.settings;
    const bounds = { tempDir, maxFetchBytes: fetchGb * 1e9 };
    const session = await openLakeSession(
      { store, layout, log: opened.log, sources, receiptJobs, wide, ...bounds },
      context.signal,
    );
    const close = async () => {
      await session.close();
      await opened.close();
    };
    return { session, wide, close };
  } catch (error) {
    await opened.close();
    throw error;
  }
}
