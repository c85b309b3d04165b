/** Which series a published day had, by what the lake holds of it. */
import type { Receipt } from '../core/model/index.ts';
import { unlessDamaged } from '../lake/json.ts';
import type { Detail } from '../lake/ledger/ledger.ts';
import { readDetail } from '../lake/ledger/ledger.ts';
import type { SelectedBefore } from '../source/select-meaning.ts';
import type { ObjectStore } from '../store/store.ts';

/** How many series were selected; of a receipt that does not say, those that had readings. */
export function selectedCount({ selectedSeries, series }: Receipt): number {
  return selectedSeries ?? series;
}

/**
 * The series that were selected, with the `select` that named them where that is known; of an older receipt those that had
 * readings, without names. Undefined where detail or object is missing or damaged.
 */
export async function readSelectedSeries(
  store: ObjectStore,
  receipt: Pick<Receipt, 'dataset' | 'detail'> & { readonly object: { readonly key: string } | null },
): Promise<SelectedBefore | undefined> {
  if (receipt.dataset === 'metadata') {
    const object = receipt.object === null ? undefined : await store.get(receipt.object.key);
    const names = object && (await unlessNoParquet(object.bytes));
    return names && { names };
  }
  const detail = await unlessDamaged(readDetail(store, receipt));
  return detail && { names: namesOf(detail), select: detail.select };
}

/** Time series id → name. */
function namesOf({ series, ours }: Detail): ReadonlyMap<string, string | null> {
  return series ? new Map(Object.entries(series)) : new Map(Object.keys(ours).map((id) => [id, null]));
}

/** Whatever is wrong with it: the snapshot cannot be compared with. */
async function unlessNoParquet(bytes: Uint8Array): Promise<ReadonlyMap<string, string | null> | undefined> {
  const { readSeriesNames } = await import('../source/decode/parquet.ts');
  try {
    return readSeriesNames(bytes);
  } catch {
    return undefined;
  }
}
