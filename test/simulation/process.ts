/** A process of a simulated world: the ports that `app.ts` would open, and what people and machines have it do. */

import { reconcileJob } from '../../src/audit/reconcile/reconcile-jobs.ts';
import { noteRefusals, repairTasks } from '../../src/audit/reconcile/repair.ts';
import { verifyLake } from '../../src/audit/verify/verify-lake.ts';
import type { Clock, FormatSizes, Job, Layout } from '../../src/core/model/index.ts';
import { addDays, silentLog } from '../../src/core/model/index.ts';
import { noTracing } from '../../src/core/model/tracing.ts';
import { createSliceLengths } from '../../src/core/plan/slice-length.ts';
import type { DayResult } from '../../src/export/events.ts';
import type { ExportPorts } from '../../src/export/ports.ts';
import { exportJobs, performTasks } from '../../src/export/run/run-jobs.ts';
import { acceptWarning } from '../../src/lake/accept.ts';
import { createLakeLayout } from '../../src/lake/layout.ts';
import { createIndexJournal } from '../../src/lake/ledger/index-journal.ts';
import { createLastPublished } from '../../src/lake/ledger/newest-days.ts';
import { createLakeTables } from '../../src/lake/publish/lake-tables.ts';
import { TABLE_RETENTION } from '../../src/lake/table/retention.ts';
import { convertLake } from '../../src/lake/upkeep/convert.ts';
import { findGarbage } from '../../src/lake/upkeep/garbage.ts';
import { createEncoder } from '../../src/parquet/write/index.ts';
import { createQueryClient } from '../../src/source/fetch/client.ts';
import { createConcurrencyLimit } from '../../src/source/fetch/concurrency-limit.ts';
import { createRateLimit } from '../../src/source/fetch/rate-limit.ts';
import type { Transport } from '../../src/source/fetch/transport.ts';
import type { ObjectStore } from '../../src/store/store.ts';
// What is loaded when it is needed: here it is there at once, for nothing in a world may take real time.
import '../../src/lake/ledger/index-file.ts';
import '../../src/lake/publish/job-table.ts';
import '../../src/lake/table/statistics.ts';
import '../../src/parquet/write/encode-row-group.ts';
import '../../src/source/decode/series-names.ts';
import type { Act, ActKind, History } from './history.ts';
import type { Draw } from './random.ts';
import { API, AUTH_URL, BASE_URL } from './service.ts';

export const JOB = 'm';
const SELECTS = ['flat/{vessel}/*', 'flat/{vessel}/S*'];
const encoder = createEncoder({ threads: 0, smallRows: 1_000 });
const NEVER = new AbortController().signal;

export interface ProcessWorld {
  readonly name: string;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly transport: Transport;
  readonly draw: Draw;
  readonly sizes: FormatSizes;
  /** LAKE_LAYOUT. */
  readonly wanted: Layout | undefined;
  readonly log: History['log'];
  readonly vessels: readonly string[];
  readonly dates: readonly string[];
  /** One of many that run until they are told to stop. */
  readonly isFleet?: boolean;
}

/** What a process has said. */
export interface Said {
  readonly results: readonly DayResult[];
  readonly findings: readonly string[];
}

export type Asked = Pick<Act, 'kind' | 'force' | 'allowShrink' | 'takeover' | 'select' | 'concurrency'>;

export function jobOf(vessels: readonly string[], select: 0 | 1): Job {
  return {
    ...{ name: JOB, dataset: 'measurements', vessels, select: [SELECTS[select]!] },
    ...{ transport: 'ndjson', verify: 'exact' },
  };
}

