import { cleanForeignText, DataError, RetriableError } from '../../core/errors.ts';

const QUOTE = 0x22;

/** What a scan returns when the bytes end before the thing does; real positions are never negative. */
export const INCOMPLETE = -1;

/** Quotes behind the last usable byte stop every unbounded scan; the longest read past such a stop is 34 bytes. */
const PAD_BYTES = 64;
/** What a window has at first. Small enough to stay in the second-level cache, so that copying chunks into it costs little. */
export const SLAB_BYTES = 256 * 1024;
const EXCERPT_BYTES = 60;
/** Up to here a loop that finds plain ASCII is cheaper than a call of the UTF-8 decoder. */
const SHORT_BYTES = 200;
const NEXT_STEP = 'if a second fetch shows the same, report it to the operator of the service';

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A stretch of a body in memory. Positions are indexes into `bytes`, of which only `[0, end)` belong to the body. */
export class BodyWindow {
  bytes: Buffer;
  view: DataView;
  end = 0;
  bodyOffset = 0;
  /** 1-based number of the record that is being read. */
  recordNumber = 1;
  /** False for NDJSON, where a line feed ends the record. */
  readonly lineFeedIsSpace: boolean;
  /** 0x80 when a string that was scanned since it was last set to zero is not ASCII. */
  stringBits = 0;
  /** The `depth` open brackets around the place that is being scanned. */
  nesting = new Uint8Array(64);
  depth = 0;

  constructor(capacity: number, lineFeedIsSpace: boolean) {
    this.bytes = allocatePadded(capacity);
    this.view = viewOf(this.bytes);
    this.lineFeedIsSpace = lineFeedIsSpace;
  }

  get capacity(): number {
    return this.bytes.length - PAD_BYTES;
  }

  resize(capacity: number): void {
    const bytes = allocatePadded(capacity);
    this.bytes.copy(bytes, 0, 0, this.end);
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }

  dropBefore(position: number): void {
    this.bytes.copyWithin(0, position, this.end);
    this.end -= position;
    this.bodyOffset += position;
  }

  /** Text of `bytes[start, end)`. Throws DataError `invalid-utf8`. */
  text(start: number, end: number): string {
    if (end - start <= SHORT_BYTES && this.#isAscii(start, end))
      return this.bytes.toString('latin1', start, end);
    try {
      return strictUtf8.decode(this.bytes.subarray(start, end));
    } catch {
      throw this.fault('invalid-utf8', start, 'valid UTF-8', end);
    }
  }

  /** A DataError for what stands at `position`; the excerpt ends at `excerptEnd` at the latest. */
  fault(code: string, position: number, expected: string, excerptEnd = position + EXCERPT_BYTES): DataError {
    const end = Math.min(excerptEnd, this.end, position + EXCERPT_BYTES);
    const excerpt = cleanForeignText(this.bytes.toString('utf8', position, end), [], EXCERPT_BYTES);
    return this.faultFound(code, position, excerpt === '' ? 'nothing' : `'${excerpt}'`, expected);
  }

  /** As `fault`, with the caller's words for what was found. */
  faultFound(code: string, position: number, found: string, expected: string): DataError {
    return new DataError(
      code,
      `${this.#place(position)}: found ${found}, expected ${expected}; ${NEXT_STEP}`,
    );
  }

  /** The error for an `{"error": …}` object that the service wrote after it had answered 200. */
  errorInBody(position: number, errorText: string): RetriableError {
    const said = cleanForeignText(errorText);
    return new RetriableError(
      'error-in-body',
      `${this.#place(position)}: the service reported an error inside its response: '${said}'; request it again`,
    );
  }

  #isAscii(start: number, end: number): boolean {
    let bits = 0;
    for (let p = start; p < end; p++) bits |= this.bytes[p]!;
    return bits < 0x80;
  }

  #place(position: number): string {
    return `record ${this.recordNumber}, byte ${this.bodyOffset + position} of the body`;
  }
}

function allocatePadded(capacity: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(capacity + PAD_BYTES);
  bytes.fill(QUOTE, capacity);
  return bytes;
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
