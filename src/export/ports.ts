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
  /** Absent: nothing is left for the ledger's index. */
  readonly journal?: IndexJournal;
  readonly client: QueryClient;
  /** What the client asks, for receipts. */
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
  /** Readings a time slice aims at. */
  readonly sliceTargetRows: number;
  /** What vessel-days tell each other of the length of slices. */
  readonly sliceLengths: SliceLengths;
  readonly tracing: Tracing;
  /** Told of every vessel-day of this process, besides who asked for it. */
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
  /** Publish even where a series would lose readings. */
  readonly allowShrink: boolean;
  /** Take the vessel-day from a live owner. */
  readonly takeover: boolean;
  /** Known from the ledger only: the job's discovery did not name the vessel. */
  readonly unlisted?: boolean;
  /** Metadata: the receipt of the vessel's last snapshot before this day. */
  readonly lastSnapshot?: Receipt;
  /** Metadata: the days on which the vessel's snapshots were taken, as far as they are marked. */
  readonly captures?: readonly string[];
  /** Why the day is not to be attempted: thrown, and noted, unless it turns out to be done or sealed. */
  readonly giveUp?: VesselExportError;
  /** Why it is exported, such as `nightly`; left out: `run`. */
  readonly origin?: string;
  readonly onEvent?: OnExportEvent;
}

export interface ClaimedDay {
  readonly ports: ExportPorts;
  readonly task: ExportTask;
  readonly claim: Claim;
  /** The receipt that the day has, which is to be replaced. */
  readonly previous: Receipt | undefined;
}

/** The same, and what its expressions mean at the source. */
export interface AskedDay extends ClaimedDay {
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
}

/** A step is done: tests may stop the process there, and listeners are told. */
export async function stepDone(
  { onStep }: Pick<ExportPorts, 'onStep'>,
  { day, onEvent }: Pick<ExportTask, 'day' | 'onEvent'>,
  step: string,
): Promise<void> {
  await onStep(step);
  onEvent?.({ kind: 'day-step', day, step });
}

/** `published`: a receipt was written now. `done`: somebody else had done it. `unchanged`: a snapshot equals the last one. */
export type ExportOutcome =
  | { readonly status: 'published'; readonly receipt: Receipt; readonly resumed: boolean }
  | { readonly status: 'done'; readonly receipt: Receipt }
  | { readonly status: 'unchanged' };
