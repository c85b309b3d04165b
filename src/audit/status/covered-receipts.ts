/**
 * What coverage asks of a job's receipts, in columns: some 30 bytes a vessel-day, where an object of each would take
 * five times that. They may be kept from one look to the next: a date that is listed as it was then is not read again.
 */
import { hash } from 'node:crypto';
import type { Moment, Receipt, VesselDay } from '../../core/model/index.ts';
import { momentText } from '../../core/model/index.ts';
import type { IndexedPart } from '../../lake/ledger/indexed-receipt.ts';
import type { ListedVessel } from '../../lake/ledger/ledger.ts';
import type { CoveredReceipt } from './cells.ts';

/** What is asked of a receipt, and kept. */
export const KEPT_MEMBERS = [
  ...(['settingsHash', 'proof', 'rows', 'unlisted', 'selectedSeries', 'remark', 'warnings'] as const),
  ...(['started', 'finished'] as const),
];
export type KeptReceipt = IndexedPart<(typeof KEPT_MEMBERS)[number]>;

/** Room for so many vessels is made at once. */
const STEP = 64;
const NOTHING = new Uint32Array(0);

export class CoveredReceipts {
  readonly #dates = new Map<string, DateColumns>();
  /** Every vessel has a number, by which its receipts are found on each date. */
  readonly #numbers = new Map<string, number>();
  readonly #settings = new Settings();

  /** Everything that was known of a date is forgotten. */
  clear(date: string): void {
    this.#dates.delete(date);
  }

