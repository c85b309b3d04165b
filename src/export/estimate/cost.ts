/** Estimates the costs of an export. Pure: sample and experience are passed in. */
import type { Dataset } from '../../core/model/index.ts';

export interface SampledDay {
  readonly vessel: string;
  readonly date: string;
  readonly readings: number;
  /** Rows it will have in the lake: readings, windows or series. */
  readonly rows: number;
  readonly series: number;
}

export interface Experience {
  readonly vesselDays: number;
  readonly rows: number;
  readonly sizeBytes: number;
  /** From start to receipt, summed over the vessel-days. */
  readonly durationMs: number;
}

export interface TimedFetch {
  readonly rows: number;
  readonly durationMs: number;
}

export interface CostInput {
  readonly dataset: Dataset;
  readonly toDo: number;
  readonly sampled: readonly SampledDay[];
  /** Metadata requests at the begin of each vessel-day. */
  readonly expressions: number;
  readonly counted: boolean;
  /** Time slices of a vessel-day, by its readings and series. */
  readonly slicesOf: (day: SampledDay) => number;
  readonly experience: Experience | undefined;
  readonly timed: TimedFetch | undefined;
  readonly latencyMs: number;
  readonly concurrencyLimit: number;
  /** Vessel-days at once. */
  readonly workers: number;
  /** Requests per minute; 0: no limit. */
  readonly perMinute: number;
}

export interface CostEstimate {
  readonly dataset: Dataset;
  readonly vesselDays: number;
  readonly readings: number;
  readonly rows: number;
  /** Rows of the smallest and the largest day of the sample. */
  readonly leastRows: number;
  readonly mostRows: number;
  readonly requests: number;
  readonly sizeBytes: number;
  readonly durationMs: number;
  readonly boundBy: 'rate-limit' | 'experience' | 'timed-request' | 'requests';
  readonly bytesFrom: 'experience' | 'assumption';
}

/**
 * Bytes of a row if nothing is published yet, measured on made-up readings: 4.0 to 6.9 of measurements
 * (fewer the more readings a day has), 8.5 to 9.6 of statistics with four aggregations, 199 of metadata.
 */
export const ASSUMED_ROW_BYTES: Readonly<Record<Dataset, number>> = {
  measurements: 7,
  statistics: 10,
  metadata: 200,
};
/** Rows that one process encodes per second, if nothing is published yet. */
const ASSUMED_ROWS_PER_SECOND = 300_000;

/** The sum over all vessel-days, assuming that the others are like the sampled ones. */
export function estimateCost(input: CostInput): CostEstimate {
  const { toDo, sampled, experience } = input;
  const mean = (of: (day: SampledDay) => number) =>
    sampled.length === 0 ? 0 : sampled.reduce((sum, day) => sum + of(day), 0) / sampled.length;
  const rows = Math.round(mean((day) => day.rows) * toDo);
  const requestsADay = input.expressions + (input.counted ? 1 : 0) + mean(input.slicesOf);
  const requests = Math.round(requestsADay * toDo);
  const isKnown = experience !== undefined && experience.rows > 0;
  const work = workOf(input, rows, requests);
  const rateLimitMs = input.perMinute > 0 ? (requests / input.perMinute) * 60_000 : 0;
  const rowBytes = isKnown ? experience.sizeBytes / experience.rows : ASSUMED_ROW_BYTES[input.dataset];
  return {
    dataset: input.dataset,
    vesselDays: toDo,
    readings: Math.round(mean((day) => day.readings) * toDo),
    rows,
    leastRows: sampled.length === 0 ? 0 : Math.min(...sampled.map((day) => day.rows)),
    mostRows: Math.max(...sampled.map((day) => day.rows), 0),
    requests,
    sizeBytes: Math.round(rows * rowBytes),
    bytesFrom: isKnown ? 'experience' : 'assumption',
    ...(rateLimitMs > work.durationMs ? { durationMs: rateLimitMs, boundBy: 'rate-limit' } : work),
  };
}

function workOf(
  { experience, timed, latencyMs, concurrencyLimit, workers, toDo }: CostInput,
  rows: number,
  requests: number,
): Pick<CostEstimate, 'durationMs' | 'boundBy'> {
  if (experience !== undefined && experience.vesselDays > 0) {
    // Small days show the fixed cost of a day: the larger of both means is used.
    const byDay = (experience.durationMs / experience.vesselDays) * toDo;
    const byRows = experience.rows > 0 ? (experience.durationMs / experience.rows) * rows : 0;
    return { durationMs: Math.max(byDay, byRows) / workers, boundBy: 'experience' };
  }
  const atOnce = Math.min(concurrencyLimit, workers);
  const waitingMs = (requests * latencyMs) / atOnce;
  if (timed === undefined || timed.rows === 0) return { durationMs: waitingMs, boundBy: 'requests' };
  const rowMs = Math.max(timed.durationMs - latencyMs, 1) / timed.rows / atOnce;
  const durationMs = waitingMs + rows * Math.max(rowMs, 1_000 / ASSUMED_ROWS_PER_SECOND);
  return { durationMs, boundBy: 'timed-request' };
}

/** `count` of `items`, evenly spread and in their order; all of them if there are no more. */
export function spread<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items];
  return Array.from({ length: count }, (_, i) => items[Math.floor(((i + 0.5) * items.length) / count)]!);
}
