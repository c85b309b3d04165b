/**
 * The sixteen aggregations, each with its definition. Readings come in the service's order (timestamp, then
 * value), so every sum is made in one defined order and does not depend on threads or time slices.
 *
 * With readings (t₁,x₁) … (tₙ,xₙ) of a window, t in seconds:
 *   count                n
 *   first_time/last_time t₁, tₙ            first_val/last_val  x₁, xₙ          delta  xₙ − x₁
 *   min, max, sum        as the words say; sum from first to last
 *   mean                 sum / n
 *   integral             Σ (xᵢ + xᵢ₊₁)/2 · (tᵢ₊₁ − tᵢ): straight lines between readings, unit × seconds; 0 on one point
 *   avg                  integral / (tₙ − t₁): the time-weighted average; undefined when no time passes
 *   var                  Σ (xᵢ − mean)² / (n − 1), undefined for n < 2;  stddev = √var
 *   skewness             n·√(n−1)/(n−2) · m₃ / m₂^1.5  with mₖ = Σ (xᵢ − mean)ᵏ; undefined for n < 3 or m₂ = 0
 *   kurtosis             excess: (n−1)/((n−2)(n−3)) · ((n+1)·n·m₄/m₂² − 3(n−1)); undefined for n < 4 or m₂ = 0
 * Whole numbers stay exact: first_val, last_val, min, max, delta and sum of long readings are integers.
 * A window that holds a JSON reading has only count, first_val, last_val, first_time and last_time.
 * What is undefined is left out of the answer.
 */
import type { Aggregation, ColumnBatch } from '../../core/model/index.ts';
import { JSON_TEXT, LONG, MICROS_PER_SECOND, microsToIso } from '../../core/model/index.ts';
import { floatText, readingText } from './formats.ts';

const MOMENTS: ReadonlySet<Aggregation> = new Set(['var', 'stddev', 'skewness', 'kurtosis']);

const TIME_ONLY: ReadonlySet<Aggregation> = new Set(['count', 'first_time', 'last_time']);

export function needTimesOnly(aggregations: readonly Aggregation[]): boolean {
  return aggregations.every((aggregation) => TIME_ONLY.has(aggregation));
}

/** When one window of one series (or of series that share an id) has its readings: all that times tell. */
export class WindowTimes {
  count = 0;
  firstMicros = 0;
  lastMicros = 0;

  /** The times of rows `[from, to)` of a batch, of one series and in order; there is at least one. */
  addTimes({ timestampMicros }: ColumnBatch, from: number, to: number): void {
    if (this.count === 0) this.firstMicros = timestampMicros[from]!;
    this.count += to - from;
    this.lastMicros = timestampMicros[to - 1]!;
  }

  /** The aggregation's value as JSON text, or undefined where it is not defined. */
  value(aggregation: Aggregation): string | undefined {
    if (this.count === 0) return undefined;
    if (aggregation === 'count') return String(this.count);
    if (aggregation === 'first_time') return `"${microsToIso(this.firstMicros)}"`;
    if (aggregation === 'last_time') return `"${microsToIso(this.lastMicros)}"`;
    return undefined;
  }
}

/** The same window with its values, gathered one by one. */
export class WindowAccumulator extends WindowTimes {
  readonly #moments: boolean;
  #firstText = '';
  #lastText = '';
  #hasJson = false;
  #hasDouble = false;
  #firstIsLong = false;
  #lastIsLong = false;
  #firstLong = 0n;
  #lastLong = 0n;
  #minLong = 0n;
  #maxLong = 0n;
  #sumLong = 0n;
  #first = 0;
  #last = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  #sum = 0;
  #integral = 0;
  /** The first reading of a window of longs, else 0. */
  #shift = 0;
  #mean = 0;
  #m2 = 0;
  #m3 = 0;
  #m4 = 0;

  constructor(aggregations: readonly Aggregation[]) {
    super();
    this.#moments = aggregations.some((aggregation) => MOMENTS.has(aggregation));
  }

