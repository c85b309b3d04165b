/**
 * Common parts of commands: opening settings, lake, app and queue, and printing a result.
 *
 * `--json` prints one object, `--ndjson` each item as a line as it comes, its `kind` first, and the summary last: without that line the output is incomplete.
 * A list that may have hundreds of thousands of items (STREAMED) comes first in the object and is written as it is made: if the command fails meanwhile,
 * the JSON is incomplete.
 */
import { once } from 'node:events';
import type { AppOverrides } from '../../app.ts';
import { endsWithin } from '../../core/concurrency.ts';
import { usageError } from '../../core/errors.ts';
import { cleanMessage, type Log, systemClock } from '../../core/model/index.ts';
import type { FleetNews } from '../../fleet/fleet-news.ts';
import { tellingRequests, tellOfRun } from '../../fleet/telling-requests.ts';
import { checkSources } from '../../lake/lake-file.ts';
import type { Config, LakeConfig } from '../../runtime/config/config.ts';
import { loadConfig, loadLakeConfig, pickJobs } from '../../runtime/config/config.ts';
import { openStore } from '../../store/open-store.ts';
import type { ObjectStore } from '../../store/store.ts';
import { createJsonPage, type Screen, writeText } from '../terminal/screen.ts';
import { type CommandContext, commandLog } from './context.ts';
import type { Item, Lists, ResultName, Summary } from './results.ts';
import { lineKind, RESULTS, SCHEMA_VERSION } from './results.ts';

export type { Command, CommandContext, Names } from './context.ts';
export { commandLog, EXIT_FAILED, EXIT_OK } from './context.ts';
export type { Item } from './results.ts';

type WriteLine = (line: string) => void;

export function readConfig({ env, envFile }: Pick<CommandContext, 'env' | 'envFile'>): Config {
  return loadConfig(env, undefined, envFile);
}

export function readLakeConfig({ env, envFile }: Pick<CommandContext, 'env' | 'envFile'>): LakeConfig {
  return loadLakeConfig(env, undefined, envFile);
}

/** The configuration, its jobs with the given names, and a log. `write` as in `commandLog`. Throws ConfigError. */
export function configure<C extends LakeConfig>(
  context: CommandContext,
  config: C,
  names: readonly string[],
  write?: WriteLine,
) {
  const log = commandLog(context, config.settings.LOG_LEVEL, write);
  return { config, jobs: pickJobs(config, names), log };
}

export async function openExport(
  context: CommandContext,
  names: readonly string[],
  overrides: AppOverrides,
  write?: WriteLine,
) {
  const configured = configure(context, readConfig(context), names, write);
  // Only commands that export load what an export needs.
  const { openApp } = await import('../../app.ts');
  const app = await openApp(configured.config, context.env, configured.log, overrides);
  return { ...configured, app, [Symbol.asyncDispose]: () => app.close() };
}

/** The same for an export in this process, which is reported to the fleet if there is Redis. */
export async function openToldExport(
  context: CommandContext,
  names: readonly string[],
  overrides: AppOverrides,
  write?: WriteLine,
) {
  let news: FleetNews | undefined;
  const telling = tellingRequests(overrides, () => news);
  const opened = await openExport(context, names, telling, write);
  const told = await tellOfRun(opened.app, opened.log);
  news = told;
  const close = async () => {
    await told?.leave();
    await opened.app.close();
  };
  return { ...opened, news, [Symbol.asyncDispose]: close };
}

/** Only the lake, which needs no credentials. */
export async function openLake(context: CommandContext, names: readonly string[] = [], write?: WriteLine) {
  const configured = configure(context, readLakeConfig(context), names, write);
  const store = await openStore(configured.config.settings.LAKE_URL, context.env, configured.log);
  return { ...configured, store, [Symbol.asyncDispose]: () => store.close() };
}

/** The lake, and with `asksService` also a client of the query service. */
export async function openLakeAndService(
  context: CommandContext,
  names: readonly string[],
  asksService: boolean,
  overrides: AppOverrides,
  write?: WriteLine,
) {
  const none = { client: undefined, layout: undefined };
  if (!asksService) return { ...(await openLake(context, names, write)), ...none };
  const opened = await openExport(context, names, { encoderThreads: 0, ...overrides }, write);
  const { store, client, ports } = opened.app;
  return { ...opened, store, client, layout: ports.layout };
}

export type OpenedLake = Awaited<ReturnType<typeof openLakeAndService>>;

