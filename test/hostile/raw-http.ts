/** HTTP as bytes on a socket: what is sent need not be HTTP at all. */
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

/** Sends bytes and resolves with all that came back until the service closed, or nothing came for `waitMs`. */
export function exchangeBytes({
  port,
  from,
  bytes,
  waitMs = WAIT_MS,
  maxBytes = MAX_ANSWER_BYTES,
}: RawRequest): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = openSocket(port, from);
    const pieces: Buffer[] = [];
    socket.setTimeout(waitMs, () => socket.destroy());
    let bytesRead = 0;
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece);
      bytesRead += piece.length;
      if (bytesRead > maxBytes) socket.destroy();
    });
    socket.once('close', () => resolve(Buffer.concat(pieces)));
    socket.write(bytes);
  });
}

/** The answers in what came back, one after the other. */
export function parseAnswers(bytes: Buffer): RawAnswer[] {
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
