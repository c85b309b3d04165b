import type { Proof, SealedDay } from '../core/model/index.ts';
import { packDetail } from '../lake/ledger/ledger.ts';
import { emptyParquetFooter, parquetFooter } from '../parquet/write/index.ts';
import type { DayAttempt } from './day-attempt.ts';
import { tallyOf } from './day-attempt.ts';
import { draftReceipt } from './draft.ts';
import { finishUpload } from './finish-upload.ts';
import { stepDone } from './ports.ts';
import type { SourceCounts } from './source-counts.ts';

/**
 * Step 8: the last part, and the draft that the receipt will be. In a plain lake a day that was emptied becomes an object
 * of no rows.
 */
export async function sealDay(attempt: DayAttempt, source: SourceCounts | undefined): Promise<SealedDay> {
  const { parts, task, counts, series, claim, published } = attempt;
  const rows = parts.groups.reduce((sum, group) => sum + group.rows, 0);
  const { kept, ...destination } = await finishUpload(attempt.ports, {
    ...{ claim, parts, published },
    footer: rows === 0 ? undefined : parquetFooter(task.job.dataset, parts.groups),
    emptyFooter: () => emptyParquetFooter(task.job),
    signal: attempt.context.signal,
  });
  await stepDone(attempt.ports, task, 'uploaded');
  const detail = packDetail({
    ours: counts,
    source: source?.counts ?? null,
    series: series.idOf,
    select: task.job.select,
  });
  const proof: Proof = source === undefined || task.job.verify === 'off' ? 'unproven' : task.job.verify;
  return {
    ...destination,
    detail: Buffer.from(detail.gzip).toString('base64'),
    draft: draftReceipt(attempt.ports, task, {
      rows,
      selectedSeries: series.idOf.size,
      unmatched: series.unmatched,
      remark: attempt.remark,
      warnings: attempt.warnings,
      counts,
      proof,
      upload: destination.upload ?? undefined,
      parts: destination.parts,
      kept,
      detailSha256: detail.sha256,
      source:
        source === undefined
          ? null
          : { rows: source.counts.total(), askedAt: source.askedAt, totalsSha256: source.totalsSha256 },
      tally: tallyOf(attempt),
    }),
  };
}
