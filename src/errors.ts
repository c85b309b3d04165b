/**
 * Errors by consequence: the class answers "what should the caller do now?", never "which library threw?".
 * `code` is stable and may be matched by scripts; the message says what, where, what was found, what was
 * expected and what to do next. Messages never hold a secret: whoever builds one from foreign text passes it
 * through `cleanForeignText` first.
 *
 *   ConfigError          a setting or job file is wrong            → exit 2, nothing was started
 *   FatalError           no retry can help (credential, contract)  → stop this and everything like it
 *   RetriableError       may pass by itself                        → try again after a delay
 *   RateLimitedError     the service asks for fewer requests       → wait `retryAfterMs`, costs no attempt
 *   DataError            the data breaks a rule                    → this vessel-day fails, the others go on
 *   RefusedError         we refuse to publish (never-shrink, …)    → the published day stays, exit 1
 *   FencedError          another attempt owns the vessel-day       → stop without retry and without harm
 *   CommitFailedError    the commit certainly did not happen       → may be tried again
 *   CommitUnknownError   the commit may have happened              → read before writing again
 *   CancelledError       someone asked us to stop                  → exit 130
 */
export abstract class VesselExportError extends Error {
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.name = new.target.name;
  }
}

export class ConfigError extends VesselExportError {}
export class FatalError extends VesselExportError {}
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
export class RefusedError extends VesselExportError {
  /** Digest of the source's totals that were refused; undefined where it was not asked for them. */
  readonly totalsSha256: string | undefined;
  constructor(code: string, message: string, totalsSha256?: string, options?: ErrorOptions) {
    super(code, message, options);
    this.totalsSha256 = totalsSha256;
  }
}
export class FencedError extends VesselExportError {}
export class CommitFailedError extends VesselExportError {}
export class CommitUnknownError extends VesselExportError {}
export class CancelledError extends VesselExportError {
  constructor(message = 'cancelled', options?: ErrorOptions) {
    super('cancelled', message, options);
  }
}

/** The service answered with a status that no retry mends; carries the status for callers that can adapt. */
export class HttpStatusError extends FatalError {
  readonly status: number;
  constructor(status: number, code: string, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.status = status;
  }
}

/** Turn an unknown thrown value into a one-line message. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Make text from a peer safe to show: control characters go, each secret becomes `***`, and it is cut to
 * `maxChars` characters.
 */
export function cleanForeignText(text: string, secrets: readonly string[] = [], maxChars = 500): string {
  let clean = text;
  for (const secret of secrets) if (secret.length >= 4) clean = clean.replaceAll(secret, '***');
  clean = clean.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, ' ').trim();
  return clean.length > maxChars ? `${clean.slice(0, maxChars)}…` : clean;
}
