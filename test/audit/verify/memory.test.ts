/** Memory of verify: bounded by the vessel-days at work, however many there are. */

import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { ReadableStore } from '../../../src/audit/verify/lake-walk.ts';
import { type VerifiedDay, verifyLake } from '../../../src/audit/verify/verify-lake.ts';
import {
  addDays,
  createSeriesDictionary,
  DayCounts,
  dateToMicros,
  microsToIso,
  silentLog,
} from '../../../src/core/model/index.ts';
import { detailKey, objectKey, receiptKey } from '../../../src/lake/keys.ts';
import { packDetail } from '../../../src/lake/ledger/ledger.ts';
import {
  createEncoder,
  createMeasurementRowGroups,
  parquetFooter,
} from '../../../src/parquet/write/index.ts';
import { parseJob } from '../../../src/runtime/config/jobs.ts';
import { makeReceipt } from '../../helpers/ledger.ts';
import { batchOf, sealAll } from '../../parquet/write/lake-file.ts';

const FROM = '2024-01-01';
const DAYS = 240;
const BODY_BYTES = 1 << 20;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What verify was given to read. */
interface Given {
  ranges: number;
  /** Held on purpose: shows that what is held is seen. */
  first: Uint8Array | undefined;
  /** Most ranges that were still held at once, when all that nobody holds was collected. */
  mostAlive: number;
}

/** A lake of many days that exists only while it is read: each object is one reading behind 1 MiB of nothing. */
async function makeLake(): Promise<{ store: ReadableStore; given: Given }> {
  const given: Given = { ranges: 0, first: undefined, mostAlive: 0 };
  const alive = new Set<WeakRef<Uint8Array>>();
  const body = Buffer.alloc(BODY_BYTES);
  body.write('PAR1');
  const bodySha256 = hash('sha256', body);
  const small = new Map<string, Uint8Array>();
  const tails = new Map<string, Uint8Array>();
  const encoder = createEncoder({ threads: 0 });
  for (let n = 0; n < DAYS; n++) {
    const day = { job: 'measurements', vessel: 'IMO9321483', date: addDays(FROM, n) };
    const micros = dateToMicros(day.date) + 1;
    const dictionary = createSeriesDictionary();
    const builder = createMeasurementRowGroups({ rowGroupRows: 10, dictionary, idOf: () => 'a', encoder });
    builder.append(batchOf([{ micros, series: 'a', value: 1 }], dictionary), 0, 1);
    const [group] = await sealAll(builder);
    const tail = parquetFooter('measurements', [
      { bodyBytes: group!.body.length, tail: group!.tail, rows: 1 },
    ]);
    const counts = new DayCounts(dateToMicros(day.date));
    counts.add('a', 1, micros, micros);
    const detail = packDetail({ ours: counts, source: counts });
    const receipt = makeReceipt(day, {
      ...{ rows: 1, series: 1, firstTimestamp: microsToIso(micros), lastTimestamp: microsToIso(micros) },
      object: {
        ...{ key: objectKey(day), sizeBytes: BODY_BYTES + tail.length, upload: 'u' },
        parts: [
          { sizeBytes: BODY_BYTES, sha256: bodySha256 },
          { sizeBytes: tail.length, sha256: hash('sha256', tail) },
        ],
      },
      detail: { key: detailKey(day), sha256: detail.sha256 },
      source: { rows: 1, askedAt: '2026-01-01T00:00:00.000Z' },
    });
    small.set(receiptKey(day), Buffer.from(JSON.stringify(receipt)));
    small.set(detailKey(day), detail.gzip);
    tails.set(objectKey(day), tail);
  }
  const keys = [...small.keys(), ...tails.keys()].sort();
  const store: ReadableStore = {
    url: 's3://made-up',
    get: async (key) => (small.has(key) ? { bytes: small.get(key)!, version: '1' } : undefined),
    head: async (key) =>
      tails.has(key) ? { sizeBytes: BODY_BYTES + tails.get(key)!.length, version: '1' } : undefined,
    // Fresh memory for every range, as from a socket.
    async getRange(key, fromByte, toByte) {
      await nextTurn();
      if (++given.ranges % 40 === 0) {
        collect();
        for (const range of alive) if (range.deref() === undefined) alive.delete(range);
        given.mostAlive = Math.max(given.mostAlive, alive.size);
      }
      const tail = tails.get(key)!;
      const end = Math.min(toByte, BODY_BYTES + tail.length);
      const bytes = new Uint8Array(end - fromByte);
      bytes.set(body.subarray(Math.min(fromByte, BODY_BYTES), Math.min(end, BODY_BYTES)));
      const tailFrom = Math.max(0, fromByte - BODY_BYTES);
      bytes.set(
        tail.subarray(tailFrom, Math.max(tailFrom, end - BODY_BYTES)),
        Math.max(0, BODY_BYTES - fromByte),
      );
      given.first ??= bytes;
      alive.add(new WeakRef(bytes));
      return bytes;
    },
    async *list(prefix) {
      for (const key of keys) if (key.startsWith(prefix)) yield { key, sizeBytes: 1, modifiedMs: 0, tag: '' };
    },
    async *listUploads() {},
    publishedBy: async () => false,
  };
  return { store, given };
}

test('hundreds of vessel-days are held no longer than they are at work', async () => {
  const { store, given } = await makeLake();
  const { job } = parseJob(
    'x.yaml',
    'measurements',
    'dataset: measurements\nvessels: [IMO9321483]\nselect: ["flat/{vessel}/*"]\n',
  );
  const concurrency = 4;
  const request = { jobs: [job!], from: FROM, to: addDays(FROM, DAYS), vessels: [], concurrency };
  const findings: unknown[] = [];
  let bytes = 0;
  let done = 0;
  const observer = {
    onPlanned: (count: number) => expect(count).toBe(DAYS),
    onBytes: (more: number) => {
      bytes += more;
    },
    onDay(verified: VerifiedDay) {
      findings.push(...verified.findings);
      done++;
    },
  };
  await verifyLake({ store, log: silentLog }, request, observer, new AbortController().signal);
  expect(findings).toEqual([]);
  expect(done).toBe(DAYS);
  expect(bytes).toBeGreaterThan(DAYS * BODY_BYTES);
  // One range for each part of a day, and none for its size and its footer; 240 MiB have passed through.
  expect(given.ranges).toBe(DAYS * 2);
  expect(given.mostAlive).toBeGreaterThanOrEqual(1);
  expect(given.mostAlive).toBeLessThanOrEqual(1 + 2 * concurrency);
});
