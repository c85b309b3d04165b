import type { VesselExportError } from '../../core/errors.ts';
import {
  CommitFailedError,
  cleanForeignText,
  FatalError,
  messageOf,
  RetriableError,
} from '../../core/errors.ts';

interface S3Fault {
  /** S3's error code (`NoSuchUpload`), or the name of the thrown error. */
  readonly name: string;
  /** HTTP status; undefined when no answer came. */
  readonly status: number | undefined;
  readonly text: string;
}

type Verdict = readonly [code: string, whatToDoNext: string];

const CHECK_KEYS: Verdict = [
  'bad-credentials',
  'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN (or the profile or role they come from).',
];
const CHECK_REGION: Verdict = [
  'wrong-region',
  'Set AWS_REGION to the region of the bucket (and AWS_ENDPOINT_URL_S3 to its address, if it is not one of Amazon).',
];
const FREE_SPACE: Verdict = [
  'disk-full',
  'The store or its quota is full. What was published before is unchanged. Free space there and run again.',
];
const CHECK_CLOCK: Verdict = [
  'clock-skew',
  "This machine's clock and the store's differ by too much: set the clock.",
];
const CHECK_POLICY: Verdict = [
  'no-permission',
  'Check the credentials and their policy: they need s3:ListBucket, s3:ListBucketMultipartUploads on the bucket and s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListMultipartUploadParts on its objects (without s3:ListBucket a missing object looks forbidden).',
];

/** Faults that no retry fixes, by S3's error code. */
const FATAL: Readonly<Record<string, Verdict>> = {
  // One object among several that were to be removed has no status.
  AccessDenied: CHECK_POLICY,
  NoSuchBucket: ['no-bucket', 'Create the bucket, or correct LAKE_URL.'],
  InvalidBucketName: ['no-bucket', 'Correct the bucket in LAKE_URL.'],
  InvalidAccessKeyId: CHECK_KEYS,
  SignatureDoesNotMatch: CHECK_KEYS,
  InvalidToken: CHECK_KEYS,
  ExpiredToken: CHECK_KEYS,
  TokenRefreshRequired: CHECK_KEYS,
  CredentialsProviderError: CHECK_KEYS,
  RequestTimeTooSkewed: CHECK_CLOCK,
  RequestExpired: CHECK_CLOCK,
  PermanentRedirect: CHECK_REGION,
  AuthorizationHeaderMalformed: CHECK_REGION,
  IllegalLocationConstraintException: CHECK_REGION,
  QuotaExceeded: FREE_SPACE,
  XMinioStorageFull: FREE_SPACE,
  InsufficientStorage: FREE_SPACE,
  BadCertificate: [
    'bad-certificate',
    "The store's TLS certificate cannot be trusted: correct the endpoint, or name its authority in NODE_EXTRA_CA_CERTS.",
  ],
  NotImplemented: [
    'unsupported-store',
    'This store lacks a call that is needed (multipart uploads, If-None-Match). Use one that has them.',
  ],
  EntityTooSmall: ['part-too-small', 'All parts but the last must have 5 MiB or more: a defect here.'],
  KeyTooLongError: ['bad-key', 'Shorten the prefix in LAKE_URL.'],
};

const CERTIFICATE = /CERT|^UNABLE_TO_/;
const NO_REGION = /region is missing/i;

/** Bodies that were damaged or cut on their way: the store refused them, sending again fixes it. */
const DAMAGED = new Set(
  'BadDigest XAmzContentSHA256Mismatch InvalidDigest IncompleteBody RequestTimeout'.split(' '),
);

/** Does sending the same request again help, though the SDK would not? */
export function isDamagedOnItsWay(error: unknown): boolean {
  return DAMAGED.has(faultOf(error).name);
}

/** Name, status and text of whatever an SDK call threw. */
export function faultOf(error: unknown): S3Fault {
  const { name, $metadata, code } = error as {
    name?: string;
    code?: string;
    $metadata?: { httpStatusCode?: number };
  };
  const message = messageOf(error);
  // Some stores send no text, and the SDK makes one up.
  const text = message === name || message === 'UnknownError' ? '' : message;
  // TLS faults all have the name "Error".
  const shownName = code !== undefined && CERTIFICATE.test(code) ? 'BadCertificate' : (name ?? 'unknown');
  return {
    name: shownName,
    status: $metadata?.httpStatusCode,
    text: code && !text.includes(code) ? `${code} ${text}` : text,
  };
}

/** Is this the answer "there is no such object"? */
export function isMissing(error: unknown): boolean {
  const { name, status } = faultOf(error);
  return status === 404 && (name === 'NoSuchKey' || name === 'NotFound');
}

/** Is another version there than the condition of a call names (412), or did one come or go meanwhile (409)? */
export function isConflict(error: unknown): boolean {
  const { status } = faultOf(error);
  return status === 412 || status === 409;
}

/** Does the store lack the call, or a condition of it? */
export function isNotImplemented(error: unknown): boolean {
  const { name, status } = faultOf(error);
  return name === 'NotImplemented' || status === 501;
}

/** `upload-gone` where the upload does not exist (any more); undefined for any other fault. */
export function uploadGone(error: unknown, key: string): CommitFailedError | undefined {
  // Ceph 16 says NoSuchKey when asked for the parts of an upload that is gone.
  const { name } = faultOf(error);
  if (name !== 'NoSuchUpload' && name !== 'NoSuchKey') return undefined;
  return new CommitFailedError(
    'upload-gone',
    `the upload of ${key} does not exist any more: it was completed, aborted (perhaps by a lifecycle rule) or never begun.`,
    { cause: error },
  );
}

/** Does an upload not hold the parts, or not as they are named, that it is to be completed with? */
export function isPartRefused(error: unknown): boolean {
  return /^InvalidPart(Order)?$/.test(faultOf(error).name);
}

/** Did the store certainly refuse the call, so that it had no effect? */
export function wasRefused(error: unknown): boolean {
  const { name, status } = faultOf(error);
  if (Object.hasOwn(FATAL, name)) return true;
  return status !== undefined && status >= 400 && status < 500 && status !== 408;
}

/** An SDK error by consequence. `doing` and `where` begin the message; `secrets` never appear in it. */
export function s3Error(
  error: unknown,
  doing: string,
  where: string,
  secrets: readonly string[],
): VesselExportError {
  const fault = faultOf(error);
  const found = cleanForeignText([fault.status ?? '', fault.name, fault.text].join(' '), secrets, 300);
  const what = `cannot ${doing} ${where}: ${found}.`;
  const verdict = verdictOf(fault);
  // No `cause`: the SDK's errors hold the whole request and response, credentials' names among them.
  if (verdict !== undefined) return new FatalError(verdict[0], `${what} ${verdict[1]}`);
  return new RetriableError(
    fault.status === 503 || fault.status === 429 ? 's3-overloaded' : 's3-unavailable',
    what,
  );
}

function verdictOf({ name, status, text }: S3Fault): Verdict | undefined {
  if (NO_REGION.test(text)) return ['no-region', 'Set AWS_REGION to the region of the bucket.'];
  if (Object.hasOwn(FATAL, name)) return FATAL[name];
  if (DAMAGED.has(name) || name === 'OperationAborted' || name === 'ConditionalRequestConflict')
    return undefined;
  if (status === undefined || status === 408 || status === 429) return undefined;
  if (status === 301) return CHECK_REGION;
  if (status === 401 || status === 403) return CHECK_POLICY;
  if (status === 507) return FREE_SPACE;
  const isRefused = status >= 400 && status < 500;
  return isRefused ? ['s3-refused', 'No retry fixes this; check the response.'] : undefined;
}
