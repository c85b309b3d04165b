/** `gc`: what unfinished exports left behind. Shows it; removes it only with `--yes`. */
import { loadLakeConfig } from '../config/config.ts';
import type { Clock } from '../model/index.ts';
import { systemClock } from '../model/index.ts';
import type { GarbageItem } from '../publish/garbage.ts';
import { findGarbage } from '../publish/garbage.ts';
import { thisProcess } from '../publish/process-id.ts';
import { findDeadTemps } from '../store/local-temps.ts';
import { openStore, parseLakeUrl } from '../store/open-store.ts';
import { formatTable } from '../terminal/format.ts';
import type { CommandContext } from './context.ts';
import { EXIT_OK } from './context.ts';

export interface GcOptions {
  readonly yes?: boolean;
  readonly json?: boolean;
}

type ShownItem = Pick<GarbageItem, 'key' | 'why'> & {
  readonly kind: GarbageItem['kind'] | 'temp file';
  readonly done: 'removed' | 'would be removed' | 'kept' | 'in use by now';
};

/** Find and, with `yes`, remove garbage; the exit code. `overrides` are for tests. */
export async function gcCommand(
  context: CommandContext,
  options: GcOptions,
  overrides: { readonly clock?: Clock } = {},
): Promise<number> {
  const { settings } = loadLakeConfig(context.env);
  const clock = overrides.clock ?? systemClock;
  const store = await openStore(settings.LAKE_URL, context.env);
  const items: ShownItem[] = [];
  try {
    for await (const item of findGarbage({ store, clock, self: thisProcess() })) {
      context.signal.throwIfAborted();
      items.push({ kind: item.kind, key: item.key, why: item.why, done: await settle(item, options) });
    }
    for await (const item of tempItems(settings.LAKE_URL)) {
      context.signal.throwIfAborted();
      items.push({ kind: item.kind, key: item.key, why: item.why, done: await settle(item, options) });
    }
  } finally {
    await store.close();
    if (options.json !== true) context.stdout.write(describeItems(items, options));
  }
  if (options.json === true) context.stdout.write(`${JSON.stringify({ items }, null, 2)}\n`);
  return EXIT_OK;
}

type Settleable = Pick<GarbageItem, 'key' | 'why' | 'keep' | 'remove'> & { readonly kind: ShownItem['kind'] };

async function* tempItems(lakeUrl: string): AsyncGenerator<Settleable> {
  const location = parseLakeUrl(lakeUrl);
  if (location.kind !== 'local') return;
  for await (const { fileKey, remove } of findDeadTemps(location.rootDir))
    yield { kind: 'temp file', key: fileKey, why: 'its writer is dead', keep: false, remove };
}

async function settle(item: Settleable, options: GcOptions): Promise<ShownItem['done']> {
  if (item.keep) return 'kept';
  if (options.yes !== true) return 'would be removed';
  return (await item.remove()) ? 'removed' : 'in use by now';
}

function describeItems(items: readonly ShownItem[], options: GcOptions): string {
  const count = (done: ShownItem['done']) => items.filter((item) => item.done === done).length;
  const rows = items.map(({ kind, key, why, done }) => [done, kind, key, why]);
  const table = rows.length === 0 ? '' : `${formatTable([['', 'what', 'where', 'why'], ...rows])}\n\n`;
  const removed =
    options.yes === true ? `${count('removed')} removed` : `${count('would be removed')} to remove`;
  const hint = options.yes === true || count('would be removed') === 0 ? '' : '; --yes removes them';
  return `${table}${removed}, ${count('kept') + count('in use by now')} kept${hint}\n`;
}
