/** Memory that decoders give back, made useless at once: whoever still reads it, or writes to it, is found out. */
import type { MockInstance } from 'vitest';
import { vi } from 'vitest';
import type { ColumnBatch } from '../../src/core/model/index.ts';
import { Spares } from '../../src/source/decode/index.ts';

/** What bodies begin with. */
const OPEN_BRACE = 0x7b;
/** Behind a slab stand quotes, which are nobody's to change. */
const PAD_BYTES = 64;

interface Poisoned {
  /** Given back while they were not lent, or lent while they were. */
  readonly faults: readonly string[];
  /** How many were taken that somebody else had had. */
  readonly usedAgain: number;
  restore(): void;
}

/** From now on. Nobody may hold anything of a decoder yet. */
export function poisonSpares(): Poisoned {
  const { take, give } = Spares.prototype;
  const faults: string[] = [];
  const lent = new Set<unknown>();
  const seen = new WeakSet<object>();
  let usedAgain = 0;
  const spies: MockInstance[] = [
    vi.spyOn(Spares.prototype, 'take').mockImplementation(function (this: Spares<unknown>) {
      const one = take.call(this) as object;
      if (lent.has(one)) faults.push('lent twice');
      if (seen.has(one)) usedAgain++;
      seen.add(one);
      lent.add(one);
      return one;
    }),
    vi.spyOn(Spares.prototype, 'give').mockImplementation(function (this: Spares<unknown>, one) {
      if (!lent.delete(one)) faults.push('given back twice');
      spoil(one as Uint8Array | ColumnBatch | object);
      give.call(this, one);
    }),
  ];
  return {
    faults,
    get usedAgain() {
      return usedAgain;
    },
    restore: () => {
      for (const spy of spies) spy.mockRestore();
    },
  };
}

/** The same without any use again: each has memory of its own. */
export function withoutSpares(): { restore(): void } {
  const spy = vi.spyOn(Spares.prototype, 'give').mockImplementation(() => {});
  return { restore: () => spy.mockRestore() };
}

function spoil(one: Uint8Array | ColumnBatch | object): void {
  if (one instanceof Uint8Array) one.fill(OPEN_BRACE, 0, one.length - PAD_BYTES);
  if (!('timestampMicros' in one)) return;
  one.timestampMicros.fill(Number.NaN);
  one.seriesCodes.fill(-1);
  one.kinds.fill(255);
  one.words.fill(-1);
  one.jsonText.bytes.fill(OPEN_BRACE);
  one.jsonText.ends.fill(-1);
}
