/**
 * Requests for small objects by the thousand. A call of the SDK takes a millisecond of processor time and more, most of it
 * for finding anew what is the same for every object of a bucket: address, scheme, headers. Here that is taken from the SDK
 * once, with its signer and its HTTP handler, so that credentials, endpoints, sockets and time-outs stay its own.
 *
 * An answer counts only where it is whole and says what was hoped for. Whatever else happens, nothing is known, and the SDK
 * is asked: all faults and all further tries stay with it. To it and to those who call it, ours is a try that it made.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { S3Client } from '@aws-sdk/client-s3';
import { GetObjectCommand } from '@aws-sdk/client-s3';

interface ShortRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** An object's name in the bucket; '' for the bucket itself. */
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  /** In lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** SHA-256 (hex) of the body, where it is known. */
  readonly sha256?: string;
}

/** An answer that came whole. */
export interface ShortAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

export interface ShortWay {
  /** The answer, whatever it is; undefined where the SDK has to be asked. */
  send(request: ShortRequest): Promise<ShortAnswer | undefined>;
}

/** Larger ones are not small: what they take is their bytes. */
const MAX_SMALL_BYTES = 16 << 20;
const SHA256_OF_NOTHING = hash('sha256', '');
/** Stands in the address that is taken from the SDK where the name of an object goes. */
const PLACE = 'vessel-export-name';

/** From a store that is overloaded on the SDK asks, which waits between its tries and keeps account of them. */
const REST_MS = 10_000;
const BUSY: ReadonlySet<number> = new Set([429, 503]);

/** `isAllowed`: false where nothing may be tried twice. */
export function createShortWay(client: S3Client, bucket: string, isAllowed: boolean): ShortWay {
  let learning: Promise<ShortWay | 'unusual'> | undefined;
  let busyMs = Number.NEGATIVE_INFINITY;
  return {
    async send(request) {
      if (!isAllowed || performance.now() < busyMs + REST_MS) return undefined;
      learning ??= learnWay(client, bucket);
      try {
        const way = await learning;
        const answer = way === 'unusual' ? undefined : await way.send(request);
        if (answer !== undefined && BUSY.has(answer.status)) busyMs = performance.now();
        return answer;
      } catch {
        // Credentials may have been out of reach when it was learnt.
        learning = undefined;
        return undefined;
      }
    },
  };
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
async function learnWay(client: S3Client, bucket: string): Promise<ShortWay | 'unusual'> {
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
    async send({ method, name, query = {}, headers: own, body, sha256 = SHA256_OF_NOTHING }) {
      const length = body === undefined ? undefined : { 'content-length': String(body.length) };
      const unsigned = Object.assign(Object.create(Object.getPrototypeOf(request) as object), request, {
        ...{ method, query, body, path: parts[0] + escapedName(name) },
        headers: { ...headers, ...length, ...own, 'x-amz-content-sha256': sha256 },
      }) as SdkRequest;
      const signingDate = new Date(Date.now() + (config.systemClockOffset ?? 0));
      const signed = await signer.sign(unsigned, { signingDate, signingRegion, signingService });
      const { response } = await config.requestHandler.handle(signed);
      const bytes = await readWhole(response);
      return bytes && { status: response.statusCode, headers: response.headers, bytes };
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

/** Undefined for an answer that is too large, or not whole. */
async function readWhole({ headers, body }: SdkResponse): Promise<Uint8Array | undefined> {
  const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  let sizeBytes = 0;
  const chunks: Buffer[] = [];
  if (length !== undefined && !(length <= MAX_SMALL_BYTES)) {
    body.destroy();
    return undefined;
  }
  for await (const chunk of body) {
    sizeBytes += (chunk as Buffer).length;
    if (sizeBytes > MAX_SMALL_BYTES) return undefined;
    chunks.push(chunk as Buffer);
  }
  if (!body.complete || (length !== undefined && length !== sizeBytes)) return undefined;
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, sizeBytes);
}