export function openPorts(world: ProcessWorld): { readonly ports: ExportPorts; close(): Promise<void> } {
  const { name, store, clock, transport, draw, sizes, wanted, isFleet = false } = world;
  const retention = { ...TABLE_RETENTION, ...world.log };
  const random = () => draw(1 << 20) / (1 << 20);
  const rateLimit = createRateLimit({ perMinute: undefined, clock });
  const concurrencyLimit = createConcurrencyLimit({ limit: 4, rateLimit, clock });
  const client = createQueryClient({
    ...{ baseUrl: BASE_URL, authUrl: AUTH_URL, clientId: 'c', clientSecret: 's', apiVersion: API },
    ...{ concurrencyLimit, rateLimit, clock, random, transport, failFast: !isFleet },
  });
  const tables = createLakeTables({ store, clock, log: silentLog, retention });
  const from = { wanted, source: { url: BASE_URL }, isShared: isFleet };
  const journal = createIndexJournal(store, silentLog, clock);
  let nonces = 0;
  const ports: ExportPorts = {
    ...{ store, clock, encoder, client, log: silentLog, sizes, tables, journal },
    sourceUrl: BASE_URL,
    layout: createLakeLayout({ store, clock, log: silentLog, ...from }),
    lastPublished: createLastPublished(store, clock),
    // A host of its own: whether another lives, nobody can see.
    self: { host: name, pid: 1 },
    nonce: () => `${name}-${++nonces}`,
    ...{ apiVersion: API, version: '0', sliceTargetRows: 5, sliceLengths: createSliceLengths(clock) },
    ...{ tracing: noTracing, onStep: () => {} },
  };
  return {
    ports,
    async close() {
      await tables.close();
      await client.close();
      await journal.close();
    },
  };
}

/** Do it. Throws what the command would end with. */
export async function perform(world: ProcessWorld, asked: Asked): Promise<Said> {
  const { ports, close } = openPorts(world);
  const said = { results: [] as DayResult[], findings: [] as string[] };
  try {
    await ACTS[asked.kind]({ world, ports, asked, job: jobOf(world.vessels, asked.select), said });
    return said;
  } finally {
    await close();
  }
}

interface Acting {
  readonly world: ProcessWorld;
  readonly ports: ExportPorts;
  readonly asked: Asked;
  readonly job: Job;
  readonly said: { readonly results: DayResult[]; readonly findings: string[] };
}

const ACTS: Readonly<Record<ActKind, (acting: Acting) => Promise<void>>> = {
  async run({ world, ports, asked, job, said }) {
    const request = { ...asked, jobs: [job], ...rangeOf(world) };
    await exportJobs(ports, { ...request, vessels: world.vessels }, resultsTo(said.results), NEVER);
  },

  async reconcile({ world, ports, asked, job, said }) {
    const { concurrency } = asked;
    const found = await reconcileJob(
      ports,
      job,
      { ...rangeOf(world), vessels: world.vessels, concurrency },
      NEVER,
    );
    await noteRefusals(ports, found);
    await performTasks(
      ports,
      repairTasks(ports, job, found, asked),
      concurrency,
      resultsTo(said.results),
      NEVER,
    );
  },

  async gc({ ports }) {
    for await (const { keep, remove } of findGarbage(ports)) if (!keep) await remove();
  },

  async convert({ ports }) {
    await convertLake({ ...ports, signal: NEVER, say: () => {} });
  },

  async verify({ world, ports, job, said }) {
    const observer = {
      ...{ onPlanned: () => {}, onBytes: () => {} },
      onDay: ({
        findings,
      }: {
        readonly findings: readonly { readonly name: string; readonly where: string }[];
      }) => {
        said.findings.push(...findings.map(({ name, where }) => `${name} ${where}`));
      },
    };
    const { from, to } = rangeOf(world);
    await verifyLake(ports, { jobs: [job], concurrency: 4, from, to, vessels: [] }, observer, NEVER);
  },

  async accept({ world, ports }) {
    for (const vessel of world.vessels) await acceptWarning(ports, JOB, vessel);
  },
};

function rangeOf({ dates }: ProcessWorld) {
  return { from: dates[0]!, to: addDays(dates.at(-1)!, 1) };
}

function resultsTo(results: DayResult[]) {
  return (event: { readonly kind: string; readonly result?: DayResult }) => {
    if (event.kind === 'day-result') results.push(event.result!);
  };
}
