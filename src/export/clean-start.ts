/** Reasons to throw away an attempt's progress and begin the day again, once. */
import { DataError } from '../errors.ts';
import type { VesselDay } from '../model/index.ts';
import { formatVesselDay } from '../model/index.ts';

/** What was fetched and what the source counts disagree, after it was asked twice. */
export class CountsDisagreeError extends DataError {
  constructor(day: VesselDay, disagreements: string) {
    super(
      'counts-disagree',
      `${formatVesselDay(day)}: the readings fetched are not the readings the source counts: ${disagreements}. Nothing was published; run again later, and if it stays, report these numbers to the operator of the query service`,
    );
  }
}

/** A reading of a series that metadata did not name: the set of series may have changed meanwhile. */
export class UnknownSeriesError extends DataError {
  constructor(day: VesselDay, timeSeriesId: string) {
    super(
      'unknown-series',
      `${formatVesselDay(day)}: got a reading of series '${timeSeriesId.slice(0, 80)}', which metadata for the same selection does not list; run again, and if it stays, report it to the operator of the query service`,
    );
  }
}

/** True for errors that a clean start, with the source asked anew, may mend. */
export function deservesCleanStart(error: unknown): boolean {
  return error instanceof CountsDisagreeError || error instanceof UnknownSeriesError;
}
