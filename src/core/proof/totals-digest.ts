/** The digest of a day's totals, from flat arrays: reconcile makes that of every vessel-day of a fleet. Pure. */
import { hash } from 'node:crypto';
import { putWhole } from '../model/whole-numbers.ts';

/** Of each series, in one order: readings, and the first and last of them in microseconds since the day began. */
interface TotalsCells {
  readonly counts: Float64Array;
  /** NaN where the source did not say. */
  readonly firsts: Float64Array;
  readonly lasts: Float64Array;
}

const SPACE = 0x20;
const LINE_FEED = 0x0a;
const DASH = 0x2d;
/** Of three numbers in any notation, with what stands between them. */
const NUMBERS_BYTES = 80;

/** Digests of days of the same series. */
export class TotalsDigest {
  /** What the lines of the series begin with, one behind the other, and where each begins. */
  readonly #names: Buffer;
  readonly #nameAt: Int32Array;
  readonly #lines: Buffer;

  /** `ids`: sorted. */
  constructor(ids: readonly string[]) {
    const names = ids.map((id) => `${JSON.stringify(id)} `);
    this.#names = Buffer.from(names.join(''));
    this.#nameAt = new Int32Array(ids.length + 1);
    for (let index = 0; index < names.length; index++)
      this.#nameAt[index + 1] = this.#nameAt[index]! + Buffer.byteLength(names[index]!);
    this.#lines = Buffer.allocUnsafe(this.#names.length + ids.length * NUMBERS_BYTES);
  }

  /** SHA-256 (hex) of a line `"id" count first last` for each series with readings, whose cells begin at `from`. */
  of({ counts, firsts, lasts }: TotalsCells, from = 0): string {
    const lines = this.#lines;
    const names = this.#names;
    const series = this.#nameAt.length - 1;
    let at = 0;
    for (let index = 0; index < series; index++) {
      const cell = from + index;
      const count = counts[cell]!;
      if (!(count > 0)) continue;
      const nameEnd = this.#nameAt[index + 1]!;
      for (let p = this.#nameAt[index]!; p < nameEnd; p++) lines[at++] = names[p]!;
      at = putNumber(lines, at, count);
      lines[at++] = SPACE;
      at = putNumber(lines, at, firsts[cell]!);
      lines[at++] = SPACE;
      at = putNumber(lines, at, lasts[cell]!);
      lines[at++] = LINE_FEED;
    }
    return hash('sha256', lines.subarray(0, at));
  }
}

/** As a template would; `-` for NaN. */
function putNumber(bytes: Buffer, at: number, value: number): number {
  if (value >= 0 && Number.isSafeInteger(value)) return putWhole(bytes, at, value);
  if (!Number.isNaN(value)) return at + bytes.write(`${value}`, at, 'latin1');
  bytes[at] = DASH;
  return at + 1;
}
