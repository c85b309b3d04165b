/** A metadata snapshot of ours → its series. */

/**
 * Time series id → name of every row of an object of metadata, which is held whole. Rejects with what parquet-wasm
 * throws for bytes that are not Parquet.
 */
export async function readSeriesNames(parquet: Uint8Array): Promise<Map<string, string | null>> {
  const [{ readParquet }, { tableFromIPC }] = await Promise.all([
    import('parquet-wasm'),
    import('apache-arrow'),
  ]);
  const table = tableFromIPC(readParquet(parquet, { columns: ['time_series_id', 'id'] }).intoIPCStream());
  const [ids, names] = [table.getChild('time_series_id'), table.getChild('id')];
  const series = new Map<string, string | null>();
  for (let row = 0; row < table.numRows; row++) series.set(String(ids?.get(row)), names?.get(row) ?? null);
  return series;
}
