/**
 * Metadata that has been decoded, by the digest of its bytes: for each day of a vessel the service is asked anew, and
 * mostly says the same to the last byte. What differs in any is decoded.
 */
import { hash } from 'node:crypto';
import { MAX_SPARES, Spares } from './decode/index.ts';

/** Longer answers are decoded as they come: some 300 series. */
const MAX_GATHERED_BYTES = 256 * 1024;

/** Questions: vessels whose days take turns. */
const ASKED_LATELY = 64;

const spareBodies = new Spares(MAX_SPARES, () => Buffer.allocUnsafeSlow(MAX_GATHERED_BYTES));

/** The bytes of one answer, up to a length. */
export class GatheredBody {
  readonly #bytes = spareBodies.take();
  #length = 0;

  /** False where it has no room: then it has nothing of the chunk. */
  add(chunk: Uint8Array): boolean {
    if (this.#length + chunk.length > MAX_GATHERED_BYTES) return false;
    this.#bytes.set(chunk, this.#length);
    this.#length += chunk.length;
    return true;
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Called once, by whoever reads `bytes` no more: not where reading broke off, for chunks may be on their way. */
  release(): void {
    spareBodies.give(this.#bytes);
  }
}

/** What an answer takes besides its key and what is made of it: of none at all there would be no end. */
const BYTES_OF_ANY = 200;

interface Known<T> {
  readonly answer: T;
  readonly bytes: number;
}

/** What was made of answers; the oldest are forgotten. */
export class MetadataAnswers<T> {
  readonly #known = new Map<string, Known<T>>();
  readonly #asked = new Set<string>();
  readonly #maxBytes: number;
  readonly #bytesOf: (answer: T) => number;
  #bytes = 0;

  /** `maxBytes`: that all of them take together, about. `bytesOf`: what was made of an answer. */
  constructor(maxBytes: number, bytesOf: (answer: T) => number) {
    this.#maxBytes = maxBytes;
    this.#bytesOf = bytesOf;
  }

  /** By everything that decides what an answer comes to: what is kept of it, and all of its bytes. */
  static keyOf(question: string, body: Uint8Array): string {
    return `${hash('sha256', body, 'base64')} ${question}`;
  }

  /**
   * Was the same asked lately? Only then is an answer worth its digest: of a fleet of which each vessel has one day
   * nobody asks again.
   */
  isAskedAgain(question: string): boolean {
    const wasAsked = this.#asked.delete(question);
    this.#asked.add(question);
    const [oldest] = this.#asked;
    if (this.#asked.size > ASKED_LATELY) this.#asked.delete(oldest!);
    return wasAsked;
  }

  find(key: string): T | undefined {
    const known = this.#known.get(key);
    if (known === undefined) return undefined;
    // The newest is the last.
    this.#known.delete(key);
    this.#known.set(key, known);
    return known.answer;
  }

  remember(key: string, answer: T): void {
    const bytes = BYTES_OF_ANY + key.length + this.#bytesOf(answer);
    if (bytes > this.#maxBytes || this.#known.has(key)) return;
    this.#known.set(key, { answer, bytes });
    this.#bytes += bytes;
    for (const [oldest, known] of this.#known) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#known.delete(oldest);
      this.#bytes -= known.bytes;
    }
  }
}
