/** What `vessels` and `series` have in common: where they ask, and what they print. */
import type { AppOverrides } from '../../app.ts';
import { openClient } from '../../app.ts';
import { ConfigError } from '../../core/errors.ts';
import type { Clock, Job } from '../../core/model/index.ts';
import { microsToIso, systemClock } from '../../core/model/index.ts';
import type { CataloguePorts } from '../../query/catalogue/from-service.ts';
import { loadServiceConfig } from '../../runtime/config/config.ts';
import { openStore } from '../../store/open-store.ts';
import { csvLine } from '../terminal/csv.ts';
import type { Screen } from '../terminal/screen.ts';
import { writeLines } from '../terminal/screen.ts';
import type { CommandContext } from './context.ts';
import { commandLog } from './context.ts';
import { configure, readLakeConfig } from './open.ts';

export interface CatalogueCommandOptions {
  /** Ask the lake alone. */
  readonly lake?: boolean;
  /** Days before now in which a last reading is looked for; 0: none is. */
  readonly days: number;
  readonly json?: boolean;
  readonly csv?: boolean;
}

interface Catalogue<T> {
  fromService(ports: CataloguePorts, jobs: readonly Job[]): Promise<T>;
  fromLake(
    ports: Pick<CataloguePorts, 'clock' | 'log'> & { readonly store: Awaited<ReturnType<typeof openStore>> },
    jobs: readonly Job[],
  ): Promise<T>;
}

/** Ask the service, or the lake. Throws ConfigError, and what the two throw. */
export async function askCatalogue<T>(
  context: CommandContext,
  options: CatalogueCommandOptions,
  overrides: AppOverrides,
  catalogue: Catalogue<T>,
): Promise<T> {
  const clock: Clock = overrides.clock ?? systemClock;
  if (options.lake === true) {
    const { config, jobs, log } = configure(context, readLakeConfig(context), []);
    const store = await openStore(config.settings.LAKE_URL, context.env, log);
    try {
      return await catalogue.fromLake({ store, clock, log }, jobs);
    } finally {
      await store.close();
    }
  }
  const config = loadServiceConfig(context.env, context.envFile);
  const { settings, jobs, jobFaults } = config;
  const log = commandLog(context, settings.LOG_LEVEL);
  // Whoever writes a first job wants to know what it may select.
  for (const fault of jobFaults) log.warn({}, `the jobs that are left out: ${fault}`);
  const { client, close } = await openClient(config, context.env, log, overrides);
  try {
    const { QUERY_MAX_CONCURRENCY: concurrency } = settings;
    return await catalogue.fromService({ client, clock, log, concurrency, signal: context.signal }, jobs);
  } finally {
    await close();
  }
}

/** Throws ConfigError `usage` where more than one form of output is asked for. */
export function checkForms({ json, csv }: CatalogueCommandOptions): void {
  if (json === true && csv === true)
    throw new ConfigError('usage', '--csv: given together with --json, expected one of them');
}

export function writeCsv(
  screen: Screen,
  head: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): void {
  writeLines(screen, `${[head, ...rows].map(csvLine).join('\n')}\n`);
}

export function isoOrNull(micros: number | null): string | null {
  return micros === null ? null : microsToIso(micros);
}
