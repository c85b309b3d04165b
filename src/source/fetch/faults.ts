import { FatalError, messageOf, RetriableError, VesselExportError } from '../../core/errors.ts';
import { cleanForeignText } from '../../core/model/foreign-text.ts';
import { CERTIFICATE_CODES } from '../../core/model/web-address.ts';

export type Phase = 'headers' | 'body';

/** Codes of RetriableErrors that are time-outs: a time slice that times out is split in two. */
export const TIMEOUT_CODES = ['headers-timeout', 'idle-timeout', 'too-slow', 'gateway-timeout'];

/** Faults of the call itself, which a retry would repeat. */
const OWN_FAULTS = /^(UND_ERR_INVALID_ARG|UND_ERR_NOT_SUPPORTED|ERR_INVALID_|UND_ERR_HEADERS_OVERFLOW)/;

/** Maps errors of undici, sockets and zlib to ours; our own errors pass. `where`: the request and the address. */
export function faultOf(error: unknown, phase: Phase, where: string): VesselExportError {
  if (error instanceof VesselExportError) return error;
  const raw = rawCodeOf(error);
  const detail = `${raw === '' ? '' : `${raw}: `}${cleanForeignText(messageOf(error), [], 200)}`;
  const fault = (
    Fault: typeof FatalError | typeof RetriableError,
    code: string,
    found: string,
    advice = '',
  ) => new Fault(code, `${where}: ${found} (${detail})${advice}`, { cause: error });
  if (CERTIFICATE_CODES.test(raw)) {
    const advice =
      '; check the host name in the address, or name the issuing authority in NODE_EXTRA_CA_CERTS';
    return fault(FatalError, 'certificate-refused', "the server's certificate does not verify", advice);
  }
  if (OWN_FAULTS.test(raw)) return fault(FatalError, 'request-invalid', 'the request failed');
  if (phase === 'body') return fault(RetriableError, 'body-broken', 'the body broke off');
  if (raw === 'ENOTFOUND')
    return fault(RetriableError, 'host-unknown', 'the host name is unknown', '; check the address');
  return fault(RetriableError, 'connection-failed', 'the connection failed');
}

/** The code of our error for a refused connection or a failed name lookup. */
export function unreachableCode(error: unknown): string | undefined {
  const code = rawCodeOf((error as Error).cause);
  return ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED'].includes(code) ? code : undefined;
}

/** The code of an error or of its cause; empty if there is none. */
function rawCodeOf(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; depth++) {
    const code = (at as NodeJS.ErrnoException).code;
    if (typeof code === 'string') return code;
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return '';
}
