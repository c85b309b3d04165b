/** A query service without a network: a client that answers from a few series that a test changes as it likes. */

import { Readable } from 'node:stream';
import { HttpStatusError } from '../../src/core/errors.ts';
import type { QueryRequest, TimeRange } from '../../src/core/model/index.ts';
import { dateToMicros, dayRange, MICROS_PER_HOUR, microsToIso } from '../../src/core/model/index.ts';
import type { QueryClient } from '../../src/source/fetch/client.ts';
import { createRequestStats } from '../../src/source/fetch/exchange.ts';

/** A reading of a date: when in it, and the JSON text of its value. */
export interface MadeUpReading {
  readonly micros: number;
  readonly text: string;
}

/** A series as metadata tell of it, with as many readings of 1 on each date, a second apart, or with these. */
export interface MadeUpSeries {
  readonly timeSeriesId: string;
  /** Seven digits. */
  readonly imo: string;
  /** Domain → name in it. */
  readonly names: Readonly<Record<string, string>>;
  readonly readings: number | readonly MadeUpReading[];
}

export interface MadeUpSource {
  /** What there is from now on. */
  series: readonly MadeUpSeries[];
  /** What is said instead of an answer; absent: nothing else. */
  rewrite: ((request: QueryRequest, body: string) => string | Promise<string>) | undefined;
  /** Requests so far. */
  readonly requests: readonly QueryRequest[];
  readonly client: QueryClient;
}

const SECOND = 1_000_000;
const WINDOWS: Readonly<Record<string, number>> = { '10m': MICROS_PER_HOUR / 6, '1h': MICROS_PER_HOUR };

export function createMadeUpSource(dates: readonly string[]): MadeUpSource {
  const requests: QueryRequest[] = [];
  const source = {
    series: [] as readonly MadeUpSeries[],
    rewrite: undefined as MadeUpSource['rewrite'],
    requests,
  };

  /** The selected series with what they have in the range, of each date. */
  function selected({ expressions, range }: QueryRequest) {
    const meant = source.series.filter((one) => expressions.some((expression) => isMeant(expression, one)));
    const asked = dates.filter((date) => range && isOverlapping(dayRange(date), range));
    return meant.map((one) => ({
      ...one,
      found: asked.flatMap((date) => readingsWithin(date, one, range!)),
    }));
  }

  function metadata(request: QueryRequest): string {
    const found = selected(request);
    if (found.length === 0) throw new HttpStatusError(404, 'not-found', 'nothing there');
    const domain = request.expressions[0]!.split('/')[0]!;
    const elements = found.map(({ timeSeriesId, imo, names }) => {
      const domains = Object.fromEntries(Object.entries(names).map(([name, id]) => [name, { id }]));
      return { id: names[domain] ?? timeSeriesId, timeSeriesId, vessel: { imo }, domains };
    });
    return JSON.stringify(elements);
  }

  function statistics(request: QueryRequest): string {
    const { window = 'none', aggregations = [], range } = request;
    const begin = (micros: number) =>
      window === 'none' ? range!.fromMicros : micros - (micros % (WINDOWS[window] ?? 24 * MICROS_PER_HOUR));
    const rows = selected(request).flatMap(({ timeSeriesId, found }) =>
      [...Map.groupBy(found, ({ micros }) => begin(micros))].map(([micros, readings]) => {
        const all = aggregate(readings);
        const texts = aggregations.flatMap((name) => (all[name] ? [`"${name}":${all[name]}`] : []));
        return `{"timestamp":"${microsToIso(micros)}","id":"${timeSeriesId}","aggregations":{${texts}}}`;
      }),
    );
    return `[${rows}]`;
  }

  function measurements(request: QueryRequest): string {
    const rows = selected(request).flatMap(({ timeSeriesId: id, found }) =>
      found.map((one) => ({ ...one, id })),
    );
    rows.sort((a, b) => a.micros - b.micros);
    return rows
      .map(({ id, micros, text }) => `{"id":"${id}","timestamp":"${microsToIso(micros)}","value":${text}}\n`)
      .join('');
  }

  const answers = { metadata, statistics, measurements };
  const client: QueryClient = {
    async exchange(makeRequest, consume, { signal } = {}) {
      signal?.throwIfAborted();
      const request = makeRequest(1);
      requests.push(request);
      const body = answers[request.family](request);
      const bytes = Buffer.from((await source.rewrite?.(request, body)) ?? body);
      return consume({
        apiVersion: '2026-09-10',
        contentType: 'application/json',
        requestId: `r${requests.length}`,
        body: Readable.from([bytes]),
      });
    },
    stats: createRequestStats(),
    oldestRequestMs: () => 0,
    serverNowMs: () => undefined,
    baseUrlBytes: 20,
    close: async () => {},
  };
  return Object.assign(source, { client });
}

function isOverlapping(a: TimeRange, b: TimeRange): boolean {
  return a.fromMicros < b.toMicros && a.toMicros > b.fromMicros;
}

function readingsWithin(
  date: string,
  { readings }: MadeUpSeries,
  { fromMicros, toMicros }: TimeRange,
): MadeUpReading[] {
  const all =
    typeof readings === 'number'
      ? Array.from({ length: readings }, (_, second) => ({ micros: second * SECOND, text: '1' }))
      : readings;
  return all
    .map(({ micros, text }) => ({ micros: dateToMicros(date) + micros, text }))
    .filter(({ micros }) => micros >= fromMicros && micros < toMicros);
}

/** The JSON texts of what is known of such readings, in the order of their times. */
function aggregate(readings: readonly MadeUpReading[]): Readonly<Record<string, string>> {
  const [first, last] = [readings[0]!, readings.at(-1)!];
  const ofAny = {
    ...{ count: `${readings.length}`, first_val: first.text, last_val: last.text },
    ...{ first_time: `"${microsToIso(first.micros)}"`, last_time: `"${microsToIso(last.micros)}"` },
  };
  const texts = readings.map(({ text }) => text).filter((text) => /^-?\d/.test(text));
  if (texts.length === 0) return ofAny;
  const sorted = texts.toSorted((a, b) => Number(a) - Number(b));
  const sum = texts.every((text) => /^-?\d+$/.test(text))
    ? texts.reduce((total, text) => total + BigInt(text), 0n)
    : texts.reduce((total, text) => total + Number(text), 0);
  return {
    ...{ ...ofAny, min: sorted[0]!, max: sorted.at(-1)! },
    ...{ sum: `${sum}`, mean: `${Number(sum) / texts.length}` },
  };
}

/** `*` is any letters of one level, as the contract has it; the last level of a flat name is its rest. */
export function isMeant(expression: string, { timeSeriesId, names }: MadeUpSeries): boolean {
  const [domain = '', ...levels] = expression.split('/');
  if (domain === 'id') return levels[0]!.split(',').includes(timeSeriesId);
  const name = names[domain]?.split('/');
  return (
    name?.length === levels.length &&
    levels.every((level, at) => level === '*' || name[at] === level || isGlob(level, name[at]!))
  );
}

function isGlob(level: string, text: string): boolean {
  const [head = '', tail] = level.split('*');
  return tail !== undefined && text.startsWith(head) && text.endsWith(tail);
}
