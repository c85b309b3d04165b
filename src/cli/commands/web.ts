/** `web`: serve the page from a lake alone, until interrupted. */
import { ConfigError } from '../../core/errors.ts';
import { systemClock } from '../../core/model/index.ts';
import { maskUrl } from '../../core/model/web-address.ts';
import { thisProcess } from '../../core/process/process-id.ts';
import { readVersion } from '../../core/version.ts';
import { readLakeFile } from '../../lake/lake-file.ts';
import { startOperationsServer } from '../../runtime/monitoring/http-server.ts';
import type { ObjectStore } from '../../store/store.ts';
import { createLazyPage } from '../../web/lazy-page.ts';
import { closedBecause } from '../../web/sign-in/guard.ts';
import { writeLines } from '../terminal/screen.ts';
import { type CommandContext, EXIT_OK, openLake, untilStopped } from './command.ts';
import { webAccess } from './page.ts';

interface WebOptions {
  readonly host?: string;
  readonly port?: number;
}

/** Prints the page's address once it listens. Throws ConfigError `no-lake`, `cannot-listen`, or `page-closed` if no user could read the page. */
export async function webCommand(given: CommandContext, { host, port }: WebOptions): Promise<number> {
  const listening = {
    ...(host !== undefined && { HTTP_HOST: host }),
    ...(port !== undefined && { HTTP_PORT: String(port) }),
  };
  const context = { ...given, env: { ...given.env, ...listening } };
  await using lake = await openLake(context);
  const { config, jobs, log, store } = lake;
  const { settings } = config;
  const access = webAccess(settings);
  const closed = closedBecause(access);
  if (closed !== undefined) throw new ConfigError('page-closed', closed);
  await expectLake(store, settings.LAKE_URL);
  const page = createLazyPage(() => ({ ...webAccess(config.current(log)), host: access.host }), log, {
    ...{ store, jobs, clock: systemClock, log, self: thisProcess() },
    ...{ apiVersion: settings.QUERY_API_VERSION, version: readVersion() },
  });
  const server = await startOperationsServer({
    ...{ host: settings.HTTP_HOST, port: settings.HTTP_PORT, isPortFixed: true },
    ...{ log, page: page.answer, unready: async () => undefined, isProxy: access.isProxy },
  });
  const { signal } = given;
  writeLines(given.stdout, `${server.url}\n`);
  await untilStopped(signal, log, () => server.close().then(() => page.close()));
  return EXIT_OK;
}

/** Throws ConfigError `no-lake` if there is nothing: LAKE_URL is probably wrong. */
async function expectLake(store: ObjectStore, lakeUrl: string): Promise<void> {
  if ((await readLakeFile(store)) !== undefined) return;
  // Older lakes have no such file.
  for await (const _ of store.list('')) return;
  throw new ConfigError(
    'no-lake',
    `there is no lake at LAKE_URL '${maskUrl(lakeUrl, true)}': nothing is there yet; export something first, or set LAKE_URL`,
  );
}
