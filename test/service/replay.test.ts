import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/core/errors.ts';
import { newTempFolder } from '../helpers/temp.ts';
import { openService, type TestService, VESSEL } from './running-service.ts';
import { DAYS, expectSameBytes, NEW, QUERIES } from './same-answers.ts';

const scratch = await newTempFolder();
afterAll(() => scratch.remove());
let files = 0;

async function fileOf(lines: readonly string[] | Buffer): Promise<string> {
  const path = join(scratch.path, `${++files}.ndjson`);
  await writeFile(path, Buffer.isBuffer(lines) ? lines : lines.join('\n'));
  return path;
}

describe('a file of what a made-up service answered', () => {
  let madeUp: TestService;
  let replay: TestService;

  beforeAll(async () => {
    madeUp = await openService();
    const vessels = ['IMO9321483', 'IMO9322853'];
    const body = vessels.flatMap((vessel) => [`flat/${vessel}/*`, `maker/${vessel}/*/*`]);
    const post = async (path: string) =>
      (await (await madeUp.post(path, body, NEW)).text()).trimEnd().split('\n');
    const range = `from=${DAYS[0][0]}&to=${DAYS[1][1]}`;
    const series = await post('/metadata/query?format=ndjson');
    const readings = await post(`/measurements/query?${range}&format=ndjson&output_domain=id`);
    expect(readings.length).toBeGreaterThan(10_000);
    // Out of order, with series among the readings: only that a series stands above its readings counts.
    const middle = readings.length >> 1;
    const file = await fileOf([...series, ...readings.slice(middle), '', ...readings.slice(0, middle)]);
    replay = await openService({ data: { replayFile: file } });
  });
  afterAll(async () => {
    await madeUp?.[Symbol.asyncDispose]();
    await replay?.[Symbol.asyncDispose]();
  });

  test.each(QUERIES)('answers the same bytes: %s', (...query) => expectSameBytes(madeUp, replay, query));
});

const SERIES = `{"id":"${VESSEL}/Roll"}`;
const reading = (timestamp: string, value: string) =>
  `{"id":"${VESSEL}/Roll","timestamp":"${timestamp}","value":${value}}`;

test('readings come back as they were spelled, in order of time and value', async () => {
  const values = ['9007199254740993', '-9223372036854775808', '5', '5.0', '1e3', '-2.50', '"a"', 'true'];
  const odd = '{"b":1.50,"a":{"c":[12345678901234567890,null]}}';
  const lines = [
    SERIES,
    ...values.map((value, at) => reading(`2026-01-05T00:00:0${at}Z`, value)),
    ` { "value" : ${odd} , "timestamp" : "2026-01-05T01:00:09.5+01:00", "id" : "${VESSEL}/\\u0052oll" }\r`,
    reading('2026-01-04T23:00:00.000001Z', '2'),
    reading('2026-01-04T23:00:00.000001Z', '1'),
  ];
  await using service = await openService({ data: { replayFile: await fileOf(lines) } });
  const answer = await service.text(
    `/measurements/flat/${VESSEL}/Roll?from=2026-01-04&to=2026-01-06&format=ndjson`,
  );
  const found = answer
    .trim()
    .split('\n')
    .map((line) => line.replace(/^.*"value":(.*)\}$/, '$1'));
  const same = [...values.slice(0, 4), '1000.0', '-2.5', ...values.slice(6), odd];
  expect(found).toEqual(['1', '2', ...same]);
});

test('a series is described with what its line says, and ranges as floating point', async () => {
  const maker = `"maker":{"id":"${VESSEL}/nav/R1","name":"ROLL","description":"Roll","rangeHigh":45,"rangeLow":-45.5}`;
  const line = `{"id":"${VESSEL}/Roll","unitOfMeasure":"deg","scale":0.1,"mast":2,"vessel":{"imo":"9321483","flag":"NO"},"domains":{"flat":{"id":"${VESSEL}/Roll"},${maker}}}`;
  await using service = await openService({
    data: { replayFile: await fileOf([line, `{"id":"${VESSEL}/Yaw"}`]) },
  });
  const text = await service.text(`/metadata/flat/${VESSEL}/Roll`, NEW);
  expect(text).toContain('"rangeHigh":45.0,"rangeLow":-45.5');
  expect(JSON.parse(text)).toMatchObject([
    { unitOfMeasure: 'deg', scale: 0.1, mast: 2, vessel: { imo: '9321483', flag: 'NO' } },
  ]);
  const [yaw] = (await service.json(`/metadata/flat/${VESSEL}/Yaw`, NEW)) as [{ timeSeriesId: string }];
  expect(yaw).toMatchObject({ vessel: { imo: '9321483' }, domains: { flat: { shortName: 'Yaw' } } });
  const again = await service.json(`/metadata/id/${yaw.timeSeriesId}`, NEW);
  expect(again).toHaveLength(1);
});

