import type { ResolvedSeries, SourceContext } from '../export/source-context.ts';
import type { Receipt } from '../model/index.ts';
import type { DetailCounts } from '../verify/detail-check.ts';
import type { ReadBack } from '../verify/read-back.ts';

/** A vessel-day whose object is at hand as a file, and what it is held against. */
export interface DeepDay {
  readonly context: SourceContext;
  readonly receipt: Receipt;
  readonly counts: DetailCounts | undefined;
  /** The object as a file. */
  readonly path: string;
  readonly readBack: ReadBack;
  /** False where the receipt has other settings than the job now. */
  readonly sameSettings: boolean;
  /** The series that the job selects now, or exactly the named ones. Throws DataError `no-series`. */
  readonly resolveSeries: (named: readonly string[] | undefined) => Promise<ResolvedSeries>;
  /** Told of what could not be compared. */
  readonly onRemark: (name: 'not-compared' | 'metadata-changed', text: string) => void;
}
