/**
 * The memory of an answer's pieces. What has been handed to the system is written over by a later piece of the same
 * answer: a large one would take fresh memory for each, which the system has to clear, and the collector to count.
 */

/** A few pieces are made and sent at a time, nearly all of one size. */
const STEP_BYTES = 64 * 1024;

export interface PieceMemory {
  /** At least so many bytes, with anything in them. */
  take(bytes: number): Uint8Array;
}

/** Memory that nobody gives back. */
export const freshMemory: PieceMemory = { take: (bytes) => fresh(bytes) };

/** Memory of one answer whose pieces are given back, each by who has sent it. */
export class SentMemory implements PieceMemory {
  readonly #free: Uint8Array[] = [];
  /** What is being written or sent, by its buffer. */
  readonly #taken = new Map<ArrayBufferLike, Uint8Array>();

  take(bytes: number): Uint8Array {
    const known = this.#free.pop();
    const memory =
      known !== undefined && known.length >= bytes
        ? known
        : fresh(Math.ceil(bytes / STEP_BYTES) * STEP_BYTES);
    this.#taken.set(memory.buffer, memory);
    return memory;
  }

  /** A piece that the system has taken whole. Pieces of other memory are nobody's concern. */
  giveBack({ buffer }: Uint8Array): void {
    const memory = this.#taken.get(buffer);
    if (memory === undefined) return;
    this.#taken.delete(buffer);
    this.#free.push(memory);
  }
}

/** Only what is written is ever touched by the operating system. */
function fresh(bytes: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer, 0, bytes);
}
