/** The object of a vessel-day by ranges: only of that day, and each body from the one version in its ETag. */
import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { formatVesselDay, type Receipt, type VesselDay } from '../core/model/index.ts';
import { readReceipt } from '../lake/ledger/ledger.ts';
import type { ObjectStore } from '../store/store.ts';
import { createShares } from './shares.ts';
import { fileOfVersion, isFileOf } from './vessel-day-details.ts';
import { WebError } from './web-error.ts';

type ReadStore = Pick<ObjectStore, 'get' | 'getRange' | 'head'>;

/** Bytes that are read from the store at once: this bounds the memory of a request, because nothing is read ahead. */
const CHUNK_BYTES = 1 << 20;
/** Maximum of objects that are read at once, in total and by one address. A browser reads six. */
const READERS = { what: 'readers of objects', max: 48, maxOfClient: 24 };

interface DayFile {
  readonly key: string;
  readonly sizeBytes: number;
  readonly etag: string;
}

/** The object that a receipt names, as it is in the store; undefined if there is none, or none of this day. */
export async function dayFile(
  store: Pick<ObjectStore, 'head'>,
  day: VesselDay,
  { object }: Pick<Receipt, 'object'>,
): Promise<DayFile | undefined> {
  return object !== null && isFileOf(day, object.key) ? await fileAt(store, object.key) : undefined;
}

async function fileAt(store: Pick<ObjectStore, 'head'>, key: string): Promise<DayFile | undefined> {
  const head = await store.head(key);
  if (head === undefined) return undefined;
  // A store's version reveals where the object is and when it was written, so the ETag is a digest of it.
  const etag = `"${hash('sha256', `${key}\n${head.version}`).slice(0, 32)}"`;
  return { key, sizeBytes: head.sizeBytes, etag };
}

/** Throws WebError 404 `no-object` or `no-such-version`, and 400 `usage`. */
async function findFile(store: ReadStore, day: VesselDay, version: string | undefined): Promise<DayFile> {
  if (version === undefined) {
    const receipt = await readReceipt(store, day);
    const file = receipt && (await dayFile(store, day, receipt));
    if (file === undefined) throw new WebError(404, 'no-object', `${formatVesselDay(day)} has no object`);
    return file;
  }
  if (!/^\d{1,15}$/.test(version))
    throw new WebError(400, 'usage', 'version: expected the number of a version of the table');
  const named = await fileOfVersion(store, day, Number(version));
  const file = named && (await fileAt(store, named.key));
  if (file === undefined) {
    const text = `${formatVesselDay(day)} has no file by version ${version}: the log does not name one, or it has been cleaned up`;
    throw new WebError(404, 'no-such-version', text);
  }
  return file;
}

/** `[fromByte, toByte)` */
interface ByteRange {
  readonly fromByte: number;
  readonly toByte: number;
}

/** The requested range; undefined: the whole object. Throws WebError 416 for a range outside of it, or for several. */
export function rangeOf(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  if (header === undefined) return undefined;
  const ranges = /^bytes=(.+)$/i.exec(header.trim())?.[1]?.split(',') ?? [];
  const match = /^\s*(\d{0,15})-(\d{0,15})\s*$/.exec(ranges[0] ?? '');
  if (match === null || (match[1] === '' && match[2] === '')) return undefined;
  if (ranges.length > 1) throw notSatisfiable('one range at a time');
  const [first, last] = [match[1]!, match[2]!];
  if (first === '') {
    if (Number(last) === 0 || sizeBytes === 0) throw notSatisfiable(`the object has ${sizeBytes} bytes`);
    return { fromByte: Math.max(0, sizeBytes - Number(last)), toByte: sizeBytes };
  }
  const fromByte = Number(first);
  if (last !== '' && Number(last) < fromByte) return undefined;
  if (fromByte >= sizeBytes) throw notSatisfiable(`the object has ${sizeBytes} bytes`);
  return { fromByte, toByte: last === '' ? sizeBytes : Math.min(sizeBytes, Number(last) + 1) };
}

function notSatisfiable(why: string): WebError {
  return new WebError(416, 'range-not-satisfiable', `the range cannot be answered: ${why}`);
}

