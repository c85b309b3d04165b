/** Rules between the fields of a job file. */
import { DEFAULT_LOOKBACK, parseDurationMs, UNIT_MS, windowMicros } from './job-file.ts';

/** What breaks them, as far as fields can be understood: all faults of a file are named at once. `path` is for messages. */
export function ruleFaults(path: string, content: unknown): string[] {
  if (typeof content !== 'object' || content === null) return [];
  const { dataset, window, aggregations, transport, schedule, reconcile, since } = content as Readonly<
    Record<string, unknown>
  >;
  const faults: string[] = [];
  const statistics = dataset === 'statistics';
  const known = dataset === 'measurements' || dataset === 'metadata' || statistics;
  if (statistics && window === undefined) faults.push(`${path}: window: not set, expected one such as 10m`);
  if (known && !statistics && window !== undefined)
    faults.push(`${path}: window: only for dataset statistics`);
  if (known && !statistics && aggregations !== undefined)
    faults.push(`${path}: aggregations: only for dataset statistics`);
  if (known && transport === 'parquet' && dataset !== 'measurements') {
    faults.push(`${path}: transport: the service sends Parquet for measurements only; use ndjson or json`);
  }
  if (typeof window === 'string' && windowMicros(window) === undefined) {
    faults.push(
      `${path}: window: got '${window}', expected minutes, hours or 1d that divide a day, such as 10m, 1h or 6h`,
    );
  }
  const lookback = (reconcile as { lookback?: unknown } | null | undefined)?.lookback;
  if (typeof lookback === 'string' && (parseDurationMs(lookback) ?? 0) % UNIT_MS.d !== 0) {
    faults.push(`${path}: reconcile.lookback: got '${lookback}', expected whole days, such as 14d`);
  }
  if (dataset === 'metadata') {
    if (since !== undefined)
      faults.push(
        `${path}: since: the service keeps no history of metadata, so there is nothing to catch up on`,
      );
    return faults;
  }
  const settle = (schedule as { settle?: unknown } | null | undefined)?.settle;
  const [settleMs, lookbackMs] = [settle, reconcile && (lookback ?? DEFAULT_LOOKBACK)].map((text) =>
    typeof text === 'string' ? parseDurationMs(text) : undefined,
  );
  if (settleMs !== undefined && lookbackMs !== undefined && settleMs >= lookbackMs) {
    const expected = `expected less than reconcile.lookback (${lookback ?? DEFAULT_LOOKBACK}): no day of a look-back would be due`;
    faults.push(`${path}: schedule.settle: got '${settle}', ${expected}`);
  }
  return faults;
}
