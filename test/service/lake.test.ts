import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService, VESSEL } from './running-service.ts';
import { DAYS, expectSameBytes, NEW, QUERIES } from './same-answers.ts';
import { createTestLake, readingOfLine } from './test-lake.ts';

describe('a lake of what a made-up service answered', () => {
  const dir = mkdtempSync(join(tmpdir(), 'service-lake-test-'));
  let madeUp: TestService;
  let lake: TestService;

  beforeAll(async () => {
    madeUp = await openService();
    const writer = await createTestLake(dir);
    const vessels = new Set<string>();
    const post = async (path: string, body: string[]) =>
      (await (await madeUp.post(path, body, NEW)).text()).trim().split('\n');
    const all = (await madeUp.json('/metadata/maker/*/*/*', NEW)) as { vessel: { imo: string } }[];
    for (const { vessel } of all) vessels.add(`IMO${vessel.imo}`);
    for (const vessel of vessels) {
      // Both forms together: some series have no tag, some no maker's code.
      const body = [`flat/${vessel}/*`, `maker/${vessel}/*/*`];
      const elements = await post(`/metadata/query?format=ndjson`, body);
      await writer.writeMetadata({ job: 'metadata', vessel, date: '2026-01-06' }, elements);
      for (const [date, next] of DAYS) {
        const lines = await post(
          `/measurements/query?from=${date}&to=${next}&format=ndjson&output_domain=id`,
          body,
        );
        await writer.writeMeasurements({ job: 'measurements', vessel, date }, lines.map(readingOfLine));
      }
    }
    writer.close();
    lake = await openService({ data: { dataDir: dir } });
  });
  afterAll(async () => {
    await madeUp?.[Symbol.asyncDispose]();
    await lake?.[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });

  test.each(QUERIES)('answers the same bytes: %s', (...query) => expectSameBytes(madeUp, lake, query));
});

test('a lake gives back fields that the contract does not list', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'service-lake-others-'));
  const writer = await createTestLake(dir);
  const element = (id: string, domains: string) =>
    `{"id":"a","timeSeriesId":"${id}","vessel":{"name":"Nordlys","imo":"9321483"},"domains":${domains}}`;
  const names = (tag: string) => `"flat":{"id":"${VESSEL}/${tag}","note":",\\"_other\\":{}","high":1.50}`;
  await writer.writeMetadata({ job: 'metadata', vessel: VESSEL, date: '2026-01-06' }, [
    element('u1', `{${names('a')},"_other":{"sampling":{"_other":{"hz":2}},"vessel":{"flag":"NO"}}}`),
    element('u2', `{${names('b')}}`),
  ]);
  writer.close();
  try {
    await using lake = await openService({ data: { dataDir: dir } });
    const [first, second] = (await lake.json(`/metadata/flat/${VESSEL}/*`, NEW)) as object[];
    expect(first).toMatchObject({ sampling: { _other: { hz: 2 } }, vessel: { imo: '9321483', flag: 'NO' } });
    expect(second).not.toHaveProperty('sampling');
    const text = await lake.text(`/metadata/flat/${VESSEL}/*`, NEW);
    for (const tag of ['a', 'b']) expect(text).toContain(`"domains":{${names(tag)}}`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
