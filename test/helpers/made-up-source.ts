/** A query service without a network: a client that answers from a few series that a test changes as it likes. */

import { Readable } from 'node:stream';
import { HttpStatusError } from '../../src/core/errors.ts';
import type { QueryRequest, TimeRange } from '../../src/core/model/index.ts';
import { dateToMicros, microsToIso } from '../../src/core/model/index.ts';
import type { QueryClient } from '../../src/source/fetch/client.ts';
import { createRequestStats } from '../../src/source/fetch/exchange.ts';

/** A series as metadata tell of it, with as many readings on each date, a second apart. */
export interface MadeUpSeries {
  readonly timeSeriesId: string;
  /** Seven digits. */
  readonly imo: string;
  /** Domain → name in it. */
  readonly names: Readonly<Record<string, string>>;
  readonly readings: number;
}

export interface MadeUpSource {
  /** What there is from now on. */
  series: readonly MadeUpSeries[];
  /** Requests so far. */
  readonly requests: readonly QueryRequest[];
  readonly client: QueryClient;
}

const SECOND = 1_000_000;

export function createMadeUpSource(dates: readonly string[]): MadeUpSource {
  const requests: QueryRequest[] = [];
  const source = { series: [] as readonly MadeUpSeries[], requests };

  function selected({ expressions }: QueryRequest): MadeUpSeries[] {
    return source.series.filter((one) => expressions.some((expression) => isMeant(expression, one)));
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

  /** Readings of a date lie in its first hour, which is one window here. */
  function statistics(request: QueryRequest): string {
    const rows = dates.flatMap((date) =>
      selected(request).flatMap((one) => {
        const times = timesWithin(date, one, request.range!);
        if (times.length === 0) return [];
        const all: Record<string, unknown> = {
          ...{ count: times.length, sum: times.length, mean: 1, min: 1, max: 1, first_val: 1, last_val: 1 },
          ...{ first_time: microsToIso(times[0]!), last_time: microsToIso(times.at(-1)!) },
        };
        const aggregations = Object.fromEntries(request.aggregations!.map((name) => [name, all[name]]));
        return [{ timestamp: microsToIso(dateToMicros(date)), id: one.timeSeriesId, aggregations }];
      }),
    );
    return JSON.stringify(rows);
  }

  function measurements(request: QueryRequest): string {
    const rows = dates.flatMap((date) =>
      selected(request).flatMap((one) =>
        timesWithin(date, one, request.range!).map((micros) => ({ micros, id: one.timeSeriesId })),
      ),
    );
    rows.sort((a, b) => a.micros - b.micros);
    return rows
      .map(({ id, micros }) => `${JSON.stringify({ id, timestamp: microsToIso(micros), value: 1 })}\n`)
      .join('');
  }

  const answers = { metadata, statistics, measurements };
  const client: QueryClient = {
    async exchange(makeRequest, consume) {
      const request = makeRequest(1);
      requests.push(request);
      const bytes = Buffer.from(answers[request.family](request));
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

function timesWithin(
  date: string,
  { readings }: MadeUpSeries,
  { fromMicros, toMicros }: TimeRange,
): number[] {
  const times = Array.from({ length: readings }, (_, second) => dateToMicros(date) + second * SECOND);
  return times.filter((micros) => micros >= fromMicros && micros < toMicros);
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
