/**
 * Raw bytes → code, verified byte for byte: an open-addressing table whose key bytes lie one behind the other in
 * one buffer, so that a hit costs no string. Whoever looks up brings the hash. It grows without a limit.
 */
export class SpellingTable {
  #count = 0;
  /** Entry number + 1, or 0 for a free slot; the length is a power of two. */
  #slots = new Int32Array(1024);
  #hashes = new Int32Array(512);
  #lengths = new Int32Array(512);
  #offsets = new Int32Array(512);
  #codes = new Int32Array(512);
  #raw = Buffer.alloc(32 * 1024);
  #rawView = viewOf(this.#raw);
  #rawEnd = 0;

  /** Code of the `length` bytes at `start`, or -1. */
  find(view: DataView, start: number, length: number, hash: number): number {
    const slots = this.#slots;
    const rawView = this.#rawView;
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot]! - 1;
      if (entry < 0) return -1;
      if (this.#hashes[entry] !== hash || this.#lengths[entry] !== length) continue;
      const offset = this.#offsets[entry]!;
      const words = length & ~3;
      let i = 0;
      while (i < words && view.getInt32(start + i, true) === rawView.getInt32(offset + i, true)) i += 4;
      if (i < words) continue;
      while (i < length && view.getUint8(start + i) === rawView.getUint8(offset + i)) i++;
      if (i === length) return this.#codes[entry]!;
    }
  }

  /** Add bytes that `find` did not know. */
  add(raw: Uint8Array, hash: number, code: number): void {
    if (this.#count * 2 >= this.#slots.length) this.#widen();
    while (this.#rawEnd + raw.length > this.#raw.length) this.#growRaw();
    const entry = this.#count++;
    this.#raw.set(raw, this.#rawEnd);
    this.#hashes[entry] = hash;
    this.#lengths[entry] = raw.length;
    this.#offsets[entry] = this.#rawEnd;
    this.#codes[entry] = code;
    this.#rawEnd += raw.length;
    this.#occupy(entry);
  }

  #occupy(entry: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = this.#hashes[entry]! & mask;
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    slots[slot] = entry + 1;
  }

  #widen(): void {
    const entries = this.#slots.length;
    this.#slots = new Int32Array(entries * 2);
    this.#hashes = widened(this.#hashes, entries);
    this.#lengths = widened(this.#lengths, entries);
    this.#offsets = widened(this.#offsets, entries);
    this.#codes = widened(this.#codes, entries);
    for (let entry = 0; entry < this.#count; entry++) this.#occupy(entry);
  }

  #growRaw(): void {
    const wider = Buffer.alloc(this.#raw.length * 2);
    wider.set(this.#raw);
    this.#raw = wider;
    this.#rawView = viewOf(wider);
  }
}

function widened(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const wider = new Int32Array(length);
  wider.set(array);
  return wider;
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
