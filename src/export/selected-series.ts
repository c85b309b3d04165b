/** Which series a published day had, by what the lake holds of it. */
import { unlessDamaged } from '../lake/json.ts';
import { readDetail } from '../lake/ledger.ts';
import type { Receipt } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';

/** How many series were selected; of a receipt that does not say, those that had readings. */
export function selectedCount({ selectedSeries, series }: Receipt): number {
  return selectedSeries ?? series;
}

/**
 * Time series id → name of the series that were selected; of an older one, those that had readings, without names.
 * Undefined where detail or object is missing or damaged.
 */
export async function readSelectedSeries(
  store: ObjectStore,
  receipt: Receipt,
): Promise<ReadonlyMap<string, string | null> | undefined> {
  if (receipt.dataset === 'metadata') {
    const object = receipt.object === null ? undefined : await store.get(receipt.object.key);
    return object && (await unlessNoParquet(object.bytes));
  }
  const detail = await unlessDamaged(readDetail(store, receipt));
  if (detail === undefined) return undefined;
  if (detail.series !== undefined) return new Map(Object.entries(detail.series));
  return new Map(Object.keys(detail.ours).map((id) => [id, null]));
}

/** Whatever is wrong with it: the snapshot cannot be compared with. */
async function unlessNoParquet(bytes: Uint8Array): Promise<ReadonlyMap<string, string | null> | undefined> {
  const { readSeriesNames } = await import('../decode/parquet.ts');
  try {
    return readSeriesNames(bytes);
  } catch {
    return undefined;
  }
}
