/** What lineage says of vessel-days: by the specification, and what the receipts say. */
import { expect, test } from 'vitest';
import { CancelledError } from '../../src/core/errors.ts';
import type { Layout } from '../../src/core/model/index.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import { createLineage } from '../../src/export/lineage.ts';
import { performTask } from '../../src/export/run/run-jobs.ts';
import {
  API,
  DATE,
  DAY,
  jobOf,
  openMemoryLake,
  seriesOf,
  startProcess,
  VESSEL,
} from '../helpers/memory-lake.ts';
import { RUN_EVENT, type RunEvent } from '../helpers/openlineage.ts';

const BOTH = [seriesOf('S1'), seriesOf('S2')];
const PARENT = {
  namespace: 'http://airflow',
  name: 'nightly.export',
  runId: '0198c2a5-0000-7000-8000-00000000000a',
};

/** `run` gives the events of one attempt, each held against the specification. */
function open(layout: Layout = 'plain', lakeUrl = 's3://bucket/lake') {
  const lake = openMemoryLake(BOTH, layout);
  const where = {
    namespace: 'fleet',
    lakeUrl,
    sourceUrl: 'https://api.example.com/my/tenant/',
    version: '1.2.3',
  };
  let events: RunEvent[] = [];
  const run = async (
    asked: { force?: boolean; signal?: AbortSignal; job?: ReturnType<typeof jobOf> } = {},
  ) => {
    events = [];
    const { signal = new AbortController().signal, job = jobOf(), force = false } = asked;
    const onVesselDay = createLineage({
      ...{ ...where, clock: lake.clock, parent: PARENT },
      send: (runId, event) => {
        const sent = RUN_EVENT.parse(JSON.parse(JSON.stringify(event)));
        expect(sent.run.runId).toBe(runId);
        events.push(sent);
      },
    });
    await lake.clock.advance(1_000);
    const ports = { ...startProcess(lake), onVesselDay };
    const how = { force, allowShrink: false, takeover: false, origin: 'nightly' };
    const task = { job, day: { ...DAY }, settingsHash: settingsHash(job, API), ...how };
    await performTask(ports, task, signal).catch(() => {});
    await ports.tables.close();
    expect(new Set(events.map((event) => event.run.runId)).size).toBe(1);
    return events;
  };
  return { ...lake, run };
}

const typesOf = (events: readonly RunEvent[]) => events.map(({ eventType }) => eventType);
const assertionsOf = (event: RunEvent) => event.outputs[0]?.facets.dataQualityAssertions?.assertions;

test('a published day is a run that has written to the job, with its rows, bytes, schema and proof', async () => {
  const { run, receipt } = open();
  const [start, complete, ...more] = await run();
  expect([typesOf([start!, complete!]), more]).toEqual([['START', 'COMPLETE'], []]);
  expect(start).toMatchObject({
    eventTime: expect.stringMatching(/Z$/),
    producer: 'pkg:npm/vessel-export@1.2.3',
    run: {
      facets: {
        nominalTime: { nominalStartTime: `${DATE}T00:00:00Z`, nominalEndTime: '2026-01-06T00:00:00Z' },
        parent: { run: { runId: PARENT.runId }, job: { namespace: PARENT.namespace, name: PARENT.name } },
      },
    },
    job: { namespace: 'fleet', name: 'm' },
    inputs: [{ namespace: 'https://api.example.com', name: 'my/tenant/measurements' }],
    outputs: [{ namespace: 's3://bucket', name: 'lake/m' }],
  });
  const published = (await receipt())!;
  const [output] = complete!.outputs;
  expect(output!.outputFacets.outputStatistics).toMatchObject({
    ...{ rowCount: published.rows, size: published.object!.sizeBytes, fileCount: 1 },
  });
  expect(published.rows).toBeGreaterThan(0);
  expect(assertionsOf(complete!)).toEqual([
    expect.objectContaining({
      success: true,
      expected: String(published.rows),
      actual: String(published.rows),
    }),
  ]);
  const fields = output!.facets.schema!.fields.map(({ name, type }) => `${name} ${type}`);
  expect(fields).toContain('long_value BIGINT');
  expect(fields.slice(-2)).toEqual(['vessel VARCHAR', 'date DATE']);
  const tags = Object.fromEntries(complete!.run.facets.tags!.tags.map(({ key, value }) => [key, value]));
  expect(tags).toEqual({ vessel: VESSEL, date: DATE, origin: 'nightly', epoch: '1', outcome: 'published' });
});

test('a table says its version; a day that is done already has written nothing', async () => {
  const { run, receipt } = open('delta');
  const complete = (await run())[1]!;
  expect(complete.outputs[0]!.facets).toMatchObject({
    version: { datasetVersion: String((await receipt())!.table!.version) },
    storage: { storageLayer: 'delta' },
  });
  const again = await run();
  expect(typesOf(again)).toEqual(['START', 'COMPLETE']);
  expect(again[1]!.outputs).toEqual([]);
});

test('an empty day has no object; one without a proof asserts nothing', async () => {
  const { run, source } = open();
  source.series = BOTH.map((one) => ({ ...one, readings: 0 }));
  const empty = (await run())[1]!;
  expect(empty.outputs[0]!.outputFacets.outputStatistics).toMatchObject({
    rowCount: 0,
    size: 0,
    fileCount: 0,
  });
  expect(assertionsOf(empty)).toMatchObject([{ success: true, expected: '0', actual: '0' }]);
  const unproven = (await open().run({ job: jobOf('measurements', { verify: 'off' }) }))[1]!;
  expect([unproven.eventType, assertionsOf(unproven)]).toEqual(['COMPLETE', undefined]);
});

test('a refused day is a failed run whose assertion has failed, with the message of the log', async () => {
  const { run, source } = open();
  await run();
  source.series = [seriesOf('S1'), seriesOf('S2', 2)];
  const [, refused] = await run({ force: true });
  expect(refused!.eventType).toBe('FAIL');
  const message = refused!.run.facets.errorMessage!.message;
  expect(message).toMatch(/--allow-shrink/);
  expect(assertionsOf(refused!)).toMatchObject([
    { name: 'no_fewer_rows', success: false, description: message },
  ]);
  expect(refused!.outputs[0]!.outputFacets).toEqual({});
});

test('a day that cannot be exported failed; one that was interrupted is aborted', async () => {
  const { run, source } = open();
  source.series = [];
  const [, failed] = await run();
  expect([failed!.eventType, assertionsOf(failed!)]).toEqual(['FAIL', undefined]);
  const [, aborted] = await run({ signal: AbortSignal.abort(new CancelledError()) });
  expect([aborted!.eventType, aborted!.run.facets.errorMessage]).toEqual(['ABORT', undefined]);
});

test.for([
  ['file:///data/lake', 'file', '/data/lake/m'],
  ['file:///', 'file', '/m'],
  ['s3://bucket', 's3://bucket', 'm'],
])('%s is called by the rule of its store', async ([lakeUrl, namespace, name]) => {
  const [start] = await open('plain', lakeUrl).run();
  expect(start!.outputs).toMatchObject([{ namespace, name }]);
});
