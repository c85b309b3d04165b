import { createHash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { BlockBlobClient, StoragePipelineOptions, WebResource } from '@azure/storage-blob';
import { ContainerClient, newPipeline, StorageSharedKeyCredential } from '@azure/storage-blob';
import { cleanForeignText, FatalError, VesselExportError } from '../../core/errors.ts';
import { checkKey } from '../key.ts';
import { MAX_ANSWER_BYTES, readUpTo, strangeAnswer, watchBody, withTries } from '../remote.ts';
import { azureError, retryAfterMs } from './errors.ts';
import type { AzureSecret, AzureSettings } from './settings.ts';

/** As `@azure/identity` has them. */
type TokenCredential = Extract<Parameters<typeof newPipeline>[0], { getToken: unknown }>;

export interface AzureStoreOptions extends AzureSettings {
  readonly container: string;
  /** Comes before every key, with a slash; '' for none. */
  readonly prefix: string;
  /** What fetches tokens, where there is no secret. */
  readonly identity?: TokenCredential;
  /** `az://…` or `abfss://…`, for messages. */
  readonly url: string;
  /** Sockets in use at once (default 32); further calls wait for one. */
  readonly maxSockets?: number;
  /** Time to connect (default 5 s), without a byte on the socket (60 s), and from call to answer (5 min). */
  readonly connectTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  /** The body of an answer may take so long (default 1 min), and as long again as it would at 10 KiB a second. */
  readonly slowBodyGraceMs?: number;
  /** Entries asked for in one list request (default 5000, the most that there are); for tests. */
  readonly pageSize?: number;
}

export type AzureContainer = ReturnType<typeof openContainer>;

/** Bears with a store that is gone for some seconds. */
const DEFAULT_MAX_ATTEMPTS = 8;
/** Those before may still be in messages about calls under way. */
const MAX_KNOWN_SECRETS = 9;

export function openContainer(options: AzureStoreOptions) {
  const { account, endpoint, container, url, secret, identity, encryptionScope } = options;
  const folder = options.prefix === '' ? '' : `${options.prefix}/`;
  const { maxAttempts = DEFAULT_MAX_ATTEMPTS } = options;
  const known = new Set<string>();
  const transport = createTransport(options);

  function connect(found: AzureSecret | undefined): ContainerClient {
    const isKey = found !== undefined && 'key' in found;
    const credential = isKey ? new StorageSharedKeyCredential(account, found.key) : identity;
    // One owner of tries: withTries.
    const pipeline = newPipeline(credential, { retryOptions: { maxTries: 1 }, httpClient: transport.client });
    const query = found !== undefined && 'sas' in found ? `?${found.sas}` : '';
    return new ContainerClient(`${endpoint}/${container}${query}`, pipeline);
  }

  let opened: { readonly secret: AzureSecret | undefined; readonly client: ContainerClient } | undefined;
  function client(): ContainerClient {
    const found = typeof secret === 'function' ? secret() : secret;
    if (opened === undefined || opened.secret !== found) {
      for (const text of secretsIn(found)) known.add(text);
      for (const text of known) if (known.size > MAX_KNOWN_SECRETS) known.delete(text);
      opened = { secret: found, client: connect(found) };
    }
    return opened.client;
  }

  const errorOf = (error: unknown, doing: string, key: string): VesselExportError =>
    error instanceof VesselExportError
      ? error
      : azureError(error, doing, `${url}/${key} at ${new URL(endpoint).host}`, [...known]);

  return {
    url,
    /** What every name of ours in the container begins with: '' or `prefix/`. */
    folder,
    pageSize: options.pageSize ?? 5000,
    client,
    blob: (name: string): BlockBlobClient => client().getBlockBlobClient(name),
    /** The container's name of a key. Throws FatalError (`bad-key`). */
    nameOf(key: string): string {
      checkKey(key);
      return folder + key;
    },
    /** What each request that writes bytes of an object says of it. */
    written: encryptionScope === undefined ? {} : { encryptionScope },
    /** An object is as it was asked for. Throws FatalError (`not-encrypted`). */
    expectEncrypted(answer: { readonly encryptionScope?: string | undefined }): void {
      if (encryptionScope === undefined || answer.encryptionScope === encryptionScope) return;
      throw new FatalError(
        'not-encrypted',
        `AZURE_STORAGE_ENCRYPTION_SCOPE is ${encryptionScope}, and the store's answer names ${answer.encryptionScope ?? 'none'}: it has not encrypted as requested. Use a store that does, or leave it out and let the container encrypt.`,
      );
    },
    /** Text from the store, fit to be shown. */
    clean: (text: string): string => cleanForeignText(text, [...known], 300),
    /** What an SDK call threw, as one of our kinds. */
    error: errorOf,
    /** Run SDK calls, again after faults that may pass; what they throw in the end leaves as one of our kinds. */
    async call<T>(doing: string, key: string, work: () => Promise<T>, attempts = maxAttempts): Promise<T> {
      try {
        const waitMs = (error: unknown) =>
          error instanceof VesselExportError ? undefined : retryAfterMs(error);
        return await withTries(attempts, work, waitMs);
      } catch (error) {
        throw errorOf(error, doing, key);
      }
    },
    close: transport.close,
  };
}

/** What must never be shown: a key, a signature as it is written in an address and as it is meant. */
function secretsIn(secret: AzureSecret | undefined): string[] {
  if (secret === undefined) return [];
  if ('key' in secret) return [secret.key];
  const written = /(?:^|&)sig=([^&]*)/.exec(secret.sas)?.[1] ?? '';
  return [secret.sas, written, new URLSearchParams(secret.sas).get('sig') ?? ''].filter(Boolean);
}

/** What is checked on its way by a digest, where TLS ends before the store. */
export function transactionalMd5(bytes: Uint8Array): { readonly transactionalContentMD5: Uint8Array } {
  return { transactionalContentMD5: createHash('md5').update(bytes).digest() };
}

/** Sockets, requests, and the time-outs of both: the one owner of these. */
function createTransport(options: AzureStoreOptions) {
  const { maxSockets = 32, idleTimeoutMs = 60_000, answerTimeoutMs = 300_000 } = options;
  const { connectTimeoutMs = 5_000, slowBodyGraceMs = 60_000 } = options;
  const sockets = { keepAlive: true, maxSockets, timeout: idleTimeoutMs };
  const isTls = options.endpoint.startsWith('https:');
  const agent = isTls ? new https.Agent(sockets) : new http.Agent(sockets);
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (...how) => {
    const socket = connect(...how) as Socket;
    socket.setTimeout(connectTimeoutMs);
    socket.once(isTls ? 'secureConnect' : 'connect', () => socket.setTimeout(idleTimeoutMs));
    socket.on('timeout', () => socket.destroy(overdue('no byte came in time')));
    return socket;
  };

  async function send(request: WebResource): Promise<http.IncomingMessage> {
    const { url, method } = request;
    const headers = request.headers.toJson({ preserveCase: true });
    const sent = (isTls ? https : http).request(url, { agent, method, headers });
    const timer = setTimeout(() => sent.destroy(overdue('no answer came in time')), answerTimeoutMs);
    try {
      return await new Promise((resolve, reject) => {
        sent.once('response', resolve).once('error', reject);
        sent.end(typeof request.body === 'function' ? request.body() : request.body);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  const client: NonNullable<StoragePipelineOptions['httpClient']> = {
    async sendRequest(request) {
      const body = await send(request);
      const headers = request.headers.clone();
      for (const name of headers.headerNames()) headers.remove(name);
      for (const [name, value] of Object.entries(body.headers)) headers.set(name, String(value));
      const status = body.statusCode ?? 0;
      const answer = { request, status, headers };
      // How large an object may be is for those to say who read it.
      watchBody(body, slowBodyGraceMs);
      if (request.streamResponseStatusCodes?.has(status)) return { ...answer, readableStreamBody: body };
      const { bytes, sizeBytes } = await readUpTo(body, MAX_ANSWER_BYTES);
      if (sizeBytes > MAX_ANSWER_BYTES)
        throw strangeAnswer(`the answer has more than ${MAX_ANSWER_BYTES} bytes`);
      return { ...answer, bodyAsText: Buffer.from(bytes).toString() };
    },
  };
  return { client, close: () => agent.destroy() };
}

function overdue(what: string): Error {
  return Object.assign(new Error(what), { code: 'ETIMEDOUT' });
}
