import { DataError, HttpStatusError, RetriableError, shortName } from '../core/errors.ts';
import type { Micros, QueryRequest, QueryResponse, VesselDay } from '../core/model/index.ts';
import { formatVesselDay, MAX_SERIES, microsToIso } from '../core/model/index.ts';
import { describeRequest, nameRequest } from './fetch/address.ts';
import { unreachableCode } from './fetch/faults.ts';
import type { FailureStreak } from './fetch/retry.ts';

/** A reading of a series that metadata did not name: the set of series may have changed meanwhile. */
export class UnknownSeriesError extends DataError {
  constructor(day: VesselDay, timeSeriesId: string) {
    super(
      'unknown-series',
      `${formatVesselDay(day)}: got a reading of series '${shortName(timeSeriesId)}', which metadata for the same selection does not list; run again, and if it stays, report it to the operator of the query service`,
    );
  }
}

/** Statistics tell a value of one window twice: nobody knows which is right. `of`: whose they are. */
export function repeatedResult(of: string, aggregation: string, timeSeriesId: string, windowMicros: Micros) {
  return new DataError(
    'repeated-result',
    `${of}: got '${aggregation}' of series ${shortName(timeSeriesId)} twice for the window at ${microsToIso(windowMicros)}, expected once; report it to the operator of the query service`,
  );
}

export function tooManySeries(): DataError {
  return new DataError(
    'too-many-series',
    `got more than ${MAX_SERIES} different series, which is the limit; select fewer series, in several jobs if necessary, or report it to the operator of the query service if a vessel has fewer`,
  );
}

/** What to throw inside an exchange for what a decoder found: with what was asked, and retriable where the body was cut or changed on the way. */
export function answerFault(
  error: unknown,
  request: QueryRequest,
  { requestId }: Pick<QueryResponse, 'requestId'>,
): unknown {
  if (!(error instanceof DataError || error instanceof RetriableError) || error instanceof UnknownSeriesError)
    return error;
  const what = nameRequest(describeRequest(request), requestId);
  const message = error.message.startsWith(what) ? error.message : `${what}: ${error.message}`;
  const options = { cause: error };
  if (error instanceof RetriableError || ['body-truncated', 'body-damaged'].includes(error.code))
    return new RetriableError(error.code, message, options);
  return new DataError(error.code, message, options);
}

/** May asking for less at once avoid this failure? Not where nobody was there to answer, or the row of failures is over. */
export function mayFitInHalves(error: unknown, streak: Readonly<FailureStreak>): boolean {
  if (error instanceof HttpStatusError) return error.status === 400 || error.status === 413;
  if (error instanceof DataError) return error.code === 'page-too-large';
  const isServiceFault = error instanceof RetriableError && unreachableCode(error) === undefined;
  return isServiceFault && error === streak.gaveUpOn && !streak.isOver;
}
