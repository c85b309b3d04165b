/** `gc`: what unfinished exports left behind. Shows it; removes it only with `--yes`. */
import { systemClock } from '../../core/model/index.ts';
import { thisProcess } from '../../core/process/process-id.ts';
import { findGarbage, type GarbageItem } from '../../lake/upkeep/garbage.ts';
import { findDeadTemps } from '../../store/local/temps.ts';
import { parseLakeUrl } from '../../store/open-store.ts';
import { formatTable } from '../terminal/format.ts';
import { writeText } from '../terminal/screen.ts';
import { type Command, EXIT_OK, type Item, type JsonOption, openLake, openOutput } from './command.ts';

type GcOptions = JsonOption & { readonly yes?: boolean };
type ShownItem = Item<'gc', 'items'>;

export const gcCommand: Command<[GcOptions]> = async (context, options, { clock = systemClock } = {}) => {
  const output = openOutput(context.stdout, 'gc', options);
  await using lake = await openLake(context);
  const items: ShownItem[] = [];
  const show = async (found: AsyncIterable<Settleable>) => {
    for await (const item of found) {
      context.signal.throwIfAborted();
      const { kind, key, why: message } = item;
      items.push({ kind, key, state: await settle(item, options), message });
      output.add('items', items.at(-1)!);
    }
  };
  let isWhole = false;
  try {
    await show(findGarbage({ store: lake.store, clock, self: thisProcess() }));
    await show(tempItems(lake.config.settings.LAKE_URL));
    isWhole = true;
  } finally {
    if (output.isText && (isWhole || items.length > 0))
      writeText(context.stdout, describeItems(items, options, isWhole));
  }
  output.end({});
  return EXIT_OK;
};

type Settleable = Pick<GarbageItem, 'key' | 'why' | 'keep' | 'remove'> & Pick<ShownItem, 'kind'>;

async function* tempItems(lakeUrl: string): AsyncGenerator<Settleable> {
  const location = parseLakeUrl(lakeUrl);
  if (location.kind !== 'local') return;
  for await (const { fileKey, remove } of findDeadTemps(location.rootDir))
    yield { kind: 'temp-file', key: fileKey, why: 'its writer is dead', keep: false, remove };
}

async function settle(item: Settleable, options: GcOptions): Promise<ShownItem['state']> {
  if (item.keep) return 'kept';
  if (options.yes !== true) return 'would-be-removed';
  return (await item.remove()) ? 'removed' : 'in-use';
}

function describeItems(items: readonly ShownItem[], options: GcOptions, isWhole: boolean): string {
  const count = (state: ShownItem['state']) => items.filter((item) => item.state === state).length;
  const rows = items.map((item) => [
    ...[item.state.replaceAll('-', ' '), item.kind.replace('-', ' '), item.key, item.message],
  ]);
  const table = rows.length === 0 ? '' : `${formatTable([['', 'what', 'where', 'why'], ...rows])}\n\n`;
  const left = count('would-be-removed');
  const removed = options.yes === true ? `${count('removed')} removed` : `${left} to remove`;
  const hint = options.yes === true || left === 0 ? '' : '; --yes removes them';
  return `${table}${removed}, ${count('kept') + count('in-use')} kept${hint}${isWhole ? '' : '; not all was looked at'}\n`;
}
