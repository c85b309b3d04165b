/** Vessel-days as events of OpenLineage: an attempt is a run of its job, and what it publishes the output, with the proof as an assertion. */
import { onKinds } from '../core/event-stream.ts';
import { addDays, type Clock, type Job, type Receipt, type VesselDay } from '../core/model/index.ts';
import { uniqueId } from '../core/unique-id.ts';
import { type ColumnType, datasetColumns } from '../parquet/write/columns.ts';
import { parseLakeUrl } from '../store/open-store.ts';
import type { DayEnd, ExportEvent } from './events.ts';

/** The run that has started this process, as its orchestrator names it. */
interface ParentRun {
  readonly namespace: string;
  readonly name: string;
  readonly runId: string;
}

interface LineageOptions {
  readonly namespace: string;
  readonly parent?: ParentRun | undefined;
  readonly lakeUrl: string;
  readonly sourceUrl: string;
  readonly version: string;
  readonly clock: Clock;
  readonly send: (runId: string, event: object) => void;
}

interface Run {
  readonly runId: string;
  readonly job: Job;
  readonly origin: string;
  epoch?: number;
}

const SPEC = 'https://openlineage.io/spec';
/** Version of the schema of each facet, and its name there. */
const FACETS = {
  nominalTime: '1-0-1/NominalTimeRunFacet',
  parent: '1-2-0/ParentRunFacet',
  errorMessage: '1-0-1/ErrorMessageRunFacet',
  processing_engine: '1-1-1/ProcessingEngineRunFacet',
  tags: '1-0-0/TagsRunFacet',
  jobType: '2-0-4/JobTypeJobFacet',
  schema: '1-2-0/SchemaDatasetFacet',
  version: '1-0-1/DatasetVersionDatasetFacet',
  storage: '1-0-1/StorageDatasetFacet',
  dataQualityAssertions: '1-1-0/DataQualityAssertionsDatasetFacet',
  outputStatistics: '1-0-2/OutputStatisticsOutputDatasetFacet',
} as const;
type Facets = { readonly [name in keyof typeof FACETS]?: object | undefined };

const TYPES: Readonly<Record<ColumnType, string>> = {
  timestamp: 'TIMESTAMP',
  long: 'BIGINT',
  double: 'DOUBLE',
  text: 'VARCHAR',
  series: 'VARCHAR',
};
const NAME = 'vessel-export';
/** What is no failure of the vessel-day: it is done at another time, or by somebody else. */
const ABORTED: readonly DayEnd['status'][] = ['waiting', 'not-due', 'running-elsewhere', 'interrupted'];

