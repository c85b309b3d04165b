import type { DayCounts, Proof, Receipt, ReceiptDraft, Tally } from '../model/index.ts';
import { detailKey, FORMAT_VERSION, microsToIso, objectKey } from '../model/index.ts';
import type { PartRef, UploadRef } from '../store/store.ts';
import type { ExportPorts, ExportTask } from './ports.ts';

export interface DraftFacts {
  readonly rows: number;
  /** Undefined for metadata, whose rows are not readings. */
  readonly counts: DayCounts | undefined;
  readonly proof: Proof;
  readonly upload: UploadRef | undefined;
  readonly parts: readonly PartRef[];
  readonly detailSha256: string | null;
  readonly source: Receipt['source'];
  readonly tally: Tally;
}

/** The receipt that a sealed day will have, but for who finishes it and when. */
export function draftReceipt(ports: ExportPorts, task: ExportTask, facts: DraftFacts): ReceiptDraft {
  const { day, job } = task;
  const span = facts.counts?.span();
  return {
    receiptVersion: 1,
    job: day.job,
    vessel: day.vessel,
    date: day.date,
    dataset: job.dataset,
    settingsHash: task.settingsHash,
    proof: facts.proof,
    rows: facts.rows,
    series: facts.counts?.seriesCount() ?? facts.rows,
    firstTimestamp: span === undefined ? null : microsToIso(span.firstMicros),
    lastTimestamp: span === undefined ? null : microsToIso(span.lastMicros),
    object:
      facts.upload === undefined
        ? null
        : {
            key: objectKey(day),
            sizeBytes: facts.parts.reduce((sum, part) => sum + part.sizeBytes, 0),
            upload: facts.upload.nonce,
            parts: facts.parts.map(({ sizeBytes, sha256 }) => ({ sizeBytes, sha256 })),
          },
    detail: facts.detailSha256 === null ? null : { key: detailKey(day), sha256: facts.detailSha256 },
    source: facts.source,
    apiVersion: ports.apiVersion,
    formatVersion: FORMAT_VERSION,
    pages: facts.tally.pages,
    requests: facts.tally.requests,
    retries: facts.tally.retries,
    clippedRows: facts.tally.clippedRows,
    startedAt: facts.tally.startedAt,
    version: ports.version,
  };
}
