/** A metadata snapshot of ours → its series. */
import { openFlatFile } from '../../parquet/read/flat-file.ts';

const NAMES = [
  { name: 'time_series_id', kind: 'text' },
  { name: 'id', kind: 'text' },
] as const;

/** Time series id → name of every row of an object of metadata. Throws as `openFlatFile`. */
export function readSeriesNames(parquet: Uint8Array): Map<string, string | null> {
  const file = openFlatFile(parquet, NAMES);
  const [ids, names] = [file.texts('time_series_id'), file.texts('id')];
  return new Map(Array.from({ length: file.rows }, (_, row) => [ids.at(row) ?? '', names.at(row)] as const));
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

/** Every series of an object of metadata, in its order. Throws as `openFlatFile`. */
export function readSnapshot(parquet: Uint8Array, onSeries: (series: SnapshotSeries) => void): void {
  const file = openFlatFile(parquet, DESCRIPTION);
  const texts = (name: (typeof DESCRIPTION)[number]['name']) => file.texts(name);
  const [ids, sources, units] = [texts('time_series_id'), texts('source'), texts('unit_of_measure')];
  const [vessels, imos, domains] = [texts('vessel_name'), texts('vessel_imo'), texts('domains_json')];
  const [names, descriptions] = [texts('maker_name'), texts('maker_description')];
  const [highs, lows] = [file.numbers('maker_range_high'), file.numbers('maker_range_low')];
  const numberAt = (numbers: Float64Array, row: number) =>
    Number.isNaN(numbers[row]) ? null : numbers[row]!;
  for (let row = 0; row < file.rows; row++)
    onSeries({
      ...{ timeSeriesId: ids.at(row) ?? '', source: sources.at(row), unitOfMeasure: units.at(row) },
      ...{ vesselName: vessels.at(row), vesselImo: imos.at(row) },
      maker: {
        ...{ name: names.at(row), description: descriptions.at(row) },
        ...{ rangeHigh: numberAt(highs, row), rangeLow: numberAt(lows, row) },
      },
      domainsJson: domains.at(row) ?? '{}',
    });
}