  /** Rows `[from, to)` of a batch; rows must come in order, and there is at least one. */
  add(batch: ColumnBatch, from: number, to: number): void {
    for (let row = from; row < to; row++) {
      const kind = batch.kinds[row]!;
      if (kind === JSON_TEXT || this.#hasJson) this.#addText(batch, row, row === to - 1);
      else if (kind === LONG) this.#addLong(batch.timestampMicros[row]!, batch.longs[row]!);
      else this.#addDouble(batch.timestampMicros[row]!, batch.doubles[row]!);
      this.addTimes(batch, row, row + 1);
    }
  }

  override value(aggregation: Aggregation): string | undefined {
    const time = super.value(aggregation);
    if (time !== undefined || this.count === 0) return time;
    if (aggregation === 'first_val') return this.#firstValue();
    if (aggregation === 'last_val') return this.#lastValue();
    if (this.#hasJson) return undefined;
    if (aggregation === 'min') return this.#exact(this.#minLong, this.#min);
    if (aggregation === 'max') return this.#exact(this.#maxLong, this.#max);
    if (aggregation === 'sum') return this.#exact(this.#sumLong, this.#sum);
    if (aggregation === 'delta')
      return this.#exact(this.#lastLong - this.#firstLong, this.#last - this.#first);
    return finiteText(this.#real(aggregation));
  }

  /** As it was read, whatever came later. */
  #firstValue(): string | undefined {
    if (this.#hasJson) return this.#firstText;
    return this.#firstIsLong ? this.#firstLong.toString() : finiteText(this.#first);
  }

  #lastValue(): string | undefined {
    if (this.#hasJson) return this.#lastText;
    return this.#lastIsLong ? this.#lastLong.toString() : finiteText(this.#last);
  }

  #real(aggregation: Aggregation): number {
    const n = this.count;
    const [m2, m3, m4] = [this.#m2, this.#m3, this.#m4];
    const seconds = (this.lastMicros - this.firstMicros) / MICROS_PER_SECOND;
    if (aggregation === 'mean') return this.#sum / n;
    if (aggregation === 'integral') return this.#integral;
    if (aggregation === 'avg') return this.#integral / seconds;
    if (aggregation === 'var') return m2 / (n - 1);
    if (aggregation === 'stddev') return Math.sqrt(m2 / (n - 1));
    if (aggregation === 'skewness' && n >= 3) return ((n * Math.sqrt(n - 1)) / (n - 2)) * (m3 / m2 ** 1.5);
    if (aggregation === 'kurtosis' && n >= 4)
      return ((n - 1) / ((n - 2) * (n - 3))) * (((n + 1) * n * m4) / (m2 * m2) - 3 * (n - 1));
    return Number.NaN;
  }

  /** Integers while every reading is one. */
  #exact(long: bigint, double: number): string | undefined {
    return this.#hasDouble ? finiteText(double) : long.toString();
  }

  #addDouble(micros: number, value: number): void {
    this.#hasDouble = true;
    this.#lastIsLong = false;
    this.#addNumber(micros, value, value - this.#shift);
  }

  #addLong(micros: number, long: bigint): void {
    this.#lastIsLong = true;
    if (this.count === 0) {
      this.#firstIsLong = true;
      this.#firstLong = long;
      this.#minLong = long;
      this.#maxLong = long;
      this.#shift = Number(long);
    }
    if (long < this.#minLong) this.#minLong = long;
    if (long > this.#maxLong) this.#maxLong = long;
    this.#sumLong += long;
    this.#lastLong = long;
    // The difference is exact where the numbers themselves, beyond 2^53, are not.
    const offset = this.#hasDouble ? Number(long) - this.#shift : Number(long - this.#firstLong);
    this.#addNumber(micros, Number(long), offset);
  }

  /** `offset` is the value less the shift: what the central moments are made of. */
  #addNumber(micros: number, value: number, offset: number): void {
    if (this.count === 0) this.#first = value;
    else this.#integral += ((this.#last + value) / 2) * ((micros - this.lastMicros) / MICROS_PER_SECOND);
    this.#last = value;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
    this.#sum += value;
    if (this.#moments) this.#addMoments(offset);
  }

  /** Sums of powers about the running mean (Terriberry's update): steady where plain sums of powers are not. */
  #addMoments(value: number): void {
    const n = this.count + 1;
    const delta = value - this.#mean;
    const deltaN = delta / n;
    const deltaN2 = deltaN * deltaN;
    const term = delta * deltaN * (n - 1);
    this.#mean += deltaN;
    this.#m4 += term * deltaN2 * (n * n - 3 * n + 3) + 6 * deltaN2 * this.#m2 - 4 * deltaN * this.#m3;
    this.#m3 += term * deltaN * (n - 2) - 3 * deltaN * this.#m2;
    this.#m2 += term;
  }

  /** A reading of a window that holds JSON: its text matters where it is the first, or may be the last. */
  #addText(batch: ColumnBatch, row: number, mayBeLast: boolean): void {
    if (!this.#hasJson && this.count > 0) this.#firstText = this.#firstValue() ?? 'null';
    this.#hasJson = true;
    if (this.count > 0 && !mayBeLast) return;
    this.#lastText = readingText(batch, row);
    if (this.count === 0) this.#firstText = this.#lastText;
  }
}

function finiteText(value: number): string | undefined {
  return Number.isFinite(value) ? floatText(value) : undefined;
}