const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const BAD_LINES: readonly (readonly [what: string, line: string | Buffer, message: RegExp])[] = [
  ['no JSON', 'id,timestamp,value', /line 3: found 'id,timestamp,value', expected an object of JSON/],
  ['a list', '[1]', /line 3: found '\[1\]', expected an object/],
  ['a number', '5', /line 3: found '5', expected an object/],
  [
    'an unknown series',
    `{"id":"x","timestamp":"2026-01-05T00:00:00Z","value":1}`,
    /line 3: found a reading of 'x', expected a series that a line above describes/,
  ],
  [
    'no zone',
    reading('2026-01-05T00:00:00', '1'),
    /line 3: found the timestamp '2026-01-05T00:00:00', expected a date-time .* with a zone/,
  ],
  ['nanoseconds', reading('2026-01-05T00:00:00.1234567Z', '1'), /line 3: .* at most six fractional digits/],
  [
    'an epoch',
    `{"id":"${VESSEL}/Roll","timestamp":1767571200,"value":1}`,
    /line 3: found 1767571200 as 'timestamp', expected text/,
  ],
  ['no value', `{"id":"${VESSEL}/Roll","timestamp":"2026-01-05T00:00:00Z"}`, /line 3: found no 'value'/],
  ['NaN', reading('2026-01-05T00:00:00Z', 'NaN'), /line 3: .* expected an object of JSON/],
  ['no id', '{"unitOfMeasure":"deg"}', /line 3: found no id, expected 'id' as text/],
  ['no vessel', '{"id":"Roll"}', /line 3: found neither vessel.imo nor a name that begins with one/],
  [
    'a wrong vessel',
    '{"id":"Roll","vessel":{"imo":"12"}}',
    /line 3: found vessel.imo '12', expected a vessel: seven digits/,
  ],
  ['no UUID', `{"id":"${VESSEL}/Yaw","timeSeriesId":"7"}`, /line 3: found timeSeriesId '7', expected a UUID/],
  [
    'a scale in words',
    `{"id":"${VESSEL}/Yaw","scale":"ten"}`,
    /line 3: found "ten" as 'scale', expected a number/,
  ],
  ['the same series', SERIES, /line 3: found the time series id '[-0-9a-f]{36}' a second time/],
  ['no UTF-8', Buffer.from([0xff, 0xfe]), /line 3: found bytes that are no UTF-8/],
  [
    'a line without end',
    'x'.repeat(3 * 1024 * 1024),
    /line 3: found 3145728 bytes, expected at most 1048576/,
  ],
];

test.for(BAD_LINES)('a file with %s is refused, naming the line', async ([, line, message]) => {
  const start = `${SERIES}\n\n`;
  const file = await fileOf(Buffer.concat([Buffer.from(start), Buffer.from(line), Buffer.from('\n')]));
  const opening = openService({ data: { replayFile: file } });
  await expect(opening).rejects.toThrow(ConfigError);
  await expect(opening).rejects.toThrow(message);
});

test('every bad line is named, ten of them', async () => {
  const file = await fileOf([SERIES, ...Array.from({ length: 12 }, () => '{}')]);
  const opening = openService({ data: { replayFile: file } });
  await expect(opening).rejects.toThrow(/line 2: .*\n(.*\n){8} {2}line 11: .*\n {2}and 2 more$/);
});

test('a reading of an id that two series share is refused, and one of either time series id is not', async () => {
  const shared = [SERIES, `{"id":"${VESSEL}/Roll","timeSeriesId":"${UUID}"}`];
  const file = await fileOf([...shared, reading('2026-01-05T00:00:00Z', '1')]);
  await expect(openService({ data: { replayFile: file } })).rejects.toThrow(
    /line 3: .*an id of several series/,
  );
  const right = `{"id":"${UUID}","timestamp":"2026-01-05T00:00:00Z","value":1}`;
  await using service = await openService({ data: { replayFile: await fileOf([...shared, right]) } });
  const found = await service.json(`/measurements/id/${UUID}?from=2026-01-05&to=2026-01-06`);
  expect(found).toEqual([{ id: UUID, timestamp: '2026-01-05T00:00:00.000000Z', value: 1 }]);
});

test.for([
  ['an empty file', async () => fileOf([]), /found no line, expected series and readings/],
  ['a missing file', async () => join(scratch.path, 'none'), /cannot read '.*none': ENOENT/],
  ['a folder', async () => scratch.path, /cannot read '.*': EISDIR/],
] as const)('%s is refused', async ([, path, message]) => {
  await expect(openService({ data: { replayFile: await path() } })).rejects.toThrow(message);
});