/** A listener of every vessel-day that this process exports. */
export function createLineage(options: LineageOptions) {
  const { namespace, parent, version, clock, send } = options;
  const runs = new Map<VesselDay, Run>();
  // Which package, and of which version: a package URL.
  const producer = `pkg:npm/${NAME}@${version}`;
  const source = sourceOf(options.sourceUrl);
  const lake = lakeOf(options.lakeUrl);

  function facets(of: Facets): object {
    const present = Object.entries(of).filter(([, facet]) => facet !== undefined);
    return Object.fromEntries(
      present.map(([name, facet]) => {
        const id = FACETS[name as keyof Facets];
        const _schemaURL = `${SPEC}/facets/${id}.json#/$defs/${id.split('/')[1]}`;
        return [name, { _producer: producer, _schemaURL, ...facet }];
      }),
    );
  }

  function emit(day: VesselDay, { runId, job, origin, epoch }: Run, eventType: string, end?: DayEnd): void {
    const said = { vessel: day.vessel, date: day.date, origin, epoch, outcome: end?.status, code: end?.code };
    const tags = Object.entries(said).flatMap(([key, value]) =>
      value === undefined ? [] : [{ key, value: String(value), source: NAME }],
    );
    const run = {
      nominalTime: { nominalStartTime: midnight(day.date), nominalEndTime: midnight(addDays(day.date, 1)) },
      processing_engine: { name: NAME, version },
      tags: { tags },
      parent: parent && {
        run: { runId: parent.runId },
        job: { namespace: parent.namespace, name: parent.name },
      },
      errorMessage:
        eventType === 'FAIL' ? { message: end?.message ?? '', programmingLanguage: 'TypeScript' } : undefined,
    };
    const ofJob = {
      jobType: { processingType: 'BATCH', integration: 'VESSEL_EXPORT', jobType: 'VESSEL_DAY' },
    };
    send(runId, {
      eventType,
      eventTime: new Date(clock.nowMs()).toISOString(),
      producer,
      schemaURL: `${SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent`,
      run: { runId, facets: facets(run) },
      job: { namespace, name: job.name, facets: facets(ofJob) },
      inputs: [{ namespace: source.namespace, name: `${source.path}${job.dataset}`, facets: {} }],
      outputs: isUntouched(end) ? [] : [outputOf(job, end)],
    });
  }

  function outputOf(job: Job, end: DayEnd | undefined): object {
    const { receipt } = end ?? {};
    const columns = datasetColumns(job).map(({ name, type }) => ({ name, type: TYPES[type] }));
    const partitions = [
      { name: 'vessel', type: 'VARCHAR' },
      { name: 'date', type: 'DATE' },
    ];
    const table = receipt?.table;
    const assertions = end === undefined ? [] : assertionsOf(end);
    const statistics = receipt && {
      rowCount: receipt.rows,
      size: receipt.object?.sizeBytes ?? 0,
      fileCount: receipt.object === null ? 0 : 1,
    };
    return {
      namespace: lake.namespace,
      name: `${lake.path}${job.name}`,
      facets: facets({
        schema: { fields: [...columns, ...partitions] },
        version: table && { datasetVersion: String(table.version) },
        storage: table && { storageLayer: 'delta', fileFormat: 'parquet' },
        dataQualityAssertions: assertions.length === 0 ? undefined : { assertions },
      }),
      outputFacets: facets({ outputStatistics: statistics }),
    };
  }

  return onKinds<ExportEvent>({
    'day-begun'({ day, job, origin }) {
      const run: Run = { runId: uniqueId(), job, origin };
      runs.set(day, run);
      emit(day, run, 'START');
    },
    'day-claimed'({ day, epoch }) {
      const run = runs.get(day);
      if (run !== undefined) run.epoch = epoch;
    },
    'day-ended'({ day, end }) {
      const run = runs.get(day);
      runs.delete(day);
      const isFailure = end.status === 'failed' || end.status === 'refused';
      const type = ABORTED.includes(end.status) ? 'ABORT' : isFailure ? 'FAIL' : 'COMPLETE';
      if (run !== undefined) emit(day, run, type, end);
    },
  });
}

/** Nothing was published, and nothing was to be. */
function isUntouched(end: DayEnd | undefined): boolean {
  return end?.status === 'done' || end?.status === 'unchanged';
}

/** What is proven of the day; a day that nobody held against the source says nothing. */
function assertionsOf({ receipt, code, message, warning }: DayEnd): object[] {
  const failed = { success: false, severity: 'error', description: message };
  if (code === 'counts-disagree') return [{ assertion: 'row_count', name: 'rows_of_source', ...failed }];
  if (code === 'would-shrink') return [{ assertion: 'row_count', name: 'no_fewer_rows', ...failed }];
  const proof = receipt && proofOf(receipt);
  const odd = { assertion: 'series', name: 'series_of_before', ...failed, severity: 'warn' };
  return [...(proof ? [proof] : []), ...(warning ? [{ ...odd, description: warning }] : [])];
}

function proofOf({ proof, rows, source }: Receipt): object | undefined {
  if (proof === 'unproven' || source === null) return undefined;
  const isExact = proof === 'exact';
  return {
    ...{ assertion: 'row_count', name: isExact ? 'rows_of_source' : 'at_least_rows_of_source' },
    ...{ success: true, severity: 'error' },
    description: `rows ${isExact ? 'equal' : 'are no fewer than'} what the query service counts for the vessel and day`,
    ...{ expected: String(source.rows), actual: String(rows) },
  };
}

/** By OpenLineage's naming: `s3://bucket` (`abfss://container@account…`) and a key, or `file` and a path. The path ends with a slash, or is empty. */
function lakeOf(lakeUrl: string) {
  const location = parseLakeUrl(lakeUrl);
  const isLocal = location.kind === 'local';
  const path = isLocal ? location.rootDir : location.prefix;
  return {
    namespace: isLocal ? 'file' : /^[a-z0-9]+:\/\/[^/]+/.exec(lakeUrl)![0],
    path: path === '' ? '' : `${path.replace(/\/+$/, '')}/`,
  };
}

/** The service, and its tenant. */
function sourceOf(sourceUrl: string) {
  const { origin, pathname } = new URL(sourceUrl);
  return { namespace: origin, path: pathname.replace(/^\/+|\/+$/g, '').replace(/.$/, '$&/') };
}

function midnight(date: string): string {
  return `${date}T00:00:00Z`;
}
