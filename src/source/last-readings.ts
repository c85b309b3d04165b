/** When series were last heard of, and what they said, by the source's statistics. */
import { HttpStatusError } from '../core/errors.ts';
import type { TimeRange } from '../core/model/index.ts';
import type { Asker } from './context.ts';
import { parseInt64Text, parseTimestampText } from './decode/number-lexeme.ts';
import { idExpressions } from './series.ts';
import { askStatistics } from './statistics.ts';

export interface LastReading {
  readonly atMicros: number;
  /** JSON text of the value, where the source says it. */
  readonly valueJson: string | undefined;
  readonly readings: number;
}

/** Series in one request: bounds its body and its answer. */
const SERIES_AT_ONCE = 500;

/** The last reading in a range of each series that has one there, by time series id. */
export async function askLastReadings(
  context: Asker,
  ids: readonly string[],
  range: TimeRange,
): Promise<ReadonlyMap<string, LastReading>> {
  const last = new Map<string, LastReading>();
  for (let at = 0; at < ids.length; at += SERIES_AT_ONCE) {
    const expressions = idExpressions(ids.slice(at, at + SERIES_AT_ONCE));
    for (const [id, reading] of await askRange(context, expressions, range)) last.set(id, reading);
  }
  return last;
}

/** The newest reading of whatever an expression selects; undefined where there is none. */
export async function askNewest(
  context: Asker,
  expression: string,
  range: TimeRange,
): Promise<LastReading | undefined> {
  let newest: LastReading | undefined;
  let readings = 0;
  for (const reading of (await askRange(context, [expression], range)).values()) {
    readings += reading.readings;
    if (newest === undefined || reading.atMicros > newest.atMicros) newest = reading;
  }
  return newest && { ...newest, readings };
}

async function askRange(context: Asker, expressions: readonly string[], range: TimeRange) {
  const aggregations = ['count', 'last_time', 'last_val'];
  try {
    const values = await askStatistics(
      context,
      { expressions, range, aggregations, window: 'none' },
      {},
      () => new Map<string, Map<string, string>>(),
      (gathered, row) => {
        // The older version sends a row for each value.
        const known = gathered.get(row.id) ?? new Map<string, string>();
        gathered.set(row.id, known);
        for (const [name, text] of row.values) if (text !== 'null') known.set(name, text);
      },
    );
    return new Map([...values].flatMap(([id, texts]) => readingOf(id, texts)));
  } catch (error) {
    // Some answer 404 where there is nothing.
    if (error instanceof HttpStatusError && error.status === 404) return new Map();
    throw error;
  }
}

function readingOf(id: string, texts: ReadonlyMap<string, string>): [string, LastReading][] {
  const time = texts.get('last_time');
  const readings = parseInt64Text(texts.get('count') ?? '0');
  if (time === undefined || readings === 0) return [];
  return [[id, { atMicros: parseTimestampText(time), valueJson: texts.get('last_val'), readings }]];
}
