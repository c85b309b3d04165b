/** What the values of a day's rows come to, series by series, while row groups follow each other in time. Pure. */
import type { LakeValue, LakeValueJson, SeriesRows, SeriesRowsJson } from '../model/index.ts';
import { digestJson } from './compare-values.ts';

type RowsJson = SeriesRowsJson[string];

/** Grows with every row group; the time series ids are those that have rows. */
export class SeriesValues {
  readonly bySeries = new Map<string, SeriesRows>();

  add(timeSeriesId: string, rows: SeriesRows): void {
    const { first, last } = rows;
    const later =
      rows.jsons === 0 ? rows : { ...rows, first: first?.map(shortened), last: last?.map(shortened) };
    const known = this.bySeries.get(timeSeriesId);
    this.bySeries.set(timeSeriesId, known === undefined ? later : joined(known, later));
  }

  toJson(): SeriesRowsJson {
    return Object.fromEntries(
      [...this.bySeries.keys()].sort().map((id) => [id, rowsToJson(this.bySeries.get(id)!)]),
    );
  }

  static fromJson(json: SeriesRowsJson): SeriesValues {
    const values = new SeriesValues();
    for (const [id, rows] of Object.entries(json)) values.bySeries.set(id, rowsFromJson(rows));
    return values;
  }
}

/** A text up to this is kept until it is asked for: of most days nobody ever asks, and digests take longer than they save. */
const SHORT_TEXT = 128;

/** Texts may be long, and only whether they are equal is asked. */
function shortened(value: LakeValue): LakeValue {
  const isLong = typeof value === 'object' && 'json' in value && value.json.length > SHORT_TEXT;
  return isLong ? { jsonSha256: digestJson(value.json) } : value;
}

function joined(a: SeriesRows, b: SeriesRows): SeriesRows {
  type Numeric = bigint | number;
  /** Exact where both are longs; among doubles a long is one of them. */
  const ofBoth = (
    x: Numeric | undefined,
    y: Numeric | undefined,
    ofLongs: (x: bigint, y: bigint) => bigint,
    ofDoubles: (x: number, y: number) => number,
  ) => {
    if (x === undefined || y === undefined) return x ?? y;
    return typeof x === 'bigint' && typeof y === 'bigint' ? ofLongs(x, y) : ofDoubles(Number(x), Number(y));
  };
  return {
    longs: a.longs + b.longs,
    doubles: a.doubles + b.doubles,
    jsons: a.jsons + b.jsons,
    min: ofBoth(a.min, b.min, (x, y) => (x < y ? x : y), Math.min),
    max: ofBoth(a.max, b.max, (x, y) => (x > y ? x : y), Math.max),
    sum: ofBoth(
      a.sum,
      b.sum,
      (x, y) => x + y,
      (x, y) => x + y,
    ),
    magnitude: a.magnitude + b.magnitude,
    first: a.first,
    last: b.last,
  };
}

function rowsToJson({ longs, doubles, jsons, min, max, sum, magnitude, first, last }: SeriesRows): RowsJson {
  return [
    [longs, doubles, jsons],
    [toJson(min), toJson(max), toJson(sum), magnitude],
    first?.map(toJson) ?? null,
    last?.map(toJson) ?? null,
  ];
}

function rowsFromJson([
  [longs, doubles, jsons],
  [min, max, sum, magnitude],
  first,
  last,
]: RowsJson): SeriesRows {
  return {
    ...{ longs, doubles, jsons },
    ...{ min: numberFrom(min), max: numberFrom(max), sum: numberFrom(sum) },
    // JSON has no infinity: what no double can hold.
    magnitude: magnitude ?? Number.POSITIVE_INFINITY,
    first: first?.map(valueFrom),
    last: last?.map(valueFrom),
  };
}

function toJson(value: LakeValue | undefined): LakeValueJson {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'object') return ['json' in value ? digestJson(value.json) : value.jsonSha256];
  return value ?? null;
}

function numberFrom(json: LakeValueJson): bigint | number | undefined {
  if (typeof json === 'string') return BigInt(json);
  return typeof json === 'number' ? json : undefined;
}

function valueFrom(json: LakeValueJson): LakeValue {
  return Array.isArray(json) ? { jsonSha256: json[0] } : (numberFrom(json) ?? Number.NaN);
}
