/** A metadata snapshot of ours → its series. */
import { readParquetRows } from '../../parquet/read/parquet-rows.ts';

const NAMES = [
  { name: 'time_series_id', kind: 'text' },
  { name: 'id', kind: 'text' },
] as const;

/** Time series id → name of every row of an object of metadata. Throws as `readParquetRows`. */
export function readSeriesNames(parquet: Uint8Array): Map<string, string | null> {
  const series = new Map<string, string | null>();
  readParquetRows(parquet, NAMES, ([id, name]) => void series.set(String(id ?? ''), name as string | null));
  return series;
}

const DESCRIPTION = [
  ...NAMES,
  { name: 'source', kind: 'text' },
  { name: 'unit_of_measure', kind: 'text' },
  { name: 'vessel_name', kind: 'text' },
  { name: 'vessel_imo', kind: 'text' },
  { name: 'maker_name', kind: 'text' },
  { name: 'maker_description', kind: 'text' },
  { name: 'maker_range_high', kind: 'double' },
  { name: 'maker_range_low', kind: 'double' },
  { name: 'domains_json', kind: 'text' },
] as const;

/** What a snapshot says of a series, as far as people look for it. */
export interface SnapshotSeries {
  readonly timeSeriesId: string;
  readonly source: string | null;
  readonly unitOfMeasure: string | null;
  readonly vesselName: string | null;
  readonly vesselImo: string | null;
  readonly maker: {
    readonly name: string | null;
    readonly description: string | null;
    readonly rangeHigh: number | null;
    readonly rangeLow: number | null;
  };
  readonly domainsJson: string;
}

/** Every series of an object of metadata, in its order. Throws as `readParquetRows`. */
export function readSnapshot(parquet: Uint8Array, onSeries: (series: SnapshotSeries) => void): void {
  readParquetRows(parquet, DESCRIPTION, (cells) => {
    const [id, , source, unitOfMeasure, vesselName, vesselImo, name, description] = cells as (
      | string
      | null
    )[];
    const [rangeHigh, rangeLow] = cells.slice(8, 10) as (number | null)[];
    onSeries({
      ...{ timeSeriesId: id ?? '', source: source!, unitOfMeasure: unitOfMeasure! },
      ...{ vesselName: vesselName!, vesselImo: vesselImo! },
      maker: { name: name!, description: description!, rangeHigh: rangeHigh!, rangeLow: rangeLow! },
      domainsJson: String(cells[10] ?? '{}'),
    });
  });
}
