/** Traces of commands, in processes of their own: continued, not asked for, and collectors that are no help. */
import { rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refusingPort } from '../../helpers/ports.ts';
import type { TestLake, TestService } from '../../helpers/run.ts';
import {
  DATE,
  exportEnv,
  FEW_SERIES,
  newLake,
  runCli,
  startTestService,
  writeJobs,
} from '../../helpers/run.ts';
import { newTempFolder } from '../../helpers/temp.ts';
import { startCollector } from './collector.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT_ID = 'b7ad6b7169203331';
const RUN = ['run', '--from', DATE, '--to', '2026-01-06'];

let service: TestService;
let jobsDir: string;
beforeAll(async () => {
  service = await startTestService({ readingsPerDay: 1_000 });
  jobsDir = await writeJobs({ measurements: FEW_SERIES });
});
afterAll(async () => {
  await service.close();
  await rm(jobsDir, { recursive: true });
});

const envOf = (lake: TestLake) => ({ ...exportEnv(service, lake.url, jobsDir), LOG_LEVEL: 'info' });
const linesOf = (stderr: string) =>
  stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

test('a pipeline that began a trace sees its vessel-days in it: of run, and of reconcile --run', async () => {
  await using collector = await startCollector();
  await using lake = await newLake();
  const traced = {
    ...envOf(lake),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/a/path`,
    TRACEPARENT: `00-${TRACE_ID}-${PARENT_ID}-01`,
  };
  for (const args of [RUN, ['reconcile', '--run', '--from', '2026-01-04', '--to', DATE]]) {
    const at = collector.spans.length;
    const { code, stderr } = await runCli(args, traced);
    expect(code, stderr).toBe(0);
    const spans = collector.spans.slice(at);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE_ID]));
    const [day] = spans.filter(({ name }) => name === 'vessel-day');
    expect(day).toMatchObject({ parentId: PARENT_ID, attributes: { 'vessel_export.outcome': 'published' } });
    expect(day!.resource['service.name']).toBe('vessel-export');
    for (const line of linesOf(stderr)) expect(line.traceId).toBe(TRACE_ID);
  }
  expect(new Set(collector.requests.map(({ url }) => url))).toEqual(new Set(['/a/path']));
});

test('without one each vessel-day is a trace, as far as the sampler has it', async () => {
  await using collector = await startCollector();
  await using lake = await newLake();
  const env = { ...envOf(lake), OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const range = ['run', '--from', '2026-01-03', '--to', '2026-01-05'];
  expect((await runCli(range, { ...env, OTEL_TRACES_SAMPLER: 'always_off' })).code).toBe(0);
  expect(collector.spans).toEqual([]);
  const { stderr } = await runCli([...range, '--force'], env);
  const days = collector.spans.filter(({ name }) => name === 'vessel-day');
  expect(days.map(({ parentId }) => parentId)).toEqual(['', '']);
  expect(new Set(days.map(({ traceId }) => traceId)).size).toBe(2);
  const said = linesOf(stderr).filter(({ msg }) => msg === 'published');
  for (const { vesselDay, traceId } of said)
    expect(days.find(({ attributes }) => vesselDay.endsWith(attributes['vessel_export.date']))!.traceId).toBe(
      traceId,
    );
  expect(said).toHaveLength(2);
});

test('a collector that is down costs a warning, said once, and nothing of the work', async () => {
  await using lake = await newLake();
  const port = await refusingPort();
  const env = {
    ...envOf(lake),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://somebody:secret-of-it@127.0.0.1:${port}`,
    OTEL_BSP_SCHEDULE_DELAY: '1',
    OTEL_EXPORTER_OTLP_TIMEOUT: '50',
  };
  const { code, stderr } = await runCli(RUN, env);
  expect(code).toBe(0);
  const said = linesOf(stderr).filter(({ level }) => level !== 'info');
  expect(said).toEqual([
    expect.objectContaining({
      level: 'warn',
      collector: `127.0.0.1:${port}`,
      msg: expect.stringContaining('Said once'),
    }),
  ]);
  expect(stderr).not.toContain('secret-of-it');
});

test('a collector that answers odd things has no other effect', async () => {
  await using collector = await startCollector();
  await using lake = await newLake();
  const env = { ...envOf(lake), OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '1' };
  const odd = [
    // Not what was agreed on; a refusal with much to say; elsewhere; no end.
    (response: ServerResponse) => response.end('<html>\x1b[31m'),
    (response: ServerResponse) => response.writeHead(400, 'no\x80').end('x'.repeat(6 << 20)),
    (response: ServerResponse) => response.writeHead(307, { location: `${service.baseUrl}/elsewhere` }).end(),
    (response: ServerResponse) => response.writeHead(200).write('a'),
  ];
  let answered = 0;
  collector.answer = (response) => void odd[answered++ % odd.length]!(response);
  const { code, stderr } = await runCli(['run', '--from', '2026-01-03', '--to', '2026-01-06'], env);
  expect(code).toBe(0);
  expect(answered).toBeGreaterThan(0);
  expect(linesOf(stderr).filter(({ level }) => level !== 'info').length).toBeLessThanOrEqual(1);
  expect(stderr).not.toMatch(/html|xxx/);
});

test('its settings are checked, and its headers are not shown', async () => {
  await using folder = await newTempFolder();
  const file = join(folder.path, 'headers');
  await writeFile(file, 'api-key=abc%20def,other=1\n');
  const good = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://me:pass@collector:4318',
    OTEL_EXPORTER_OTLP_HEADERS_FILE: file,
  };
  const shown = (await runCli(['config', '--json'], { ...good, JOBS_DIR: jobsDir })).stdout;
  expect(shown).not.toMatch(/abc|pass@/);
  expect(
    JSON.parse(shown).settings.find(({ name }: { name: string }) => name.includes('HEADERS')),
  ).toMatchObject({
    value: '***',
    valid: true,
    origin: `file ${file}`,
  });
  const wrong = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
    OTEL_EXPORTER_OTLP_HEADERS: 'a secret that is no header',
    OTEL_TRACES_SAMPLER: 'some',
    OTEL_TRACES_SAMPLER_ARG: '2',
  };
  const { code, stderr } = await runCli(['config'], { ...wrong, JOBS_DIR: jobsDir });
  expect(code).toBe(2);
  for (const name of Object.keys(wrong)) expect(stderr).toContain(`fault: ${name} (environment): got `);
  expect(stderr).not.toContain('a secret');
});
