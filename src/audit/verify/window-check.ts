/** Rows of a statistics object against the service's answer for the same windows, asked anew, a time slice at a time. */

import type { Receipt, TimeRange } from '../../core/model/index.ts';
import { formatVesselDay, isWithin, microsToIso } from '../../core/model/index.ts';
import { planWindowSlices } from '../../core/plan/time-slices.ts';
import { isWindowValue } from '../../core/proof/compare-values.ts';
import { repeatedResult } from '../../source/answer-faults.ts';
import { type ResolvedSeries, type SourceContext, seriesName } from '../../source/context.ts';
import { parseInt64Text, parseTimestampText } from '../../source/decode/number-lexeme.ts';
import { collectStatistics, exportedWindows } from '../../source/statistics.ts';
import { type Difference, differenceOf, type Sides } from './findings.ts';
import type { ReadBack, ReadObject } from './read-back.ts';
import type { WindowRow } from './read-back-rows.ts';

/** Windows × series compared at once: what bounds the memory. */
const COMPARED_WINDOWS = 20_000;

export interface ReadableDay {
  readonly context: SourceContext;
  readonly receipt: Receipt;
  readonly where: string;
  readonly object: ReadObject;
  readonly readBack: ReadBack;
}

type WindowAnswer = ReadonlyMap<string, string>;

/** Compare every window of the day: those that count other readings now, and those of equal counts with other values. */
export async function compareWindows(deep: ReadableDay, series: ResolvedSeries): Promise<Difference[]> {
  const { context, receipt, where } = deep;
  const [changed, differing]: [Sides[], Sides[]] = [[], []];
  const placeOf = (micros: number, id: string) =>
    `series ${seriesName(series, id)} in the window at ${microsToIso(micros)}`;
  for (const slice of planWindowSlices(context.job, context.day.date, series.idOf.size, COMPARED_WINDOWS)) {
    context.signal.throwIfAborted();
    const now = await askSlice(context, series, slice);
    const rows = receipt.object === null ? [] : await deep.readBack.windows(deep.object, slice);
    for (const row of rows) {
      const key = `${row.timestampMicros}/${row.timeSeriesId}`;
      const place = placeOf(row.timestampMicros, row.timeSeriesId);
      const [published, counted] = [Number(row.values.get('count')), countOf(now.get(key))];
      if (published !== counted)
        changed.push({ found: `${place}: ${counted} readings now`, expected: `${published} published` });
      else differing.push(...valuesDiffering(row, now.get(key)!, place));
      now.delete(key);
    }
    for (const [key, values] of now) {
      const [micros, id] = key.split('/') as [string, string];
      const found = `${placeOf(Number(micros), id)}: ${countOf(values)} readings now`;
      if (countOf(values) > 0) changed.push({ found, expected: 'no such window published' });
    }
  }
  const values = differenceOf('values-differ', where, differing);
  return [
    ...differenceOf('source-changed', where, changed),
    ...values.map((difference) => ({ ...difference, expected: `${difference.expected} by the service` })),
  ];
}

function askSlice(
  context: SourceContext,
  series: ResolvedSeries,
  slice: TimeRange,
): Promise<Map<string, WindowAnswer>> {
  return collectStatistics(
    context,
    exportedWindows(context, series, slice),
    () => new Map<string, Map<string, string>>(),
    (windows, row) => {
      if (!isWithin(slice, row.timestampMicros)) return;
      const key = `${row.timestampMicros}/${row.id}`;
      const values = windows.get(key) ?? new Map<string, string>();
      windows.set(key, values);
      for (const [aggregation, text] of row.values) {
        if (text === 'null') continue;
        if (values.has(aggregation))
          throw repeatedResult(formatVesselDay(context.day), aggregation, row.id, row.timestampMicros);
        values.set(aggregation, text);
      }
    },
  );
}

/** The two columns of `first_val` and `last_val` are one value. */
function valuesDiffering({ values }: WindowRow, now: WindowAnswer, place: string): Sides[] {
  return [...values].flatMap(([aggregation, value]) => {
    if (aggregation.endsWith('_json')) return [];
    const cell = value ?? values.get(`${aggregation}_json`) ?? null;
    const text = now.get(aggregation);
    const micros = aggregation.endsWith('_time') && text !== undefined ? parseTimestampText(text) : undefined;
    if (isWindowValue(aggregation, cell, text, micros)) return [];
    const expected = micros === undefined ? (text ?? 'none') : microsToIso(micros);
    return [{ found: `${aggregation} of ${place}: ${cell ?? 'none'}`, expected: expected.slice(0, 100) }];
  });
}

function countOf(values: WindowAnswer | undefined): number {
  const text = values?.get('count');
  return text === undefined ? 0 : parseInt64Text(text);
}
