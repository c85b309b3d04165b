/** Exports of a vessel's days in this process, of a lake in memory and a source without a network. */
import type { Clock, Dataset, Job, Layout, Note, Receipt, VesselDay } from '../../src/core/model/index.ts';
import { addDays, FORMAT_SIZES, silentLog } from '../../src/core/model/index.ts';
import { noTracing } from '../../src/core/model/tracing.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import { createSliceLengths } from '../../src/core/plan/slice-length.ts';
import { exportVesselDay } from '../../src/export/export-vessel-day.ts';
import { snapshotsBefore } from '../../src/export/metadata-snapshot.ts';
import type { ExportPorts, ExportTask } from '../../src/export/ports.ts';
import { createLakeLayout } from '../../src/lake/layout.ts';
import { readNote, readReceipt } from '../../src/lake/ledger/ledger.ts';
import { createLastPublished } from '../../src/lake/ledger/newest-days.ts';
import { createLakeTables } from '../../src/lake/publish/lake-tables.ts';
import { createEncoder } from '../../src/parquet/write/index.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { createMadeUpSource, type MadeUpSeries, type MadeUpSource } from './made-up-source.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { createMemoryStore } from './memory-store.ts';

export const API = '2026-09-10';
export const VESSEL = 'IMO9321483';
export const DATE = '2026-01-05';
export const DAY: VesselDay = { job: 'm', vessel: VESSEL, date: DATE };
const SOURCE = 'https://api.example.com/fleet';
const encoder = createEncoder({ threads: 0, smallRows: 1_000 });

/** A job of the vessel, of all that it has. */
export function jobOf(dataset: Dataset = 'measurements', more: Partial<Job> = {}): Job {
  const statistics = { window: '1h', windowMicros: 3_600_000_000, aggregations: ['mean', 'count'] as const };
  return {
    ...{ name: DAY.job, dataset, vessels: [VESSEL], select: ['flat/{vessel}/*'] },
    ...{ transport: 'ndjson', verify: 'exact', ...(dataset === 'statistics' && statistics), ...more },
  };
}

/** A series of the vessel; `tag` of at most six letters. */
export function seriesOf(tag: string, readings: MadeUpSeries['readings'] = 3): MadeUpSeries {
  const timeSeriesId = `00000000-0000-4000-8000-${Buffer.from(tag).toString('hex').padStart(12, '0')}`;
  return { timeSeriesId, imo: VESSEL.slice(3), names: { flat: `${VESSEL}/${tag}` }, readings };
}

interface MemoryLake {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly source: Pick<MadeUpSource, 'client'>;
  readonly layout: Layout;
}

/** A process of its own: it knows of the lake what it has read itself. */
export function startProcess({ store, clock, source, layout }: MemoryLake): ExportPorts {
  let nonces = 0;
  const from = { wanted: layout, source: { url: SOURCE }, isShared: false };
  return {
    ...{ store, clock, encoder, client: source.client, log: silentLog, sizes: FORMAT_SIZES },
    layout: createLakeLayout({ store, clock, log: silentLog, ...from }),
    sourceUrl: SOURCE,
    tables: createLakeTables({ store, clock, log: silentLog }),
    lastPublished: createLastPublished(store, clock),
    self: { host: 'here', pid: 1, startedMs: 0 } as unknown as ExportPorts['self'],
    nonce: () => `n${Math.random().toString(36).slice(2)}-${++nonces}`,
    ...{ apiVersion: API, version: '0', sliceTargetRows: 1e6, sliceLengths: createSliceLengths(clock) },
    ...{ tracing: noTracing, onStep: () => {} },
  };
}

export interface Asked extends Partial<Pick<ExportTask, 'force' | 'allowShrink' | 'takeover' | 'compared'>> {
  /** Default: all readings of the vessel. */
  readonly job?: Job;
  readonly date?: string;
  /** Default: a process of its own, with `over` in place of what it would have. */
  readonly ports?: ExportPorts;
  readonly over?: Partial<Omit<ExportPorts, 'layout'>>;
  readonly signal?: AbortSignal;
}

export interface Ran {
  /** Its status, or the code of the error that ended it; the message of one without a code. */
  readonly code: string;
  readonly message: string;
  readonly resumed?: boolean;
  readonly receipt?: Receipt;
}

export interface OpenLake extends MemoryLake {
  readonly clock: ManualClock;
  readonly source: MadeUpSource;
  /** Export a vessel-day, some time after whatever came before. */
  run(asked?: Asked): Promise<Ran>;
  receipt(date?: string): Promise<Receipt | undefined>;
  note(date?: string): Promise<Note | undefined>;
  /** Bytes of the day that readers see, as text. */
  bytes(date?: string): Promise<string | undefined>;
  /** Keys of claims, and of uploads under way. */
  unfinished(): Promise<string[]>;
}

/** An empty lake, and a source with such series on forty days; it is long after them. */
export function openMemoryLake(series: readonly MadeUpSeries[], layout: Layout = 'plain'): OpenLake {
  const source = createMadeUpSource(Array.from({ length: 40 }, (_, days) => addDays(DATE, days)));
  source.series = series;
  const [store, clock] = [createMemoryStore(), createManualClock(Date.UTC(2026, 5, 1))];
  const lake = { store, clock, source, layout };
  const receipt = (date = DATE) => readReceipt(store, { ...DAY, date });
  return {
    ...lake,
    async run({
      job = jobOf(),
      date = DATE,
      ports,
      over,
      signal = new AbortController().signal,
      ...asked
    } = {}) {
      // What a process that goes on has read is old by then.
      await clock.advance(ports ? 60_000 : 1_000);
      const own = ports ?? { ...startProcess({ ...lake, ...over }), ...over };
      const before = job.dataset === 'metadata' ? (await snapshotsBefore(own, job))(VESSEL) : {};
      const how = { force: false, allowShrink: false, takeover: false, ...asked };
      const task = { job, day: { ...DAY, date }, settingsHash: settingsHash(job, API), ...before, ...how };
      return exportVesselDay(own, task, signal)
        .then(
          ({ status, ...outcome }) => ({ code: status, message: '', ...outcome }),
          ({ code, message }) => ({ code: code ?? message, message }),
        )
        .finally(() => ports ?? own.tables.close());
    },
    receipt,
    note: (date = DATE) => readNote(store, { ...DAY, date }),
    async bytes(date) {
      const object = (await receipt(date))?.object;
      return object ? Buffer.from((await store.get(object.key))!.bytes).toString('base64') : undefined;
    },
    async unfinished() {
      const keys: string[] = [];
      for await (const { key } of store.list('_checkpoints/')) keys.push(key);
      for await (const { key } of store.listUploads('')) keys.push(key);
      return keys;
    },
  };
}
