/** What exports in this process need, of a lake in memory and a source without a network. */
import type { Clock, Layout } from '../../src/core/model/index.ts';
import { FORMAT_SIZES, silentLog } from '../../src/core/model/index.ts';
import { noTracing } from '../../src/core/model/tracing.ts';
import { createSliceLengths } from '../../src/core/plan/slice-length.ts';
import type { ExportPorts } from '../../src/export/ports.ts';
import { createLakeLayout } from '../../src/lake/layout.ts';
import { createLastPublished } from '../../src/lake/ledger/newest-days.ts';
import { createLakeTables } from '../../src/lake/publish/lake-tables.ts';
import { createEncoder } from '../../src/parquet/write/index.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import type { MadeUpSource } from './made-up-source.ts';

export const API = '2026-09-10';
const SOURCE = 'https://api.example.com/fleet';
const encoder = createEncoder({ threads: 0, smallRows: 1_000 });

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
