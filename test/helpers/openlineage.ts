/**
 * OpenLineage's events as its specification 2-0-2 has them, written by hand from its JSON schemas: only what they name, of the
 * types that they give, with the schema that each facet claims. `npm run orchestrators` holds the same events against its client.
 */
import { z } from 'zod';

const text = z.string();
const uri = z.string().regex(/^[a-z][a-z\d+.-]*:\S+$/);
const instant = z.iso.datetime({ offset: true });

function facet<const Members extends z.ZodRawShape>(version: string, name: string, members: Members) {
  const _schemaURL = z.literal(`https://openlineage.io/spec/facets/${version}/${name}.json#/$defs/${name}`);
  return z.strictObject({ _producer: uri, _schemaURL, ...members }).optional();
}

const run = z.strictObject({ runId: z.uuid() });
const job = z.strictObject({ namespace: text, name: text });

const RUN_FACETS = z.strictObject({
  nominalTime: facet('1-0-1', 'NominalTimeRunFacet', {
    nominalStartTime: instant,
    nominalEndTime: instant.optional(),
  }),
  parent: facet('1-2-0', 'ParentRunFacet', { run, job }),
  errorMessage: facet('1-0-1', 'ErrorMessageRunFacet', {
    message: text.min(1),
    programmingLanguage: text,
    stackTrace: text.optional(),
  }),
  processing_engine: facet('1-1-1', 'ProcessingEngineRunFacet', { version: text, name: text.optional() }),
  tags: facet('1-0-0', 'TagsRunFacet', {
    tags: z.array(z.strictObject({ key: text, value: text, source: text.optional() })),
  }),
});
const JOB_FACETS = z.strictObject({
  jobType: facet('2-0-4', 'JobTypeJobFacet', {
    ...{ processingType: z.enum(['BATCH', 'STREAMING', 'SERVICE']), integration: text },
    jobType: text.optional(),
  }),
});
const DATASET_FACETS = z.strictObject({
  schema: facet('1-2-0', 'SchemaDatasetFacet', {
    fields: z.array(z.strictObject({ name: text, type: text.optional() })),
  }),
  version: facet('1-0-1', 'DatasetVersionDatasetFacet', { datasetVersion: text }),
  storage: facet('1-0-1', 'StorageDatasetFacet', {
    storageLayer: z.enum(['iceberg', 'delta']),
    fileFormat: text.optional(),
  }),
  dataQualityAssertions: facet('1-1-0', 'DataQualityAssertionsDatasetFacet', {
    assertions: z.array(
      z.strictObject({
        ...{ assertion: text, success: z.boolean(), severity: z.enum(['error', 'warn']).optional() },
        ...{ name: text.optional(), description: text.optional() },
        ...{ expected: text.optional(), actual: text.optional() },
      }),
    ),
  }),
});
const OUTPUT_FACETS = z.strictObject({
  outputStatistics: facet('1-0-2', 'OutputStatisticsOutputDatasetFacet', {
    rowCount: z.int(),
    size: z.int(),
    fileCount: z.int(),
  }),
});

export const RUN_EVENT = z.strictObject({
  eventType: z.enum(['START', 'RUNNING', 'COMPLETE', 'ABORT', 'FAIL', 'OTHER']),
  eventTime: instant,
  producer: uri,
  schemaURL: z.literal('https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent'),
  run: run.extend({ facets: RUN_FACETS }),
  job: job.extend({ facets: JOB_FACETS }),
  inputs: z.array(job.extend({ facets: z.strictObject({}) })),
  outputs: z.array(job.extend({ facets: DATASET_FACETS, outputFacets: OUTPUT_FACETS })),
});

export type RunEvent = z.output<typeof RUN_EVENT>;
