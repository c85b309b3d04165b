import type { VesselExportError } from '../core/errors.ts';
import type {
  ApiVersion,
  Clock,
  ComparedDay,
  FormatSizes,
  Job,
  Log,
  ProcessId,
  Receipt,
  VesselDay,
} from '../core/model/index.ts';
import type { Tracing } from '../core/model/tracing.ts';
import type { SliceLengths } from '../core/plan/slice-length.ts';
import type { Claim } from '../lake/claims/claim.ts';
import type { LakeLayout } from '../lake/layout.ts';
import type { IndexJournal } from '../lake/ledger/index-journal.ts';
import type { LastPublished } from '../lake/ledger/newest-days.ts';
import type { LakeTables } from '../lake/publish/lake-tables.ts';
import type { OnStep } from '../lake/publish/publish.ts';
import type { Encoder } from '../parquet/write/encoder.ts';
import type { ResolvedSeries, SourceContext } from '../source/context.ts';
import type { QueryClient } from '../source/fetch/client.ts';
import type { ObjectStore } from '../store/store.ts';
import type { OnExportEvent } from './events.ts';

export interface ExportPorts {
  readonly store: ObjectStore;
  readonly layout: LakeLayout;
  readonly tables: LakeTables;
  readonly lastPublished: LastPublished;
  /** Absent: no pieces are written for the ledger's index. */
  readonly journal?: IndexJournal;
  readonly client: QueryClient;
  /** The base URL that the client requests, for receipts. */
  readonly sourceUrl: string;
  readonly encoder: Encoder;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: ProcessId;
  /** Makes unique ids `[A-Za-z0-9-]+` for uploads. */
  readonly nonce: () => string;
  readonly apiVersion: ApiVersion;
  /** Version of vessel-export, for receipts. */
  readonly version: string;
  readonly sizes: FormatSizes;
  /** Target number of readings per time slice. */
  readonly sliceTargetRows: number;
  /** Lengths of slices that vessel-days share. */
  readonly sliceLengths: SliceLengths;
  readonly tracing: Tracing;
  /** Listener for every vessel-day of this process, besides that of the caller. */
  readonly onVesselDay?: OnExportEvent;
  /** Only for tests: called after each step of the crash table by its name, to stop the process there. */
  readonly onStep: OnStep;
}

export interface ExportTask {
  readonly job: Job;
  readonly day: VesselDay;
  readonly settingsHash: string;
  /** Export again although there is a receipt of these settings. */
  readonly force: boolean;
  /** With `force`: only while the published day is still the one that was compared. */
  readonly compared?: ComparedDay;
  /** Publish even if a series would lose readings. */
  readonly allowShrink: boolean;
  /** Take the vessel-day from a live owner. */
  readonly takeover: boolean;
  /** Known from the ledger only: the job's discovery did not name the vessel. */
  readonly unlisted?: boolean;
  /** Metadata: the receipt of the vessel's last snapshot before this day. */
  readonly lastSnapshot?: Receipt;
  /** Metadata: the days with a mark of the vessel's snapshots. */
  readonly captures?: readonly string[];
  /** Why the day must not be attempted: thrown, with a note, unless the day turns out to be done or sealed. */
  readonly giveUp?: VesselExportError;
  /** Why it is exported, such as `nightly`; default: `run`. */
  readonly origin?: string;
  readonly onEvent?: OnExportEvent;
}

export interface ClaimedDay {
  readonly ports: ExportPorts;
  readonly task: ExportTask;
  readonly claim: Claim;
  /** The present receipt of the day, which will be replaced. */
  readonly previous: Receipt | undefined;
}

/** The same, with the series that its expressions select at the source. */
export interface AskedDay extends ClaimedDay {
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
}

/** Reports a finished step: tests may stop the process there, and listeners get an event. */
export async function stepDone(
  { onStep }: Pick<ExportPorts, 'onStep'>,
  { day, onEvent }: Pick<ExportTask, 'day' | 'onEvent'>,
  step: string,
): Promise<void> {
  await onStep(step);
  onEvent?.({ kind: 'day-step', day, step });
}

/** `published`: a receipt was written now. `done`: it was published before. `unchanged`: a snapshot equals the last one. */
export type ExportOutcome =
  | { readonly status: 'published'; readonly receipt: Receipt; readonly resumed: boolean }
  | { readonly status: 'done'; readonly receipt: Receipt }
  | { readonly status: 'unchanged' };
