/**
 * Reading small objects by the thousand. A call of the SDK takes a millisecond of processor time, most of it for finding
 * anew what is the same for every object of a bucket: address, scheme, headers. Here that is taken from the SDK once,
 * with its signer and its HTTP handler, so that credentials, endpoints, sockets and time-outs stay its own.
 *
 * Only two answers count: an object whose bytes are those that its ETag names, and "there is no such object". Whatever
 * else happens, nothing is known, and the SDK is asked: all faults and all tries stay with it.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { S3Client } from '@aws-sdk/client-s3';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import type { Version } from './store.ts';

export interface SmallReads {
  /** An object; `missing`; undefined where the SDK has to be asked. `name`: its name in the bucket. */
  read(
    name: string,
  ): Promise<{ readonly bytes: Uint8Array; readonly version: Version } | 'missing' | undefined>;
}

/** Larger ones are not small: what they take is their bytes. */
const MAX_SMALL_BYTES = 16 << 20;
const PLAIN_MD5 = /^"?([0-9a-f]{32})"?$/;
const NO_SUCH_KEY = '<Code>NoSuchKey</Code>';
const SHA256_OF_NOTHING = hash('sha256', '');
/** Stands in the address that is taken from the SDK where the name of an object goes. */
const PLACE = 'vessel-export-name';

/** `isAllowed`: false where nothing may be tried twice. */
export function createSmallReads(client: S3Client, bucket: string, isAllowed: boolean): SmallReads {
  let learning: Promise<Way | 'unusual'> | undefined;
  /** Not with a store whose ETags are no digests, such as one that encrypts with keys of its own. */
  let isUsable = isAllowed;
  return {
    async read(name) {
      if (!isUsable) return undefined;
      learning ??= learnWay(client, bucket);
      try {
        const way = await learning;
        if (way === 'unusual') isUsable = false;
        if (way === 'unusual') return undefined;
        const answer = await way.send(name);
        if (answer === 'other-etag') isUsable = false;
        return answer === 'other-etag' ? undefined : answer;
      } catch {
        // Credentials may have been out of reach when it was learnt.
        learning = undefined;
        return undefined;
      }
    },
  };
}

/** How the SDK sends a request for an object of the bucket. */
interface Way {
  send(name: string): Promise<{ bytes: Uint8Array; version: Version } | 'missing' | 'other-etag' | undefined>;
}

/** As far as it is needed of what the SDK's signing step is given. */
interface SdkRequest {
  readonly headers: Record<string, string>;
  readonly path: string;
  readonly method: string;
}
interface SdkContext {
  readonly endpointV2?: {
    readonly properties?: { readonly authSchemes?: readonly { readonly name?: string }[] };
  };
  readonly __smithy_context?: {
    readonly selectedHttpAuthScheme?: {
      readonly httpAuthOption: {
        readonly schemeId: string;
        readonly signingProperties?: { readonly signingRegion?: string; readonly signingName?: string };
      };
    };
  };
}
interface SdkSigner {
  sign(request: SdkRequest, options: object): Promise<SdkRequest>;
}
interface SdkConfig {
  readonly signer: (scheme: object | undefined) => Promise<SdkSigner>;
  readonly systemClockOffset?: number;
  readonly requestHandler: {
    handle(request: SdkRequest): Promise<{ readonly response: SdkResponse }>;
  };
}
interface SdkResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: IncomingMessage;
}

/** `unusual`: requests for the bucket are signed in another way than most are. */
async function learnWay(client: S3Client, bucket: string): Promise<Way | 'unusual'> {
  const { request, context } = await requestBeforeSigning(client, bucket);
  const config = client.config as unknown as SdkConfig;
  const [scheme] = context.endpointV2?.properties?.authSchemes ?? [];
  const option = context.__smithy_context?.selectedHttpAuthScheme?.httpAuthOption;
  const { signingRegion, signingName: signingService } = option?.signingProperties ?? {};
  const isUsual = option?.schemeId === 'aws.auth#sigv4' && (scheme?.name ?? 'sigv4') === 'sigv4';
  const parts = request.path.split(PLACE);
  if (!isUsual || parts.length !== 2 || parts[1] !== '') return 'unusual';
  const signer = await config.signer(scheme);
  const { host, 'user-agent': agent } = request.headers;
  const headers = { ...(host && { host }), ...(agent && { 'user-agent': agent }) };
  return {
    async send(name) {
      const unsigned = Object.assign(Object.create(Object.getPrototypeOf(request) as object), request, {
        path: parts[0] + escapedName(name),
        query: {},
        headers: { ...headers, 'x-amz-content-sha256': SHA256_OF_NOTHING },
      }) as SdkRequest;
      const signingDate = new Date(Date.now() + (config.systemClockOffset ?? 0));
      const signed = await signer.sign(unsigned, { signingDate, signingRegion, signingService });
      const { response } = await config.requestHandler.handle(signed);
      return await readAnswer(response);
    },
  };
}

/** What the SDK would sign, for an object named PLACE. */
async function requestBeforeSigning(
  client: S3Client,
  bucket: string,
): Promise<{ request: SdkRequest; context: SdkContext }> {
  let found: { request: SdkRequest; context: SdkContext } | undefined;
  const enough = new Error('the request is known');
  const command = new GetObjectCommand({ Bucket: bucket, Key: PLACE });
  command.middlewareStack.addRelativeTo(
    (_next: unknown, context: unknown) => async (args: { readonly request: unknown }) => {
      found = { request: args.request as SdkRequest, context: context as SdkContext };
      throw enough;
    },
    { relation: 'before', toMiddleware: 'httpSigningMiddleware', name: 'showRequest' },
  );
  await client.send(command).catch((error: unknown) => {
    if (error !== enough) throw error;
  });
  return found!;
}

/** As the SDK writes the name of an object in a path. */
function escapedName(name: string): string {
  return name
    .split('/')
    .map((segment) =>
      encodeURIComponent(segment).replace(
        /[!'()*]/g,
        (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
      ),
    )
    .join('/');
}

async function readAnswer({ statusCode, headers, body }: SdkResponse): ReturnType<Way['send']> {
  const length = Number(headers['content-length'] ?? Number.NaN);
  if ((statusCode !== 200 && statusCode !== 404) || !(length <= MAX_SMALL_BYTES)) {
    body.destroy();
    return undefined;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  if (bytes.length !== length) return undefined;
  if (statusCode === 404) return bytes.includes(NO_SUCH_KEY) ? 'missing' : undefined;
  const version = headers.etag ?? '';
  const digest = PLAIN_MD5.exec(version)?.[1];
  if (digest === undefined) return undefined;
  return hash('md5', bytes) === digest ? { bytes, version } : 'other-etag';
}
