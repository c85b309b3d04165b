import { IncomingMessage } from 'node:http';
import { S3Client } from '@aws-sdk/client-s3';
import { cleanForeignText, VesselExportError } from '../../core/errors.ts';
import { checkKey } from '../key.ts';
import { MAX_ANSWER_BYTES, strangeAnswer, watchBody } from '../remote.ts';
import { isDamagedOnItsWay, s3Error } from './errors.ts';
import { sayOfNewObjects } from './new-objects.ts';
import type { S3Settings } from './settings.ts';

export interface S3StoreOptions extends S3Settings {
  readonly bucket: string;
  /** Comes before every key, with a slash; '' for none. */
  readonly prefix: string;
  /** Sockets in use at once (default 32); further calls wait for one. */
  readonly maxSockets?: number;
  /** Time to connect (default 5 s), without a byte on the socket (60 s), and from call to answer (5 min). */
  readonly connectTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  /** The body of an answer may take so long (default 1 min), and as long again as it would at 10 KiB a second. */
  readonly slowBodyGraceMs?: number;
  /** Entries asked for in one list request (default 1000); for tests. */
  readonly pageSize?: number;
}

export type S3Bucket = ReturnType<typeof openBucket>;

/** The SDK's delays begin at 50 ms and double, so eight tries bear with a store that is gone for some seconds. */
const DEFAULT_MAX_ATTEMPTS = 8;
/** Three sets of credentials are kept. */
const MAX_KNOWN_SECRETS = 9;

export function openBucket(options: S3StoreOptions) {
  const { bucket, endpoint, region, credentials } = options;
  const folder = options.prefix === '' ? '' : `${options.prefix}/`;
  const url = `s3://${bucket}${options.prefix === '' ? '' : `/${options.prefix}`}`;
  const via = endpoint === undefined ? '' : ` at ${new URL(endpoint).origin}`;
  const credentialsNow = typeof credentials === 'function' ? credentials : () => credentials;
  // Those before may still be in messages about calls under way.
  const known = new Set<string>();
  const secrets = () => {
    for (const secret of Object.values(credentialsNow() ?? {})) known.add(secret);
    for (const secret of known) if (known.size > MAX_KNOWN_SECRETS) known.delete(secret);
    return [...known];
  };
  const { maxSockets = 32, connectTimeoutMs = 5_000, idleTimeoutMs = 60_000 } = options;
  const sockets = { keepAlive: true, maxSockets };
  const settings = {
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(region !== undefined && { region }),
    ...(credentials !== undefined && {
      // What has expired the SDK asks for again, at every call.
      credentials: async () => {
        secrets();
        return { ...credentialsNow()!, expiration: new Date() };
      },
    }),
    // Bodies are checked by the SHA-256 that every request signs. The SDK's newer checksums are not understood
    // by every store, and sending them as trailers is answered 411 by Ceph 16.
    requestChecksumCalculation: 'WHEN_REQUIRED' as const,
    // The SDK opens a connection for every larger body with this header, past the bound on sockets.
    expectContinueHeader: false,
    maxAttempts: options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
  };
  const client = new S3Client({
    ...settings,
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      socketTimeout: idleTimeoutMs,
      requestTimeout: options.answerTimeoutMs ?? 300_000,
      throwOnRequestTimeout: true,
      httpAgent: sockets,
      httpsAgent: sockets,
    },
  });
  retryDamagedBodies(client);
  watchBodies(client, options.slowBodyGraceMs ?? 60_000);
  if (options.newObjects !== undefined) sayOfNewObjects(client, options.newObjects);
  const onceClient = new S3Client({
    ...settings,
    maxAttempts: 1,
    requestHandler: client.config.requestHandler,
  });
  shareClock(client, onceClient);

  const errorOf = (error: unknown, doing: string, key: string): VesselExportError =>
    error instanceof VesselExportError
      ? error
      : s3Error(error, doing, `s3://${bucket}/${folder}${key}${via}`, secrets());

  return {
    bucket,
    url,
    /** What every name of ours in the bucket begins with: '' or `prefix/`. */
    folder,
    pageSize: options.pageSize ?? 1000,
    client,
    /** Tries a call once: at a second try of a completing call "no such upload" may mean that the first one has worked. */
    onceClient,
    /** The bucket's name of a key. Throws FatalError (`bad-key`). */
    nameOf(key: string): string {
      checkKey(key);
      return folder + key;
    },
    /** The key of a name in the bucket that begins with our prefix. */
    keyOf: (name: string): string => name.slice(folder.length),
    /** Text from the store, fit to be shown. */
    clean: (text: string): string => cleanForeignText(text, secrets(), 300),
    /** What an SDK call threw, as one of our kinds. */
    error: errorOf,
    /** Run an SDK call; what it throws leaves as one of our kinds. */
    async call<T>(doing: string, key: string, work: () => Promise<T>): Promise<T> {
      try {
        return await work();
      } catch (error) {
        throw errorOf(error, doing, key);
      }
    },
  };
}

/** What one has learned of the store's clock holds for both: a call that is sent once cannot be sent again for it. */
function shareClock({ config: learned }: S3Client, { config }: S3Client): void {
  Object.defineProperty(config, 'systemClockOffset', {
    get: () => learned.systemClockOffset,
    set: (offsetMs: number) => {
      learned.systemClockOffset = offsetMs;
    },
  });
}

/** The SDK's time-outs end where the body begins, but for a socket on which nothing comes at all. */
function watchBodies({ config }: S3Client, graceMs: number): void {
  const handler = config.requestHandler;
  const handle = handler.handle.bind(handler);
  handler.handle = async (...call) => {
    const answer = await handle(...call);
    const { statusCode, body } = answer.response;
    if (body instanceof IncomingMessage) {
      const isObject = statusCode < 300 && call[0].query?.['x-id'] === 'GetObject';
      // How large an object may be is for those to say who read it.
      if (!isObject) boundBody(body);
      watchBody(body, graceMs);
    }
    return answer;
  };
}

/** The SDK takes the whole of it and then makes objects of its XML, and chunks may come for ever. */
function boundBody(body: IncomingMessage): void {
  let sizeBytes = body.readableLength;
  const push = body.push.bind(body);
  body.push = (chunk: Buffer | null, encoding) => {
    sizeBytes += chunk?.length ?? 0;
    if (sizeBytes <= MAX_ANSWER_BYTES) return push(chunk, encoding);
    body.destroy(strangeAnswer(`the answer has more than ${MAX_ANSWER_BYTES} bytes`));
    return false;
  };
}

/** Mark what the SDK takes for a final refusal but a damaged transmission has caused. */
function retryDamagedBodies(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        if (isDamagedOnItsWay(error)) Object.assign(error as object, { $retryable: { throttling: false } });
        throw error;
      }
    },
    { step: 'finalizeRequest', priority: 'low', name: 'retryDamagedBodies' },
  );
}
