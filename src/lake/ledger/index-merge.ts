/**
 * Several indexes of a month as one. Whatever they hold, there are in memory their packed bytes and those of the new one, a
 * column of them unpacked, and 8 bytes for each receipt: a month of 310,000 receipts takes a hundred megabytes or two.
 */
import { createTurns } from '../../core/concurrency.ts';
import type { Seal } from './folder-seals.ts';
import type { Seals } from './index-columns.ts';
import { openColumns, packColumns, rangesByDate } from './index-columns.ts';

interface MergeSource {
  readonly bytes: Uint8Array;
  isTaken(at: number, date: string): boolean;
}

/**
 * What is taken of them; of two rows of a vessel-day that of the later source. Others in the thread have their turn
 * meanwhile. Throws Error for a source that is damaged.
 */
export async function mergeIndexes(
  job: string,
  sources: readonly MergeSource[],
  seals: ReadonlyMap<string, Seal>,
): Promise<Uint8Array> {
  const opened = sources.map((source) => ({ ...openColumns(job, source.bytes), isTaken: source.isTaken }));
  const places = await placeRows(opened);
  const { count, sourceAt, rowAt, rowsOf } = places;
  const counted: Seals = new Map(
    [...seals].map(([date, seal]) => [date, { ...seal, rows: rowsOf.get(date) ?? 0 }]),
  );
  const columnOf: Parameters<typeof packColumns>[2] = (name) => {
    const columns = opened.map(({ read }) => read(name));
    return (at) => columns[sourceAt[at]!]!(rowAt[at]!);
  };
  return packColumns(job, count, columnOf, counted);
}

type OpenSource = Pick<MergeSource, 'isTaken'> & ReturnType<typeof openColumns>;

interface Places {
  readonly count: number;
  /** By row of the new index: the source and the row there. */
  readonly sourceAt: Uint32Array;
  readonly rowAt: Uint32Array;
  /** By date, how many there are. */
  readonly rowsOf: ReadonlyMap<string, number>;
}

async function placeRows(sources: readonly OpenSource[]): Promise<Places> {
  const most = sources.reduce((sum, { receipts }) => sum + receipts, 0);
  const [sourceAt, rowAt] = [new Uint32Array(most), new Uint32Array(most)];
  const rowsOf = new Map<string, number>();
  const turn = createTurns();
  const known = sources.map(({ receipts, read, isTaken }, source) => {
    const [vesselAt, dateAt] = [read('vessel') as TextAt, read('date') as TextAt];
    return { source, vesselAt, isTaken, ranges: rangesByDate(receipts, dateAt, vesselAt) };
  });
  let count = 0;
  for (const date of [...new Set(known.flatMap(({ ranges }) => [...ranges.keys()]))].sort()) {
    await turn();
    const newest = new Map<string, readonly [source: number, at: number]>();
    for (const { source, vesselAt, isTaken, ranges } of known) {
      const [from, to] = ranges.get(date) ?? [0, 0];
      for (let at = from; at < to; at++) if (isTaken(at, date)) newest.set(vesselAt(at), [source, at]);
    }
    rowsOf.set(date, newest.size);
    for (const vessel of [...newest.keys()].sort()) {
      [sourceAt[count], rowAt[count]] = newest.get(vessel)!;
      count++;
    }
  }
  return { count, sourceAt, rowAt, rowsOf };
}

type TextAt = (at: number) => string;
