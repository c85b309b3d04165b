/**
 * A loopback server of prepared bytes, in a process of its own: `prepared-server.ts FOLDER`. Nothing is generated
 * when it is asked; of a repeated hour only the hour's two digits are written anew. Prints one JSON line
 * as `vessel-export service` does once it listens, and ends when its stdin does.
 */
import { createReadStream, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { serveLoopback, tokenBody } from './loopback.ts';
import { DATE, fileIn, HOURS, SECONDS_PER_HOUR } from './prepared-day.ts';

const API_VERSION = '2026-09-10';
const READ_BYTES = 1 << 20;
const LINE_FEED = 0x0a;
/** Where the hour stands in a line: `{"id":"`, a UUID, `","timestamp":"`, `YYYY-MM-DDT`. */
const HOUR_AT = 7 + 36 + 15 + 11;

const dir = process.argv[2];
if (dir === undefined) throw new Error('usage: prepared-server.ts FOLDER');
const files = fileIn(dir);
const metadata = readFileSync(files.metadata);
const statistics = readFileSync(files.statistics);
const offsets = new Float64Array(new Uint8Array(readFileSync(files.offsets)).buffer);
const blockSeconds = offsets.length - 1;
const isRepeated = blockSeconds < HOURS * SECONDS_PER_HOUR;
/** The hour to repeat. */
const block = isRepeated ? readFileSync(files.readings) : undefined;
const dayMillis = Date.parse(`${DATE}T00:00:00Z`);

/** Seconds from the begin of the day; pages are cut at whole seconds. */
function secondOf(text: string | null): number {
  const second = (Date.parse(text ?? '') - dayMillis) / 1000;
  if (!Number.isInteger(second) || second < 0 || second > HOURS * SECONDS_PER_HOUR)
    throw new RangeError(`got the time ${text}, expected a whole second of ${DATE}`);
  return second;
}

async function answerReadings(url: URL, response: ServerResponse): Promise<void> {
  const [from, to] = [secondOf(url.searchParams.get('from')), secondOf(url.searchParams.get('to'))];
  const pieces = piecesOf(from, to);
  const bytes = pieces.reduce((sum, piece) => sum + piece.end - piece.start, 0);
  answerHead(response, 'application/x-ndjson', bytes);
  if (bytes === 0) response.end();
  else if (block !== undefined) await pipeline(repeated(block, pieces), response);
  else {
    const { start, end } = pieces[0]!;
    await pipeline(
      createReadStream(files.readings, { start, end: end - 1, highWaterMark: READ_BYTES }),
      response,
    );
  }
}

/** A stretch of bytes of the block, as a certain hour of the day. */
interface Piece {
  readonly start: number;
  readonly end: number;
  readonly hour: number;
}

function piecesOf(from: number, to: number): Piece[] {
  if (!isRepeated) return [{ start: offsets[from]!, end: offsets[to]!, hour: 0 }];
  const pieces: Piece[] = [];
  for (let second = from; second < to; ) {
    const hour = Math.floor(second / blockSeconds);
    const until = Math.min(to, (hour + 1) * blockSeconds);
    const start = offsets[second - hour * blockSeconds]!;
    pieces.push({ start, end: offsets[until - hour * blockSeconds]!, hour });
    second = until;
  }
  return pieces;
}

function* repeated(bytes: Buffer, pieces: readonly Piece[]): Generator<Buffer> {
  for (const { start, end, hour } of pieces) {
    const digits = String(hour).padStart(2, '0');
    const [tens, ones] = [digits.charCodeAt(0), digits.charCodeAt(1)];
    for (let from = start; from < end; ) {
      const to = from + READ_BYTES >= end ? end : bytes.indexOf(LINE_FEED, from + READ_BYTES) + 1;
      // A copy: what was written before may not be sent yet.
      const chunk = Buffer.from(bytes.subarray(from, to));
      for (let line = 0; line < chunk.length; line = chunk.indexOf(LINE_FEED, line + HOUR_AT) + 1) {
        chunk[line + HOUR_AT] = tens;
        chunk[line + HOUR_AT + 1] = ones;
      }
      yield chunk;
      from = to;
    }
  }
}

function answerHead(response: ServerResponse, type: string, bytes: number): void {
  response.writeHead(200, { 'content-type': type, 'content-length': bytes, 'api-version': API_VERSION });
}

function answerBytes(response: ServerResponse, type: string, bytes: Uint8Array): void {
  answerHead(response, type, bytes.length);
  response.end(bytes);
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.resume();
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const path = decodeURIComponent(url.pathname);
  if (path === '/oauth2/token') answerBytes(response, 'application/json', Buffer.from(tokenBody()));
  else if (path.startsWith('/bench/metadata/')) answerBytes(response, 'application/json', metadata);
  else if (path.startsWith('/bench/statistics/')) answerBytes(response, 'application/json', statistics);
  else if (path.startsWith('/bench/measurements/')) await answerReadings(url, response);
  else {
    response.writeHead(404, { 'content-type': 'application/json', 'api-version': API_VERSION });
    response.end(JSON.stringify({ error: `nothing is prepared for ${path}` }));
  }
}

serveLoopback(answer);
