/** The lines of a file of readings: one at a time and of bounded length, as JSON that keeps every number as it was spelled. */
import { createReadStream } from 'node:fs';

/** What is wrong with a line: what was found, and what was expected. Its place is told by who reads the file. */
export class LineFault extends Error {
  readonly found: string;
  readonly expected: string;
  constructor(found: string, expected: string) {
    super(`found ${found}, expected ${expected}`);
    this.found = found;
    this.expected = expected;
  }
}

/** Longer ones are no lines of readings, and are not kept in memory. */
const MAX_LINE_BYTES = 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

export interface FileLine {
  readonly number: number;
  readonly text: string | LineFault;
}

/** Every line that is not blank, a chunk's at once. Throws what the system says of the file, and the signal's reason. */
export async function* linesOfFile(path: string, signal?: AbortSignal): AsyncGenerator<FileLine[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let rest: Buffer[] = [];
  let restBytes = 0;

  function lineOf(bytes: Buffer, size: number): FileLine | undefined {
    number++;
    if (size > MAX_LINE_BYTES)
      return { number, text: new LineFault(`${size} bytes`, `at most ${MAX_LINE_BYTES}`) };
    const text = textOf(decoder, bytes);
    return typeof text === 'string' && text.trim() === '' ? undefined : { number, text };
  }

  for await (const chunk of createReadStream(path, {
    highWaterMark: CHUNK_BYTES,
    signal,
  }) as AsyncIterable<Buffer>) {
    const lines: FileLine[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end);
      const whole = rest.length === 0 ? piece : Buffer.concat([...rest, piece]);
      const line = lineOf(whole, restBytes + piece.length);
      if (line !== undefined) lines.push(line);
      [rest, restBytes, start] = [[], 0, end + 1];
    }
    const tail = chunk.subarray(start);
    // Of a line that is too long only its length goes on.
    if (restBytes + tail.length > MAX_LINE_BYTES) rest = [];
    else if (tail.length > 0) rest.push(Buffer.from(tail));
    restBytes += tail.length;
    if (lines.length > 0) yield lines;
  }
  if (restBytes === 0) return;
  const last = lineOf(Buffer.concat(rest), restBytes);
  if (last !== undefined) yield [last];
}

function textOf(decoder: InstanceType<typeof TextDecoder>, bytes: Buffer): string | LineFault {
  try {
    return decoder.decode(bytes);
  } catch {
    return new LineFault('bytes that are no UTF-8', 'JSON in UTF-8');
  }
}
