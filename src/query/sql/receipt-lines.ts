/** Receipts of a lake as a file for DuckDB: what the ledger's index has of them, and nothing that has to be fetched one by one. */
import { writeFile } from 'node:fs/promises';
import { messageOf } from '../../core/errors.ts';
import { formatVesselDay, momentText } from '../../core/model/index.ts';
import { jsonBytes } from '../../lake/json.ts';
import type { IndexedPart } from '../../lake/ledger/indexed-receipt.ts';
import { listReceipts } from '../../lake/ledger/ledger.ts';
import { scanLedger } from '../../lake/ledger/ledger-index.ts';
import type { ListedLake } from './lake-sources.ts';

/** What RECEIPT_COLUMNS name. */
const MEMBERS = [
  ...(['dataset', 'rows', 'series', 'selectedSeries', 'proof', 'sourceRows'] as const),
  ...(['firstTimestamp', 'lastTimestamp', 'objectBytes', 'remark', 'finished'] as const),
] as const;

/** The same of one that was fetched as of one that the index has. */
function toLine(receipt: IndexedPart<(typeof MEMBERS)[number]>): Uint8Array {
  const { job, vessel, date, dataset, rows, series, selectedSeries, proof } = receipt;
  const { sourceRows, firstTimestamp, lastTimestamp, objectBytes, remark, finished } = receipt;
  return jsonBytes({
    ...{ job, vessel, date, dataset, rows, series, selectedSeries, proof },
    ...{ firstTimestamp, lastTimestamp, finishedAt: momentText(finished) },
    source: sourceRows === undefined ? null : { rows: sourceRows },
    object: objectBytes === 0 ? null : { sizeBytes: objectBytes },
    remark: remark && { kind: remark.kind },
  });
}

/** Receipts that cannot be read, which are said one by one. */
const SAID_AT_MOST = 20;

/** Receipts of jobs, one a line, in the file `path`; the path. One that cannot be read is left out, and said. */
export async function writeReceiptLines(
  path: string,
  { store, log }: Pick<ListedLake, 'store' | 'log'>,
  jobs: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const lines: Uint8Array[] = [];
  for (const job of jobs) {
    const dates = new Set<string>();
    for await (const { day } of listReceipts(store, job)) {
      signal.throwIfAborted();
      dates.add(day.date);
    }
    const question = { store, job, dates: [...dates].sort(), members: MEMBERS, log };
    // Whoever asks writes nothing into the lake: the index is kept by those who export, and by `status`.
    const { damaged } = await scanLedger({
      ...question,
      writeIndex: false,
      take: (receipt) => lines.push(toLine(receipt)),
    });
    for (const { day, error } of damaged.slice(0, SAID_AT_MOST))
      log.warn({ vesselDay: formatVesselDay(day) }, `left out: ${messageOf(error)}`);
    const more = damaged.length - SAID_AT_MOST;
    if (more > 0) log.warn({ job, more }, 'more receipts are left out, as they cannot be read');
  }
  await writeFile(path, Buffer.concat(lines));
  return path;
}
