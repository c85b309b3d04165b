/** Receipts written directly, for ledgers of a size that no test could export. */

import { createHash } from 'node:crypto';
import type { Receipt, VesselDay } from '../../src/core/model/index.ts';
import { jsonBytes } from '../../src/lake/json.ts';
import { detailKey, objectKey, receiptKey } from '../../src/lake/keys.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { inParallel } from '../store/store-suite.ts';

/** A receipt as an export would write it; `more` replaces what a test cares for. */
export function makeReceipt(day: VesselDay, more: Partial<Receipt> = {}): Receipt {
  const sha256 = createHash('sha256').update(`${day.job}/${day.vessel}/${day.date}`).digest('hex');
  const rows = more.rows ?? 1_234_567;
  return {
    receiptVersion: 1,
    ...day,
    dataset: 'measurements',
    epoch: 1,
    settingsHash: '0123456789abcdef',
    proof: 'exact',
    rows,
    series: rows === 0 ? 0 : 180,
    firstTimestamp: rows === 0 ? null : `${day.date}T00:00:00.123456Z`,
    lastTimestamp: rows === 0 ? null : `${day.date}T23:59:59.654321Z`,
    object:
      rows === 0
        ? null
        : {
            key: objectKey(day),
            sizeBytes: 9_876_543,
            upload: sha256.slice(0, 36),
            parts: [{ sizeBytes: 9_876_543, sha256 }],
          },
    detail: { key: detailKey(day), sha256 },
    source: { rows, askedAt: `${day.date}T23:00:00.000Z`, totalsSha256: sha256 },
    apiVersion: '2026-09-10',
    formatVersion: 1,
    pages: 2,
    requests: 5,
    retries: 0,
    clippedRows: 0,
    startedAt: `${day.date}T23:00:00.000Z`,
    finishedAt: `${day.date}T23:00:12.000Z`,
    version: '0.1.0',
    ...more,
  };
}

/** `count` vessel ids. */
export function vesselIds(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `IMO${9_000_000 + i}`);
}

export async function writeReceipts(
  store: Pick<ObjectStore, 'put'>,
  receipts: readonly Receipt[],
): Promise<void> {
  await inParallel(receipts, 32, (receipt) => writeReceipt(store as ObjectStore, receipt));
}

/** Put a receipt, whatever is there. */
export async function writeReceipt(store: Pick<ObjectStore, 'put'>, receipt: Receipt): Promise<void> {
  await store.put(receiptKey(receipt), jsonBytes(receipt));
}
