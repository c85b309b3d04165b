/** A metadata snapshot of ours → its series. */
import { openFlatFile, type Texts } from '../../parquet/read/flat-file.ts';
import type { ColumnQuestion } from '../../parquet/read/parquet-schema.ts';

const NAMES = ['time_series_id', 'id'] as const;
const DESCRIPTION = [
  ...['time_series_id', 'source', 'unit_of_measure', 'vessel_name', 'vessel_imo'],
  ...['maker_name', 'maker_description', 'domains_json'],
];
const NUMBERS = ['maker_range_high', 'maker_range_low'];

const asKind = <K extends ColumnQuestion['kind']>(names: readonly string[], kind: K) =>
  names.map((name) => ({ name, kind }));

/** Time series id → name of every row of an object of metadata. Throws as `openFlatFile`. */
export function readSeriesNames(parquet: Uint8Array): Map<string, string | null> {
  const file = openFlatFile(parquet, asKind(NAMES, 'text'));
  const [ids, names] = NAMES.map((name) => file.texts(name)) as [Texts, Texts];
  return new Map(Array.from({ length: file.rows }, (_, row) => [ids.at(row) ?? '', names.at(row)] as const));
}

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
  const file = openFlatFile(parquet, [...asKind(DESCRIPTION, 'text'), ...asKind(NUMBERS, 'double')]);
  const texts = new Map(DESCRIPTION.map((name) => [name, file.texts(name)]));
  const numbers = new Map(NUMBERS.map((name) => [name, file.numbers(name)]));
  for (let row = 0; row < file.rows; row++) {
    const text = (name: string) => texts.get(name)!.at(row);
    const number = (name: string) => {
      const value = numbers.get(name)![row]!;
      return Number.isNaN(value) ? null : value;
    };
    onSeries({
      ...{ timeSeriesId: text('time_series_id') ?? '', source: text('source') },
      ...{ unitOfMeasure: text('unit_of_measure'), domainsJson: text('domains_json') ?? '{}' },
      ...{ vesselName: text('vessel_name'), vesselImo: text('vessel_imo') },
      maker: {
        ...{ name: text('maker_name'), description: text('maker_description') },
        ...{ rangeHigh: number('maker_range_high'), rangeLow: number('maker_range_low') },
      },
    });
  }
}
