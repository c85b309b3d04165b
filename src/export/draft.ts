import type {
  DayCounts,
  Proof,
  Receipt,
  ReceiptDraft,
  SeriesRemark,
  SeriesWarning,
  Tally,
} from '../core/model/index.ts';
import { FORMAT_VERSION, microsToIso } from '../core/model/index.ts';
import { selectHash } from '../core/plan/settings-hash.ts';
import { detailKey } from '../lake/keys.ts';
import type { PartRef, UploadRef } from '../store/store.ts';
import type { ExportPorts, ExportTask } from './ports.ts';

interface DraftFacts {
  readonly rows: number;
  /** Of the selection. */
  readonly selectedSeries: number;
  readonly unmatched: readonly string[];
  readonly remark: SeriesRemark | undefined;
  readonly warnings: readonly SeriesWarning[];
  /** Undefined for metadata, whose rows are not readings. */
  readonly counts: DayCounts | undefined;
  readonly proof: Proof;
  readonly upload: UploadRef | undefined;
  readonly parts: readonly PartRef[];
  /** What the published receipt says, of a day whose object stays. */
  readonly kept?: Pick<Receipt, 'object' | 'table'> | undefined;
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
    selectedSeries: facts.selectedSeries,
    selectHash: selectHash(job),
    ...(facts.unmatched.length > 0 && {
      unmatchedExpressions: facts.unmatched.map((expression) => job.select.indexOf(expression)),
    }),
    firstTimestamp: span === undefined ? null : microsToIso(span.firstMicros),
    lastTimestamp: span === undefined ? null : microsToIso(span.lastMicros),
    object:
      facts.upload === undefined
        ? (facts.kept?.object ?? null)
        : {
            key: facts.upload.key,
            sizeBytes: facts.parts.reduce((sum, part) => sum + part.sizeBytes, 0),
            upload: facts.upload.nonce,
            parts: facts.parts.map(({ sizeBytes, sha256 }) => ({ sizeBytes, sha256 })),
          },
    ...(facts.kept?.table && { table: facts.kept.table }),
    detail: facts.detailSha256 === null ? null : { key: detailKey(day), sha256: facts.detailSha256 },
    source: facts.source,
    sourceUrl: ports.sourceUrl,
    ...(facts.remark && { remark: facts.remark }),
    ...(facts.warnings.length > 0 && { warnings: facts.warnings }),
    apiVersion: ports.apiVersion,
    formatVersion: FORMAT_VERSION,
    pages: facts.tally.pages,
    requests: facts.tally.requests,
    retries: facts.tally.retries,
    clippedRows: facts.tally.clippedRows,
    startedAt: facts.tally.startedAt,
    version: ports.version,
    ...(task.unlisted && { unlisted: true }),
  };
}