  set(receipt: KeptReceipt): void {
    let columns = this.#dates.get(receipt.date);
    if (columns === undefined) {
      columns = new DateColumns();
      this.#dates.set(receipt.date, columns);
    }
    let number = this.#numbers.get(receipt.vessel);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(receipt.vessel, number);
    }
    columns.makeRoom(number, this.#numbers.size);
    columns.set(number, this.#settings.codeOf(receipt), receipt);
  }

  has({ date, vessel }: Pick<VesselDay, 'date' | 'vessel'>): boolean {
    const number = this.#numbers.get(vessel);
    return number !== undefined && (this.#dates.get(date)?.settings[number] ?? 0) > 0;
  }

  get({ date, vessel }: Pick<VesselDay, 'date' | 'vessel'>): CoveredReceipt | undefined {
    const columns = this.#dates.get(date);
    const number = columns && this.#numbers.get(vessel);
    if (columns === undefined || number === undefined) return undefined;
    const code = columns.settings[number] ?? 0;
    if (code === 0) return undefined;
    const { settingsHash, proof } = this.#settings.of(code);
    const rows = columns.rows[number]!;
    const receipt = { settingsHash, proof, rows, finishedAt: columns.finishedAt.get(number)! };
    // What a receipt lacks, it lacks here.
    if (Number.isNaN(rows)) Object.assign(receipt, { rows: undefined });
    return columns.unlisted.has(number) ? { ...receipt, unlisted: true } : receipt;
  }

  /** Vessels with a receipt on any of the dates. */
  vesselsOn(dates: readonly string[]): Set<string> {
    const isThere = new Uint8Array(this.#numbers.size);
    for (const date of dates) {
      const settings = this.#dates.get(date)?.settings ?? NOTHING;
      for (let number = 0; number < settings.length; number++) if (settings[number]! > 0) isThere[number] = 1;
    }
    return new Set([...this.#numbers].flatMap(([vessel, number]) => (isThere[number] ? [vessel] : [])));
  }

  /** What remarks are about: of each vessel the receipt that was begun last on these dates. */
  *newestOn(job: string, dates: readonly string[]) {
    const newest = new Float64Array(this.#numbers.size).fill(Number.NEGATIVE_INFINITY);
    const found: (readonly [string, DateColumns])[] = new Array(this.#numbers.size);
    for (const date of dates) {
      const columns = this.#dates.get(date);
      if (columns === undefined) continue;
      const { settings, startedAt } = columns;
      const one = [date, columns] as const;
      for (let number = 0; number < settings.length; number++) {
        if (settings[number] === 0 || startedAt.msOf(number) < newest[number]!) continue;
        newest[number] = startedAt.msOf(number);
        found[number] = one;
      }
    }
    for (const [vessel, number] of this.#numbers) {
      if (found[number] === undefined) continue;
      const [date, columns] = found[number];
      yield { job, vessel, date, startedAt: columns.startedAt.get(number)!, ...columns.remarks.get(number) };
    }
  }

  /** Vessel-days that there is room for. */
  get size(): number {
    let size = 0;
    for (const { settings } of this.#dates.values()) size += settings.length;
    return size;
  }
}

/** By the number of the vessel. */
class DateColumns {
  /** 0: there is no receipt. */
  settings = new Uint32Array(0);
  rows = new Float64Array(0);
  readonly finishedAt = new Instants();
  readonly startedAt = new Instants();
  readonly unlisted = new Set<number>();
  readonly remarks = new Map<number, Pick<Receipt, 'remark' | 'warnings' | 'selectedSeries'>>();

  makeRoom(number: number, vessels: number): void {
    if (number < this.settings.length) return;
    const length = Math.ceil((Math.max(number + 1, vessels) * 9) / 8 / STEP) * STEP;
    this.settings = grown(this.settings, new Uint32Array(length));
    this.rows = grown(this.rows, new Float64Array(length));
    this.finishedAt.makeRoom(length);
    this.startedAt.makeRoom(length);
  }

  set(number: number, code: number, receipt: KeptReceipt): void {
    this.settings[number] = code;
    this.rows[number] = receipt.rows;
    this.finishedAt.set(number, receipt.finished);
    this.startedAt.set(number, receipt.started);
    const { remark, warnings, selectedSeries } = receipt;
    if (receipt.unlisted === true) this.unlisted.add(number);
    else this.unlisted.delete(number);
    if (remark === undefined && warnings === undefined) this.remarks.delete(number);
    else
      this.remarks.set(number, {
        ...(remark && { remark }),
        ...(warnings && { warnings }),
        ...(selectedSeries !== undefined && { selectedSeries }),
      });
  }
}

function grown<A extends Uint32Array | Float64Array>(old: A, larger: A): A {
  larger.set(old);
  return larger;
}

/** Moments, of which nearly all are milliseconds. */
class Instants {
  #ms = new Float64Array(0);
  readonly #others = new Map<number, string>();

  makeRoom(length: number): void {
    this.#ms = grown(this.#ms, new Float64Array(length));
  }

  set(at: number, moment: Moment): void {
    if (typeof moment === 'number') {
      if (this.#others.size > 0) this.#others.delete(at);
      this.#ms[at] = moment;
    } else {
      this.#others.set(at, moment);
      this.#ms[at] = Date.parse(moment);
    }
  }

  get(at: number): string | undefined {
    return this.#others.size > 0 && this.#others.has(at) ? this.#others.get(at) : momentText(this.#ms[at]!);
  }

  /** NaN for what is no instant. */
  msOf(at: number): number {
    return this.#ms[at]!;
  }
}

/** Thousands of receipts have the same few settings; each has a number from 1. */
class Settings {
  readonly #known: Pick<Receipt, 'settingsHash' | 'proof'>[] = [];
  readonly #codes = new Map<string, number>();
  /** That of the receipt before, mostly that of the next too. */
  #last = 0;

  codeOf(receipt: KeptReceipt): number {
    const last = this.#known[this.#last - 1];
    const isSame =
      last !== undefined && last.settingsHash === receipt.settingsHash && last.proof === receipt.proof;
    if (!isSame) this.#last = this.#find(receipt);
    return this.#last;
  }

  #find({ settingsHash, proof }: KeptReceipt): number {
    const name = `${proof} ${settingsHash}`;
    const known = this.#codes.get(name);
    if (known !== undefined) return known;
    const code = this.#known.push({ settingsHash, proof });
    this.#codes.set(name, code);
    return code;
  }

  of(code: number): Pick<Receipt, 'settingsHash' | 'proof'> {
    return this.#known[code - 1]!;
  }
}

/** Says whether a date is listed as it was; undefined where nobody could tell. */
export function fingerprintOf(listed: readonly ListedVessel[]): string | undefined {
  let text = '';
  for (const { vessel, sizeBytes, tag } of listed) {
    if (tag === '') return undefined;
    text += `${vessel} ${sizeBytes} ${tag}\n`;
  }
  return hash('sha256', text, 'base64');
}
