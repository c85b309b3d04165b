/**
 * A lake in which a million vessel-days are published at once, for what plans them: real files in a folder, but for
 * receipts, which are told from one file with a byte a vessel-day and made when they are read. So what is measured is all
 * work of ours (lists are taken apart, receipts are read and checked) with none of a disk's or an S3 store's; what those
 * cost beside it is in the table of the ledger, measured on both. Two million receipts would take an hour and 8 GB.
 */
import { constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Job, VesselDay } from '../../src/core/model/index.ts';
import { datesBetween, isDate } from '../../src/core/model/index.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import { jsonBytes } from '../../src/lake/json.ts';
import { keyPrefix, parseReceiptKey, receiptKey } from '../../src/lake/keys.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import type { ListedObject, ObjectStore } from '../../src/store/store.ts';
import { makeReceipt, vesselIds } from '../helpers/ledger.ts';

const PUBLISHED = Uint8Array.of(1);
export const API_VERSION = '2026-09-10';
/** Stand for a vessel and a date in the one receipt from which all are made. */
const MARK: VesselDay = { job: 'measurements', vessel: 'IMO0000000', date: '1999-09-09' };

/** Vessel-days `[from, to)` of so many vessels. */
export interface InstantRange {
  readonly vessels: number;
  readonly from: string;
  readonly to: string;
}

/** Which vessel-days are published, for all processes that open the same folder. */
export class PublishedDays {
  readonly job: Job;
  readonly dates: readonly string[];
  readonly vessels: readonly string[];
  /** Of a file of 1 for each that is published, else 0; by date, then vessel. */
  readonly #file: number;
  readonly #dateAt: ReadonlyMap<string, number>;
  readonly #vesselAt: ReadonlyMap<string, number>;

  constructor(dir: string, { vessels, from, to }: InstantRange) {
    this.vessels = vesselIds(vessels);
    this.job = {
      name: MARK.job,
      dataset: 'measurements',
      vessels: this.vessels,
      select: ['flat/{vessel}/*'],
      transport: 'ndjson',
      verify: 'exact',
    };
    this.dates = datesBetween(from, to);
    this.#file = openSync(join(dir, 'published'), constants.O_RDWR | constants.O_CREAT);
    this.#dateAt = new Map(this.dates.map((date, index) => [date, index]));
    this.#vesselAt = new Map(this.vessels.map((vessel, index) => [vessel, index]));
  }

  /** Once, before anybody looks: those for which `isPublished` says so. Returns how many. */
  begin(isPublished: (dateIndex: number, vesselIndex: number) => boolean): number {
    const bytes = new Uint8Array(this.dates.length * this.vessels.length);
    for (let at = 0; at < bytes.length; at++)
      if (isPublished(Math.floor(at / this.vessels.length), at % this.vessels.length)) bytes[at] = 1;
    writeSync(this.#file, bytes);
    return bytes.reduce((sum, byte) => sum + byte, 0);
  }

  publish(day: VesselDay): void {
    writeSync(this.#file, PUBLISHED, 0, 1, this.#at(day));
  }

  #at({ vessel, date }: VesselDay): number {
    return this.#dateAt.get(date)! * this.vessels.length + this.#vesselAt.get(vessel)!;
  }

  #isPublished(at: number, count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    readSync(this.#file, bytes, 0, count, at);
    return bytes;
  }

  /** A store of which everything lies in a folder but the receipts. */
  openStore(dir: string): ObjectStore {
    const receipt = makeReceipt(MARK, { settingsHash: settingsHash(this.job, API_VERSION) });
    const parts = Buffer.from(jsonBytes(receipt))
      .toString()
      .split(new RegExp(`(${MARK.vessel}|${MARK.date})`));
    const textOf = ({ vessel, date }: VesselDay) =>
      parts.map((part) => (part === MARK.vessel ? vessel : part === MARK.date ? date : part)).join('');
    const sizeBytes = Buffer.byteLength(textOf(MARK));
    const local = createLocalStore(dir);
    const listed = (date: string, index: number): ListedObject[] => {
      const { vessels, job } = this;
      const bytes = this.#isPublished(index * vessels.length, vessels.length);
      const published = vessels.filter((_, at) => bytes[at] === 1);
      return published.map((vessel) => ({
        key: receiptKey({ job: job.name, vessel, date }),
        ...{ sizeBytes, modifiedMs: 0, tag: '1' },
      }));
    };
    const ofJob = keyPrefix('receipt', MARK.job);
    const list = async function* (this: PublishedDays, prefix: string) {
      if (!prefix.startsWith(ofJob)) return yield* local.list(prefix);
      for (const [index, date] of this.dates.entries())
        if (keyPrefix('receipt', MARK.job, date).startsWith(prefix)) yield* listed(date, index);
    }.bind(this);
    const listDate = (prefix: string) => {
      const date = prefix.slice(ofJob.length + 'date='.length, -1);
      const index = isDate(date) ? this.#dateAt.get(date) : undefined;
      return index === undefined ? list(prefix) : eachOf(listed(date, index));
    };
    return {
      ...local,
      list: listDate,
      listPages: (prefix) => {
        const date = prefix.slice(ofJob.length + 'date='.length, -1);
        const index = prefix.startsWith(ofJob) ? this.#dateAt.get(date) : undefined;
        return index === undefined ? local.listPages(prefix) : eachOf([listed(date, index)]);
      },
      get: async (key) => {
        const day = parseReceiptKey(key);
        if (day === undefined) return local.get(key);
        if (this.#isPublished(this.#at(day), 1)[0] !== 1) return undefined;
        return { bytes: Buffer.from(textOf(day)), version: '1' };
      },
    };
  }
}

async function* eachOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
