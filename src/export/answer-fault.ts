/** What a decoder found wrong with an answer, said with what was asked. */
import { DataError, RetriableError } from '../errors.ts';
import { describeRequest } from '../fetch/address.ts';
import type { QueryRequest } from '../model/index.ts';
import { UnknownSeriesError } from './clean-start.ts';

/**
 * The error to throw inside an exchange for what came out of reading its answer. A body that ends too soon although
 * HTTP calls it whole (something on the way cut it) is worth another try, so it becomes a RetriableError.
 */
export function answerFault(error: unknown, request: QueryRequest): unknown {
  if (!(error instanceof DataError || error instanceof RetriableError) || error instanceof UnknownSeriesError)
    return error;
  const what = describeRequest(request);
  const message = error.message.startsWith(what) ? error.message : `${what}: ${error.message}`;
  const options = { cause: error };
  if (error instanceof RetriableError || error.code === 'body-truncated')
    return new RetriableError(error.code, message, options);
  return new DataError(error.code, message, options);
}