/** Whether a version is in an If-Match or If-None-Match. Weak ones never match. */
function isAmong(header: string, etag: string): boolean {
  return header.trim() === '*' || header.split(',').some((one) => one.trim() === etag);
}

type ObjectRequest = FastifyRequest<{ Querystring: { readonly version?: unknown } }>;
type SendObject = (day: VesselDay, request: ObjectRequest, reply: FastifyReply) => Promise<FastifyReply>;

export function createObjectSender(store: ReadStore): SendObject {
  const take = createShares(READERS);
  return async (day, request, reply) => {
    take(request, reply, 1);
    return await sendObject(store, day, request, reply);
  };
}

async function sendObject(store: ReadStore, day: VesselDay, request: ObjectRequest, reply: FastifyReply) {
  const { version } = request.query;
  // Other requests, such as probes, get a turn, and it shows whether the client has left.
  await setImmediate();
  expectPresent(reply);
  const file = await findFile(store, day, version === undefined ? undefined : String(version));
  expectPresent(reply);
  const { etag, sizeBytes } = file;
  const ifMatch = request.headers['if-match'];
  if (ifMatch !== undefined && !isAmong(ifMatch, etag)) throw replaced(day);
  reply.header('etag', etag).header('accept-ranges', 'bytes').header('cache-control', 'no-store');
  const ifRange = request.headers['if-range'];
  const isRanged = ifRange === undefined || ifRange === etag;
  let range: ByteRange | undefined;
  try {
    range = rangeOf(isRanged ? request.headers.range : undefined, sizeBytes);
  } catch (error) {
    reply.header('content-range', `bytes */${sizeBytes}`);
    throw error;
  }
  const { fromByte, toByte } = range ?? { fromByte: 0, toByte: sizeBytes };
  const chunks = readChunks(store, day, file, { fromByte, toByte });
  // The first piece is read before the header is sent, so that most failures become an error answer.
  const first = request.method === 'HEAD' || fromByte === toByte ? undefined : (await chunks.next()).value;
  if (range !== undefined)
    reply.code(206).header('content-range', `bytes ${fromByte}-${toByte - 1}/${sizeBytes}`);
  reply
    .header('content-length', toByte - fromByte)
    .header('content-disposition', `attachment; filename="${day.job}-${day.vessel}-${day.date}.parquet"`)
    .type('application/vnd.apache.parquet');
  if (first === undefined) return reply.send();
  if (first.length === toByte - fromByte) return reply.send(first);
  return reply.send(bodyOf(first, chunks));
}

/** Throws WebError 503 `gone` if the client has left: many that request and leave would cost much. */
function expectPresent({ raw }: FastifyReply): void {
  if (raw.closed) throw new WebError(503, 'gone', 'who asked has left');
}

/** Nothing is read from the store before the client has taken what was sent: `Readable.from` would read a piece ahead. */
function bodyOf(first: Buffer, rest: AsyncGenerator<Buffer, undefined>): Readable {
  let next: Promise<IteratorResult<Buffer, undefined>> | undefined = Promise.resolve({ value: first });
  return new Readable({
    highWaterMark: 0,
    read() {
      (next ?? rest.next()).then(
        ({ value }) => this.push(value ?? null),
        (error: Error) => this.destroy(error),
      );
      next = undefined;
    },
  });
}

/** Throws WebError 412 `replaced` if the object is another version by now: no bytes of that are sent. */
async function* readChunks(
  store: ReadStore,
  day: VesselDay,
  { key, etag }: DayFile,
  { fromByte, toByte }: ByteRange,
): AsyncGenerator<Buffer, undefined> {
  for (let at = fromByte; at < toByte; at += CHUNK_BYTES) {
    const until = Math.min(toByte, at + CHUNK_BYTES);
    const bytes = await store.getRange(key, at, until);
    // It is that version before and after the read, so it was during the read.
    const after = await fileAt(store, key);
    if (after?.etag !== etag || bytes?.length !== until - at) throw replaced(day);
    yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  return undefined;
}

function replaced(day: VesselDay): WebError {
  return new WebError(412, 'replaced', `${formatVesselDay(day)} was published again meanwhile: load it anew`);
}
