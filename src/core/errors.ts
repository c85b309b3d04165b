/**
 * Errors by consequence: the class answers "what should the caller do now?", never "which library threw?".
 * `code` is stable and may be matched by scripts; the message says what, where, what was found, what was
 * expected and what to do next. Every message is cleaned and bounded here, whatever foreign text it was made of; a name
 * within one is shortened by `shortName`, so that what matters keeps its place. Messages never hold a secret: whoever
 * builds one from text that may hold one passes it through `cleanForeignText` first.
 *
 *   ConfigError          a setting or job file is wrong            → exit 2, nothing was started
 *   FatalError           no retry can help (credential, contract)  → stop this and everything like it
 *   RetriableError       may pass by itself                        → try again after a delay
 *   RateLimitedError     the service asks for fewer requests       → wait `retryAfterMs`, costs no attempt
 *   DataError            the data breaks a rule                    → this vessel-day fails, the others go on
 *   NotYetError          to be published later, as it is           → comes back after `delayMs`, costs no attempt
 *   RefusedError         we refuse to publish (never-shrink, …)    → the published day stays, exit 1
 *   FencedError          another attempt owns the vessel-day       → stop without retry and without harm
 *   NotDueError          not over by the service's clock           → comes back later, costs no attempt
 *   CommitFailedError    the commit certainly did not happen       → may be tried again
 *   CommitUnknownError   the commit may have happened              → read before writing again
 *   CancelledError       someone asked us to stop                  → exit 130
 */
import { cleanListing, cleanMessage, type Waiting } from './model/index.ts';

export { cleanForeignText, shortName } from './model/index.ts';

/** Every error of ours: a code that does not change between versions, and a message without secrets and control characters. */
export abstract class VesselExportError extends Error {
  /** What becomes of the text that an error is made with. */
  static readonly clean: (message: string) => string = cleanMessage;
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(new.target.clean(message), options);
    this.code = code;
    this.name = new.target.name;
  }
}

/** Options, settings or jobs are wrong. The message lists every error. */
export class ConfigError extends VesselExportError {
  static override readonly clean = cleanListing;
}
export function usageError(message: string): ConfigError {
  return new ConfigError('usage', message);
}
/** No retry helps: a refused credential, a full disk. */
export class FatalError extends VesselExportError {}
/** May be temporary: the service or the lake is unreachable. */
export class RetriableError extends VesselExportError {}
export class RateLimitedError extends VesselExportError {
  /** Milliseconds the service asked us to wait; undefined when it did not say. */
  readonly retryAfterMs: number | undefined;
  constructor(code: string, message: string, retryAfterMs?: number, options?: ErrorOptions) {
    super(code, message, options);
    this.retryAfterMs = retryAfterMs;
  }
}
export class DataError extends VesselExportError {}
export class NotYetError extends VesselExportError {
  readonly delayMs: number;
  readonly waiting: Waiting;
  constructor(code: string, message: string, delayMs: number, waiting: Waiting) {
    super(code, message);
    this.delayMs = delayMs;
    this.waiting = waiting;
  }
}
export class RefusedError extends VesselExportError {
  /** Digest of the source's totals that were refused; undefined where it was not asked for them. */
  readonly totalsSha256: string | undefined;
  constructor(code: string, message: string, totalsSha256?: string, options?: ErrorOptions) {
    super(code, message, options);
    this.totalsSha256 = totalsSha256;
  }
}
/** Is the published day a good one that stays, so that somebody has to decide? What else we refuse to do has failed. */
export function isRefusal({ code }: { readonly code: string }): boolean {
  return code === 'would-shrink';
}
export class FencedError extends VesselExportError {}
export class NotDueError extends VesselExportError {
  /** Milliseconds until it is due by the service's clock. */
  readonly delayMs: number;
  constructor(message: string, delayMs: number) {
    super('day-not-over', message);
    this.delayMs = delayMs;
  }
}
export class CommitFailedError extends VesselExportError {}
export class CommitUnknownError extends VesselExportError {}
/** Somebody stopped the work: a signal, or Ctrl-C. */
export class CancelledError extends VesselExportError {
  constructor(message = 'cancelled', options?: ErrorOptions) {
    super('cancelled', message, options);
  }
}

/** The service answered with a status that no retry fixes; carries the status for callers that can adapt. */
export class HttpStatusError extends FatalError {
  readonly status: number;
  constructor(status: number, code: string, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.status = status;
  }
}

/** Codes of errors that every other vessel-day would meet too. */
const CONCERNS_ALL = new Set([
  // the service
  ...['service-unreachable', 'credentials-refused', 'token-invalid', 'token-endpoint-wrong'],
  ...['wrong-api-version', 'redirect-refused', 'certificate-refused'],
  // the lake
  ...['lake-layout', 'other-source', 'unfit-store'],
  ...['disk-full', 'read-only', 'no-permission', 'no-hard-links', 'no-bucket', 'no-region', 'wrong-region'],
  ...['bad-credentials', 'bad-certificate', 'clock-skew', 'unsupported-store'],
]);

/** Would every other vessel-day end like this one? */
export function stopsAll(error: unknown): boolean {
  return (error instanceof FatalError || error instanceof ConfigError) && CONCERNS_ALL.has(error.code);
}

/** Statuses about the question itself, which is the same tomorrow; any other may come from a service that is ill. */
const REFUSED_QUESTION = new Set([400, 406, 413, 414, 415]);
/** DataErrors that are not about the vessel-day's data: a page of a gateway, or the log of a table, which gets restored. */
const OF_OTHER_DATA = new Set(['malformed-json', 'bad-parquet', 'invalid-utf8', 'damaged-log']);

/** May the same be done later, and go well, without anybody's doing? */
export function mayPass(error: unknown): boolean {
  if (error instanceof HttpStatusError) return !REFUSED_QUESTION.has(error.status);
  if (error instanceof DataError) return OF_OTHER_DATA.has(error.code);
  return [RetriableError, CommitFailedError, CommitUnknownError].some((kind) => error instanceof kind);
}

/** The code of an unknown thrown value: `internal-error` for what is no error of ours. */
export function codeOf(error: unknown): string {
  return error instanceof VesselExportError ? error.code : 'internal-error';
}

/** Turn an unknown thrown value into a one-line message, cleaned and bounded: the one way to the text of an error. */
export function messageOf(error: unknown): string {
  if (error instanceof VesselExportError) return error.message;
  return cleanMessage(error instanceof Error ? error.message : String(error));
}
