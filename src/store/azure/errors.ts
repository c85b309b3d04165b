import {
  cleanForeignText,
  FatalError,
  messageOf,
  RetriableError,
  type VesselExportError,
} from '../../core/errors.ts';
import { CERTIFICATE_CODES } from '../../core/model/web-address.ts';

interface AzureFault {
  /** Azure's error code (`BlobNotFound`), that of the system (`ECONNREFUSED`), or the name of what was thrown. */
  readonly code: string;
  /** HTTP status; undefined when no answer came. */
  readonly status: number | undefined;
  readonly text: string;
  readonly retryAfterMs: number;
}

type Verdict = readonly [code: string, whatToDoNext: string];

const CHECK_KEYS: Verdict = [
  'bad-credentials',
  'Check AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN; without them the identity that Azure finds (AZURE_CLIENT_ID, AZURE_TENANT_ID, a managed or workload identity, or az login).',
];
const CHECK_ROLE: Verdict = [
  'no-permission',
  'Check what the key, the signature or the role allows: on the container it needs to read, list, write and delete blobs (Storage Blob Data Contributor, or docs/azure-roles/exporter.json), and the network rules of the account must let this machine in.',
];
const NO_CONTAINER: Verdict = ['no-bucket', 'Create the container, or correct LAKE_URL.'];
const OTHER_KIND: Verdict = [
  'key-conflict',
  'Something of another kind is in its place (an append or page blob, or a folder). Check what is there and move it away.',
];
const OLD_ACCOUNT: Verdict = [
  'unsupported-store',
  'This account lacks a call that is needed (block blobs). Use a general-purpose v2 or a premium block blob account.',
];

/** Faults that no retry fixes, by Azure's error code or the name of what its SDK throws. */
const FATAL: Readonly<Record<string, Verdict>> = {
  ContainerNotFound: NO_CONTAINER,
  ContainerDisabled: NO_CONTAINER,
  InvalidResourceName: NO_CONTAINER,
  AuthenticationFailed: CHECK_KEYS,
  InvalidAuthenticationInfo: CHECK_KEYS,
  NoAuthenticationInformation: CHECK_KEYS,
  KeyBasedAuthenticationNotPermitted: CHECK_KEYS,
  CredentialUnavailableError: CHECK_KEYS,
  AuthenticationError: CHECK_KEYS,
  AuthenticationRequiredError: CHECK_KEYS,
  AggregateAuthenticationError: CHECK_KEYS,
  AccountIsDisabled: ['no-permission', 'The storage account is disabled.'],
  InvalidBlobType: OTHER_KIND,
  ResourceTypeMismatch: OTHER_KIND,
  PathConflict: OTHER_KIND,
  BlobImmutableDueToPolicy: [
    'no-permission',
    'An immutability policy of the container keeps the blob. Put the lake into a container without one.',
  ],
  BlobArchived: [
    'no-permission',
    'The blob lies in the archive tier, where nothing can be read. Bring it back to a tier that is online.',
  ],
  FeatureNotSupported: OLD_ACCOUNT,
  BlobTypeNotSupported: OLD_ACCOUNT,
  UnsupportedHeader: OLD_ACCOUNT,
};

const RETRIED = new Set([408, 429, 500, 502, 503, 504]);
/** The body was damaged on its way: the store refused it, sending it again fixes it. */
const DAMAGED = new Set(['Md5Mismatch', 'Crc64Mismatch', 'IncompleteBody']);

/** Code, status and text of whatever a call of the SDK threw. */
export function faultOf(error: unknown): AzureFault {
  const { name, code, statusCode, details, response } = error as {
    name?: string;
    code?: string;
    statusCode?: number;
    details?: { errorCode?: string };
    response?: { headers?: { get(name: string): string | undefined } };
  };
  const seconds = Number(response?.headers?.get('retry-after') ?? 0);
  return {
    code: details?.errorCode ?? code ?? name ?? 'unknown',
    status: statusCode,
    // The rest are the ids of the request, and the times.
    text: messageOf(error).split(/\s*RequestId:/)[0]!,
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1_000 : 0,
  };
}

/** Is this the answer "there is no such blob"? */
export function isMissing(error: unknown): boolean {
  const { code, status } = faultOf(error);
  return status === 404 && code === 'BlobNotFound';
}

/** Is another version there than the condition of a call names, or something where nothing was to be? */
export function isConflict(error: unknown): boolean {
  const { code, status } = faultOf(error);
  return status === 412 || (status === 409 && code === 'BlobAlreadyExists');
}

/** How long to wait at least before the next try; undefined where none helps. */
export function retryAfterMs(error: unknown): number | undefined {
  const fault = faultOf(error);
  if (verdictOf(fault) !== undefined || isConflict(error)) return undefined;
  return fault.retryAfterMs;
}

/** Did the store certainly refuse the call, so that it had no effect? */
export function wasRefused(error: unknown): boolean {
  const { status } = faultOf(error);
  return status !== undefined && status >= 400 && status < 500 && status !== 408;
}

/** What a call of the SDK threw, by consequence. `doing` and `where` begin the message; `secrets` never appear in it. */
export function azureError(
  error: unknown,
  doing: string,
  where: string,
  secrets: readonly string[],
): VesselExportError {
  const fault = faultOf(error);
  const found = cleanForeignText([fault.status ?? '', fault.code, fault.text].join(' '), secrets, 300);
  const what = `cannot ${doing} ${where}: ${found}.`;
  const verdict = verdictOf(fault);
  // No `cause`: the SDK's errors hold the whole request and response, a signature in its address among them.
  if (verdict !== undefined) return new FatalError(verdict[0], `${what} ${verdict[1]}`);
  const isOverloaded = fault.status === 503 || fault.status === 429;
  const next = fault.code === 'ENOTFOUND' ? ' Is the name of the account right?' : '';
  return new RetriableError(isOverloaded ? 'store-overloaded' : 'store-unavailable', `${what}${next}`);
}

function verdictOf({ code, status, text }: AzureFault): Verdict | undefined {
  if (
    code === 'AuthenticationFailed' &&
    /request date header|not valid in the specified time frame/i.test(text)
  )
    return [
      'clock-skew',
      "This machine's clock and Azure's differ, or the signature has expired: set the clock, or renew it.",
    ];
  if (Object.hasOwn(FATAL, code)) return FATAL[code];
  if (CERTIFICATE_CODES.test(code))
    return [
      'bad-certificate',
      "The store's TLS certificate cannot be trusted: correct the endpoint, or name its authority in NODE_EXTRA_CA_CERTS.",
    ];
  if (status === undefined || RETRIED.has(status) || DAMAGED.has(code)) return undefined;
  if (status === 401) return CHECK_KEYS;
  if (status === 403) return CHECK_ROLE;
  if (status === 409 && code === 'ContainerBeingDeleted') return undefined;
  const isRefused = status >= 400 && status < 500;
  return isRefused ? ['store-refused', 'No retry fixes this; check the response.'] : undefined;
}
