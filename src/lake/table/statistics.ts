/** A file's statistics from its footer, by which readers skip it: a bound that is not exact is left out, for it loses rows. */

import { hash } from 'node:crypto';
import type { ColumnChunk, FileMetaData } from 'hyparquet';
import { expectFooter, parseFooter } from './file-footer.ts';
import type { TableView } from './table-view.ts';

/** Longer texts tell readers no more, and are in the way in every entry. */
const MAX_TEXT_BYTES = 128;
const MICROS_PER_MILLI = 1_000n;

interface ColumnStatistics {
  nulls: bigint;
  /** JSON texts; undefined where a row group has none, or none of use. */
  bounds: { min: Bound; max: Bound } | undefined;
}

type Bound = bigint | number | Uint8Array;
type Kind = 'long' | 'double' | 'timestamp' | 'text' | 'other';

/** `stats` of a file, as JSON text, from bytes that end with its footer. Throws DataError `damaged-file` naming `key`. */
export function fileStatistics(footer: Uint8Array, key: string): string {
  return statisticsText(expectFooter(parseFooter(footer), key));
}

/**
 * The same from a footer that is read: bounds of texts as bytes, and of timestamps in microseconds. The same footer gives
 * the same text for ever: verify compares.
 */
export function statisticsText({ schema, row_groups: groups, num_rows: rows }: FileMetaData): string {
  const names = schema.slice(1).map(({ name }) => name);
  const [mins, maxs, nulls]: [string[], string[], string[]] = [[], [], []];
  for (const [index, name] of names.entries()) {
    const kind = kindOf(schema[index + 1]!);
    const known = columnStatistics(
      groups.map((group) => group.columns[index]!),
      kind,
    );
    if (known === undefined) continue;
    const member = (text: string) => `${JSON.stringify(name)}:${text}`;
    nulls.push(member(String(known.nulls)));
    const texts = known.bounds && boundTexts(known.bounds, kind);
    if (texts === undefined) continue;
    mins.push(member(texts.min));
    maxs.push(member(texts.max));
  }
  return `{"numRecords":${rows},"minValues":{${mins}},"maxValues":{${maxs}},"nullCount":{${nulls}}}`;
}

function kindOf({ type, logical_type: logical }: FileMetaData['schema'][number]): Kind {
  if (logical?.type === 'TIMESTAMP') return logical.unit === 'MICROS' ? 'timestamp' : 'other';
  if (logical?.type === 'STRING') return 'text';
  if (type === 'DOUBLE') return 'double';
  return type === 'INT64' && logical === undefined ? 'long' : 'other';
}

/** Statistics over all row groups; undefined where one does not count its nulls. */
function columnStatistics(chunks: readonly ColumnChunk[], kind: Kind): ColumnStatistics | undefined {
  const column: ColumnStatistics = { nulls: 0n, bounds: undefined };
  let isBounded = true;
  for (const { meta_data: meta } of chunks) {
    const { null_count: nulls, min_value: min, max_value: max } = meta?.statistics ?? {};
    if (meta === undefined || typeof nulls !== 'bigint') return undefined;
    column.nulls += nulls;
    // A row group of nulls has nothing to bound.
    if (nulls === meta.num_values) continue;
    if (!isBound(min, kind) || !isBound(max, kind)) isBounded = false;
    else
      column.bounds = {
        min: column.bounds === undefined || isLess(min, column.bounds.min) ? min : column.bounds.min,
        max: column.bounds === undefined || isLess(column.bounds.max, max) ? max : column.bounds.max,
      };
  }
  return isBounded ? column : { nulls: column.nulls, bounds: undefined };
}

function isBound(value: unknown, kind: Kind): value is Bound {
  if (kind === 'double') return typeof value === 'number' && Number.isFinite(value);
  if (kind === 'text') return value instanceof Uint8Array && value.length <= MAX_TEXT_BYTES;
  return kind !== 'other' && typeof value === 'bigint';
}

/** Texts by their bytes, as readers compare them. */
function isLess(a: Bound, b: Bound): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) < 0;
  return a < b;
}

function boundTexts({ min, max }: { min: Bound; max: Bound }, kind: Kind): { min: string; max: string } {
  if (kind === 'timestamp')
    return { min: millisText(min as bigint, 0n), max: millisText(max as bigint, MICROS_PER_MILLI - 1n) };
  if (kind === 'text') return { min: textOf(min as Uint8Array), max: textOf(max as Uint8Array) };
  if (kind === 'long') return { min: String(min), max: String(max) };
  // Zeros of either sign are equal, and -0 is less to readers that order by bits.
  return {
    min: min === 0 ? '-0.0' : JSON.stringify(min),
    max: max === 0 ? '0.0' : JSON.stringify(max),
  };
}

/** Rounded down after `plusMicros`: readers know milliseconds, and bounds may only be too wide. */
function millisText(micros: bigint, plusMicros: bigint): string {
  const sum = micros + plusMicros;
  const millis = sum / MICROS_PER_MILLI - (sum % MICROS_PER_MILLI < 0n ? 1n : 0n);
  return JSON.stringify(new Date(Number(millis)).toISOString());
}

function textOf(bytes: Uint8Array): string {
  return JSON.stringify(Buffer.from(bytes).toString('utf8'));
}

/** What is held of each file's statistics: there may be a million. */
export function statisticsDigest(stats: string | undefined): string {
  return hash('sha256', stats ?? '', 'base64').slice(0, 16);
}

/** Put into `digests`, by path, those of the files of wanted vessel-days, as far as the log can be read. Throws DataError. */
export async function readStatisticsDigests(
  view: Pick<TableView, 'files'>,
  digests: Map<string, string>,
  isWanted: (day: { readonly vessel: string; readonly date: string }) => boolean = () => true,
): Promise<void> {
  for await (const { path, partitionValues, stats } of view.files()) {
    const { vessel, date } = partitionValues;
    if (vessel && date && isWanted({ vessel, date })) digests.set(path, statisticsDigest(stats));
  }
}

/** Digests of files of a view, all of them read when one is asked for, and again for a file that is newer than those. */
export function createDigestReader(view: Pick<TableView, 'files' | 'version'>) {
  let known: Promise<{ readonly version: number; readonly of: ReadonlyMap<string, string> }> | undefined;
  const readAll = async (version: number) => {
    const of = new Map<string, string>();
    await readStatisticsDigests(view, of);
    return { version, of };
  };
  return async ({ path, addedIn }: { readonly path: string; readonly addedIn: number }) => {
    if (known === undefined || addedIn > (await known).version) {
      known = readAll(view.version);
      known.catch(() => {
        known = undefined;
      });
    }
    return (await known).of.get(path);
  };
}
