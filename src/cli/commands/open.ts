/** What commands begin with: settings, the jobs that are named, a log, and the lake or all that an export needs. */
import type { AppOverrides } from '../../app.ts';
import { openApp } from '../../app.ts';
import { checkSources } from '../../lake/lake-source.ts';
import type { Config, LakeConfig } from '../../runtime/config/config.ts';
import { loadConfig, loadLakeConfig, pickJobs } from '../../runtime/config/config.ts';
import { openStore } from '../../store/open-store.ts';
import type { ObjectStore } from '../../store/store.ts';
import type { CommandContext } from './context.ts';
import { commandLog } from './context.ts';

type WriteLine = (line: string) => void;

/** The effective configuration. Throws ConfigError. */
export function readConfig({ env, envFile }: Pick<CommandContext, 'env' | 'envFile'>): Config {
  return loadConfig(env, undefined, envFile);
}

/** The same, for those who ask nothing of the service. */
export function readLakeConfig({ env, envFile }: Pick<CommandContext, 'env' | 'envFile'>): LakeConfig {
  return loadLakeConfig(env, undefined, envFile);
}

/** A configuration, the jobs of it that are named, and a log. `write` as in `commandLog`. Throws ConfigError. */
export function configure<C extends LakeConfig>(
  context: CommandContext,
  config: C,
  names: readonly string[],
  write?: WriteLine,
) {
  const log = commandLog(context, config.settings.LOG_LEVEL, write);
  return { config, jobs: pickJobs(config, names), log };
}

/** All that an export needs. */
export async function openExport(
  context: CommandContext,
  names: readonly string[],
  overrides: AppOverrides,
  write?: WriteLine,
) {
  const configured = configure(context, readConfig(context), names, write);
  return { ...configured, app: await openApp(configured.config, context.env, configured.log, overrides) };
}

/** The lake alone, which needs no credentials; with `asksService` a client of the query service too. */
export async function openLake(
  context: CommandContext,
  names: readonly string[],
  asksService: boolean,
  overrides: AppOverrides,
  write?: WriteLine,
) {
  if (asksService) {
    const { app, ...opened } = await openExport(context, names, { encoderThreads: 0, ...overrides }, write);
    return {
      ...opened,
      store: app.store,
      client: app.client,
      layout: app.ports.layout,
      close: () => app.close(),
    };
  }
  const configured = configure(context, readLakeConfig(context), names, write);
  const store = await openStore(configured.config.settings.LAKE_URL, context.env, configured.log);
  return { ...configured, store, client: undefined, layout: undefined, close: () => store.close() };
}

/**
 * For those who write into a lake and ask nothing of the service. Throws ConfigError `other-source` where QUERY_BASE_URL
 * is set, and the job is from elsewhere: it is another lake than was meant.
 */
export async function expectOwnLake(
  store: ObjectStore,
  { QUERY_BASE_URL: url }: LakeConfig['settings'],
  job: string,
): Promise<void> {
  await checkSources(store, url === undefined ? undefined : { url }, [job]);
}

export type OpenedLake = Awaited<ReturnType<typeof openLake>>;
