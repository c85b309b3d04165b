import type { CountedRow, Micros, TimeRange } from '../core/model/index.ts';
import { createSeriesDictionary, DayCounts, MAX_SERIES } from '../core/model/index.ts';
import { dayRange, isWithin, MICROS_PER_HOUR, microsToIso } from '../core/model/time.ts';
import { CountsDisagreeError, describeSpan } from '../core/proof/compare-counts.ts';
import { tooManySeries } from './answer-faults.ts';
import { type ResolvedSeries, type SourceContext, seriesName } from './context.ts';
import { createReadingDecoder } from './decode/reading-decoder.ts';
import type { RetryScope } from './fetch/retry.ts';
import { askInSlices } from './slices.ts';
import { addToWindow, COUNTED, type CountedWindow, collectStatistics } from './statistics.ts';

/** What the rows of one series say of one hour: numbers, for a large vessel-day has a million of these. */
interface HourWindow extends CountedWindow {
  /** The begin of a window that is none of an hour. */
  oddMicros?: Micros;
}

/** Readings per series and hour of the day by the source's statistics. Throws CountsDisagreeError where they contradict themselves. */
export async function askDayCounts(
  context: SourceContext,
  { expressions, idOf }: Pick<ResolvedSeries, 'expressions' | 'idOf'>,
): Promise<DayCounts> {
  const range = dayRange(context.day.date);
  const { counts, windows } = await collectStatistics(
    context,
    { expressions, range, aggregations: COUNTED, window: '1h', windowMicros: MICROS_PER_HOUR },
    (): GatheredHours => ({ counts: new DayCounts(range.fromMicros, idOf.size), windows: new Map() }),
    (gathered, row) => {
      if (isWithin(range, row.timestampMicros)) addToWindow(windowOf(gathered, row), row);
    },
    (gathered, row) => {
      if (isWithin(range, row.timestampMicros)) addCounted(gathered, row);
    },
  );
  for (const [id, hours] of windows) {
    for (const [hour, window] of hours) {
      const fromMicros = range.fromMicros + hour * MICROS_PER_HOUR;
      const fault = faultOf(window, fromMicros);
      if (fault !== undefined)
        throw new CountsDisagreeError(
          context.day,
          `the source's statistics contradict themselves: series ${seriesName({ idOf }, id)} in the hour from ${microsToIso(fromMicros)} has ${fault}`,
        );
      const { count = 0, first_time: firstMicros = fromMicros, last_time: lastMicros = fromMicros } = window;
      if (!counts.hasHour(id, hour)) counts.addHour(id, hour, count, firstMicros, lastMicros);
    }
  }
  return counts;
}

interface GatheredHours {
  /** Those that came in one row and can be true. */
  readonly counts: DayCounts;
  /** By series and hour: those that came otherwise, to be looked at when all has come. */
  readonly windows: Map<string, Map<number, HourWindow>>;
}

/** A row of all that is known of a window: into the counts, unless anything about it is odd. */
function addCounted(gathered: GatheredHours, row: CountedRow): void {
  const { counts, windows } = gathered;
  const { id, timestampMicros, count, firstMicros, lastMicros } = row;
  const hour = (timestampMicros - counts.dayFromMicros) / MICROS_PER_HOUR;
  const isOdd =
    !Number.isInteger(hour) ||
    !isPossible(count, firstMicros, lastMicros, timestampMicros) ||
    windows.get(id)?.has(hour) === true ||
    counts.hasHour(id, hour);
  if (isOdd) addToWindow(windowOf(gathered, row), row);
  else counts.addHour(id, hour, count, firstMicros, lastMicros);
}

function windowOf(
  { counts, windows }: GatheredHours,
  { id, timestampMicros }: Pick<CountedRow, 'id' | 'timestampMicros'>,
): HourWindow {
  const sinceMidnight = timestampMicros - counts.dayFromMicros;
  const hour = Math.floor(sinceMidnight / MICROS_PER_HOUR);
  const hours = windows.get(id) ?? new Map<number, HourWindow>();
  windows.set(id, hours);
  const counted = counts.hour(id, hour);
  const window: HourWindow =
    hours.get(hour) ??
    (counted === undefined
      ? {}
      : { count: counted.count, first_time: counted.firstMicros, last_time: counted.lastMicros });
  hours.set(hour, window);
  if (sinceMidnight % MICROS_PER_HOUR !== 0) window.oddMicros = timestampMicros;
  return window;
}

/** Can a count above zero have these times in the hour from `fromMicros`? */
function isPossible(count: number, firstMicros: Micros, lastMicros: Micros, fromMicros: Micros): boolean {
  // One reading has one time; more of them may share theirs.
  const isOne = count > 1 || (count === 1 && firstMicros === lastMicros);
  const isOrdered = fromMicros <= firstMicros && firstMicros <= lastMicros;
  return isOne && isOrdered && lastMicros < fromMicros + MICROS_PER_HOUR;
}

function faultOf(
  { count, first_time: firstMicros, last_time: lastMicros, oddMicros, repeated }: HourWindow,
  fromMicros: Micros,
): string | undefined {
  if (oddMicros !== undefined) return `a window that begins at ${microsToIso(oddMicros)}`;
  if (repeated !== undefined) return `'${repeated}' twice`;
  if (count !== undefined && count < 0) return `a count of ${count}`;
  const said = count === undefined ? 'no count' : `a count of ${count}`;
  if (count === undefined || count === 0) {
    const micros = firstMicros ?? lastMicros;
    return micros === undefined ? undefined : `${said} and a reading at ${microsToIso(micros)}`;
  }
  if (firstMicros === undefined || lastMicros === undefined) return `${said} and no first or no last time`;
  if (isPossible(count, firstMicros, lastMicros, fromMicros)) return undefined;
  return `${said} and the first and last times ${describeSpan({ firstMicros, lastMicros })}`;
}

/** A day that counts zero is confirmed by asking for its readings, until the first one. Throws CountsDisagreeError naming it. */
export async function confirmEmpty(context: SourceContext, series: ResolvedSeries): Promise<void> {
  const { day } = context;
  let reading: string | undefined;
  await askInSlices(context, [dayRange(day.date)], {
    family: 'measurements',
    async ask(slice, scope) {
      reading ??= await firstReading(context, series, slice, scope);
    },
  });
  if (reading !== undefined)
    throw new CountsDisagreeError(day, `the source counts no reading in the complete day, but ${reading}`);
}

function firstReading(
  { client, job, signal, stats }: SourceContext,
  { expressions, idOf }: ResolvedSeries,
  range: TimeRange,
  scope: RetryScope,
): Promise<string | undefined> {
  const format = job.transport === 'json' ? 'json' : 'ndjson';
  return client.exchange(
    () => ({ family: 'measurements', expressions, format, range, outputDomain: 'id' }),
    async (response) => {
      let first: string | undefined;
      const dictionary = createSeriesDictionary();
      const decoder = createReadingDecoder({
        format,
        dictionary,
        batchRows: 1,
        onBatch: (batch) => {
          if (dictionary.ids.length > MAX_SERIES) throw tooManySeries();
          const micros = batch.timestampMicros[0]!;
          if (first !== undefined || !isWithin(range, micros)) return;
          const id = dictionary.ids[batch.seriesCodes[0]!]!;
          first = `series ${seriesName({ idOf }, id)} has one at ${microsToIso(micros)}`;
        },
      });
      for await (const chunk of response.body) {
        decoder.push(chunk);
        if (first !== undefined) return first;
      }
      decoder.end();
      return first;
    },
    { ...scope, signal, stats },
  );
}