/** App and queue; only commands that need them load their libraries. */
export async function openQueue(
  context: CommandContext,
  config: Config,
  overrides: AppOverrides,
  write?: WriteLine,
) {
  const { openFleet } = await import('../../fleet/fleet.ts');
  const log = commandLog(context, config.settings.LOG_LEVEL, write);
  const fleet = await openFleet(config, context.env, log, overrides);
  return { ...fleet, log, [Symbol.asyncDispose]: () => fleet.close() };
}

/** For commands that write without the service. Throws ConfigError `other-source` if QUERY_BASE_URL is not the job's source. */
export async function expectOwnLake(
  store: ObjectStore,
  { QUERY_BASE_URL: url }: LakeConfig['settings'],
  job: string,
): Promise<void> {
  await checkSources(store, url === undefined ? undefined : { url }, [job]);
}

/** Waits for the signal, then for `close`, with a time limit for requests that are still being answered. */
export async function untilStopped(
  signal: AbortSignal,
  log: Log,
  close: () => Promise<unknown>,
  lateText = 'some answers did not end; the process ends without them',
): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
  if (!(await endsWithin(close(), STOP_MS, systemClock))) log.warn({ afterMs: STOP_MS }, lateText);
}
const STOP_MS = 4_000;

export interface OutputOptions {
  readonly json?: boolean;
  readonly ndjson?: boolean;
}

export type JsonOption = Pick<OutputOptions, 'json'>;

export interface Output<K extends ResultName> {
  /** The output is text for people, so items are not printed as JSON. */
  readonly isText: boolean;
  add<L extends keyof Lists<K>>(list: L, item: Item<K, L>): void;
  /** If it returns a promise, loops that add many items wait for it: otherwise unread output fills the memory. */
  taken(): Promise<void> | undefined;
  /** Call it once, after the last item. `text` is for people. */
  end(summary: Summary<K>, text?: () => string): void;
}

/** The one of these options that is given, if any. Throws ConfigError `usage` if several are. */
export function expectOne<N extends string>(
  options: { readonly [name in N]?: unknown },
  names: readonly N[],
) {
  const [given, other] = names.filter((name) => options[name] !== undefined && options[name] !== false);
  if (other !== undefined)
    throw usageError(`--${other}: given together with --${given}, expected one of them`);
  return given;
}

/** Lists that are written as they are made. */
const STREAMED: Partial<Record<ResultName, string>> = { status: 'days' };

/** The output in the form of the options. It holds items only for `--json`, and not those of a streamed list. Throws ConfigError `usage`. */
export function openOutput<K extends ResultName>(screen: Screen, name: K, options: OutputOptions): Output<K> {
  const { json = false, ndjson = false } = options;
  expectOne(options, ['json', 'ndjson']);
  const lists: Record<string, unknown[]> = {};
  for (const list of Object.keys(RESULTS[name].lists)) lists[list] = [];
  const streamed = STREAMED[name];
  const page = createJsonPage(screen, streamed !== undefined);
  let isBegun = false;
  const stream = (item: unknown) => {
    page.between(isBegun ? ',\n    ' : `{\n  "${streamed}": [\n    `);
    page.value(item);
    isBegun = true;
  };
  const endObject = (summary: object) => {
    if (!isBegun) return page.line({ ...summary, ...lists }, 2);
    delete lists[streamed!];
    page.between('\n  ],');
    page.rest({ ...summary, ...lists }, 2);
  };
  const isText = !json && !ndjson;
  return {
    isText,
    add(list, item) {
      if (isText) return;
      const shown = typeof item === 'object' ? withBoundedTexts(item as object) : item;
      if (ndjson) page.line({ kind: lineKind(list as string), ...(shown as object) });
      else if (list === streamed) stream(shown);
      else lists[list as string]!.push(shown);
    },
    taken: () => screen.taken?.(),
    end(summary, text) {
      const versioned = { schemaVersion: SCHEMA_VERSION, ...summary };
      if (ndjson) page.line({ kind: 'summary', ...versioned });
      else if (json) endObject(versioned);
      else if (text !== undefined) writeText(screen, text());
      page.end();
    },
  };
}

/** Members with text for people: cleaned and bounded, while all others are exact. */
const TEXTS: readonly string[] = ['message', 'found', 'expected', 'next', 'warning'];

function withBoundedTexts(item: object): object {
  // Most items have none, and there may be hundreds of thousands.
  if (!TEXTS.some((name) => Object.hasOwn(item, name))) return item;
  const bounded = ([name, value]: [string, unknown]) => [
    name,
    TEXTS.includes(name) && typeof value === 'string' ? cleanMessage(value) : value,
  ];
  return Object.fromEntries(Object.entries(item).map(bounded));
}
