/** The made-up series of the bench and the values they take: the same in every run. */

/** Where the one series begins whose integers a double cannot hold: 2^53 + 1. */
export const WIDE_START = 9_007_199_254_740_993n;

const SEED = 12_345;
const SERIES_COUNT = 200;
const JSON_SERIES = 8;
const LONG_SERIES = 20;

export type SignalKind = 'double' | 'long' | 'wide' | 'boolean' | 'text' | 'position';

/** A series that yields one value after the other. */
export interface Signal {
  readonly timeSeriesId: string;
  /** Name in the flat domain. */
  readonly id: string;
  readonly kind: SignalKind;
  /** How often it is read, 1 to 10. */
  readonly frequency: number;
  /** The JSON text of the next value. */
  next(): string;
  /** The last value as a whole number: a double × 10^4, an integer (a wide one from WIDE_START), bytes of a text. */
  readonly amount: number;
}

/** A generator of uniform numbers in `[0, 1)`. */
export function createRandom(seed = SEED): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** 200 series: 86 % doubles with 2 to 4 decimals, 10 % integers (one beyond 2^53), 4 % JSON. */
export function createSignals(vessel: string, random: () => number): Signal[] {
  return Array.from({ length: SERIES_COUNT }, (_, index) => {
    const kind = kindOf(index);
    return createSignal(kind, uuid(random), `${vessel}/Sensor ${index} ${kind}`, index, random);
  });
}

function kindOf(index: number): SignalKind {
  if (index < 2) return 'position';
  if (index < 6) return 'boolean';
  if (index < JSON_SERIES) return 'text';
  if (index === JSON_SERIES) return 'wide';
  return index < JSON_SERIES + LONG_SERIES ? 'long' : 'double';
}

function uuid(random: () => number): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('');
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [...groups, hex.slice(20)].join('-');
}

function createSignal(
  kind: SignalKind,
  timeSeriesId: string,
  id: string,
  index: number,
  random: () => number,
): Signal {
  const frequency = index % 5 === 3 ? 2 : index % 5 === 4 ? 1 : 10;
  const signal = { timeSeriesId, id, kind, frequency, amount: 0 };
  const values = valuesOf(kind, index, random);
  const next = () => {
    const { text, amount } = values();
    signal.amount = amount;
    return text;
  };
  return Object.assign(signal, { next });
}

interface SignalValue {
  readonly text: string;
  readonly amount: number;
}

function valuesOf(kind: SignalKind, index: number, random: () => number): () => SignalValue {
  if (kind === 'double') return doubles(2 + (index % 3), random);
  if (kind === 'long' || kind === 'wide') return counters(kind === 'wide' ? WIDE_START : 0n, random);
  if (kind === 'boolean') return texts(() => (random() < 0.999 ? 'true' : 'false'));
  if (kind === 'text') return texts(() => `"STATE_${Math.floor(random() * 4)}"`);
  const degrees = (from: number) => (from + random()).toFixed(5);
  return texts(() => `{"lat":${degrees(55)},"lon":${degrees(10)},"flags":["a","b"],"q":"ok, } fine"}`);
}

/** A random walk in steps of the last decimal place, down to -50. */
function doubles(places: number, random: () => number): () => SignalValue {
  const unit = 10 ** places;
  const toAmount = 10 ** (4 - places);
  let units = Math.floor(random() * 500 * unit);
  return () => {
    units += Math.round((random() - 0.5) * 0.5 * unit);
    if (units < -50 * unit) units = 0;
    const distance = Math.abs(units);
    const whole = Math.floor(distance / unit);
    const fraction = String(distance - whole * unit).padStart(places, '0');
    return { text: `${units < 0 ? '-' : ''}${whole}.${fraction}`, amount: units * toAmount };
  };
}

function counters(start: bigint, random: () => number): () => SignalValue {
  let count = Math.floor(random() * 1000);
  return () => {
    if (random() < 0.1) count += 1;
    return { text: start === 0n ? String(count) : String(start + BigInt(count)), amount: count };
  };
}

function texts(text: () => string): () => SignalValue {
  return () => {
    const value = text();
    return { text: value, amount: value.length };
  };
}
