/** HTTP as bytes on a socket: what is sent need not be HTTP at all. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';

export interface RawAnswer {
  /** 0: no answer came. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Without chunks. */
  readonly body: Buffer;
  /** The body came to its end. */
  readonly isWhole: boolean;
}

export interface RawRequest {
  readonly port: number;
  /** An address of this machine's loopback network to come from. */
  readonly from?: string;
  readonly bytes: string | Buffer;
  /** When waiting for an answer is given up. */
  readonly waitMs?: number;
  /** Who sends more has answered: the rest is not read. */
  readonly maxBytes?: number;
}

const WAIT_MS = 60_000;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** A connection from an address of the loopback network; errors of it are ignored, its end is `close`. */
export function openSocket(port: number, from = '127.0.0.1'): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  socket.on('error', () => {});
  return socket;
}

/** Sends bytes and resolves with all answers that came back until the service closed, or nothing came for `waitMs`. */
export async function exchange({ port, from, bytes, waitMs, maxBytes }: RawRequest): Promise<RawAnswer[]> {
  const socket = openSocket(port, from);
  const pieces: Buffer[] = [];
  socket.setTimeout(waitMs ?? WAIT_MS, () => socket.destroy());
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece);
    if (socket.bytesRead > (maxBytes ?? MAX_ANSWER_BYTES)) socket.destroy();
  });
  socket.write(bytes);
  if (!socket.closed) await once(socket, 'close');
  return parseAnswers(Buffer.concat(pieces));
}

/** The first answer of `exchange`; of status 0 where none came. */
export async function exchangeOne(request: RawRequest): Promise<RawAnswer> {
  const [answer] = await exchange(request);
  return answer ?? { status: 0, headers: {}, body: Buffer.alloc(0), isWhole: false };
}

/** A request that ends its connection; with a length where it has a body and its headers say none. */
export function requestBytes(
  line: string,
  headers: readonly string[],
  body: string | Buffer | undefined,
): Buffer {
  const isSaid = headers.some((header) => /^(content-length|transfer-encoding):/i.test(header));
  const length = body === undefined || isSaid ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  const head = [`${line} HTTP/1.1`, 'connection: close', ...length, ...headers].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), Buffer.from(body ?? '')]);
}

/** Gives an address of the loopback network that nobody has come from yet. */
export function loopbackAddresses(): () => string {
  let given = 0;
  return () => {
    given++;
    return `127.${1 + (given >> 16)}.${(given >> 8) & 255}.${given & 255}`;
  };
}

/** The answers in what came back, one after the other. */
function parseAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) break;
    const [line = '', ...fields] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(line)?.[1] ?? 0);
    const headers = Object.fromEntries(
      fields.map((field) => {
        const colon = field.indexOf(':');
        return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
      }),
    );
    rest = rest.subarray(end + 4);
    if (status >= 100 && status < 200) continue;
    const { body, used, isWhole } = readBody(rest, headers);
    answers.push({ status, headers, body, isWhole });
    rest = rest.subarray(used);
  }
  return answers;
}

function readBody(rest: Buffer, headers: Readonly<Record<string, string>>) {
  if (headers['transfer-encoding'] === 'chunked') return readChunks(rest);
  const length = Number(headers['content-length'] ?? rest.length);
  const body = rest.subarray(0, length);
  return { body, used: body.length, isWhole: body.length === length };
}

function readChunks(rest: Buffer) {
  const pieces: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = rest.indexOf('\r\n', at);
    if (lineEnd < 0) return { body: Buffer.concat(pieces), used: rest.length, isWhole: false };
    const size = Number.parseInt(rest.subarray(at, lineEnd).toString('latin1'), 16);
    if (size === 0) return { body: Buffer.concat(pieces), used: lineEnd + 4, isWhole: true };
    pieces.push(rest.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
