import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newTempFolder } from '../helpers/temp.ts';
import { openService } from './running-service.ts';
import { createTestLake, type LakeReading, readingOfLine } from './test-lake.ts';

const NEW = { 'x-api-version': '2026-09-10' };
const OLD = { 'x-api-version': '2025-10-31' };
const DAY = 'from=2026-01-05&to=2026-01-06';
const ALL =
  'avg,count,delta,first_time,first_val,integral,kurtosis,last_time,last_val,max,mean,min,skewness,stddev,sum,var';

function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/wire/${name}`, import.meta.url), 'utf8');
}

/** JSON text without the white space between its tokens: numbers keep their spelling. */
function compact(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_, text: string | undefined) => text ?? '');
}

/** A service of a lake with one vessel-day. */
async function serve(vessel: string, metadata: readonly string[], readings: readonly LakeReading[]) {
  const folder = await newTempFolder();
  const lake = await createTestLake(folder.path);
  await lake.writeMetadata({ job: 'metadata', vessel, date: '2026-01-05' }, metadata);
  await lake.writeMeasurements({ job: 'measurements', vessel, date: '2026-01-05' }, readings);
  lake.close();
  const opened = await openService({ data: { dataDir: folder.path } });
  const end = async () => {
    await opened[Symbol.asyncDispose]();
    await folder.remove();
  };
  return { ...opened, end };
}
type Served = Awaited<ReturnType<typeof serve>>;

/** The fixtures of the decoders, which were written from the contract, put into a lake and asked for. */
describe('golden bodies shared with the client', () => {
  const vessel = 'IMO9321483';
  const lines = (name: string) => fixture(name).trimEnd().split('\n');
  let s: Served;
  beforeAll(async () => {
    const readings = lines('measurements.ndjson').map(readingOfLine);
    s = await serve(vessel, lines('metadata-2026-09-10.ndjson'), readings);
  });
  afterAll(() => s.end());

  test.each([
    ['measurements.json', `/measurements/flat/${vessel}/*?${DAY}&output_domain=id`, OLD],
    ['measurements.ndjson', `/measurements/flat/${vessel}/*?${DAY}&output_domain=id&format=ndjson`, NEW],
    ['measurements-flat.json', `/measurements/flat/${vessel}/*?${DAY}`, NEW],
    ['measurements-flat.ndjson', `/measurements/flat/${vessel}/*?${DAY}&format=ndjson`, OLD],
    ['measurements-empty.json', `/measurements/flat/${vessel}/*?from=2026-01-04&to=2026-01-05`, OLD],
    ['metadata-2026-09-10.ndjson', `/metadata/flat/${vessel}/*?format=ndjson`, NEW],
  ])('%s is answered byte for byte', async (name, path, headers) => {
    expect(await s.text(path, headers)).toBe(
      fixture(name).replace(/\n$/, name.endsWith('.ndjson') ? '\n' : ''),
    );
  });

  test('metadata-2026-09-10.json is answered', async () => {
    expect(await s.text(`/metadata/flat/${vessel}/*`, NEW)).toBe(
      compact(fixture('metadata-2026-09-10.json')),
    );
  });

  test('metadata-2025-10-31.json is answered, its repeated key too', async () => {
    const text = await s.text(`/metadata/flat/${vessel}/*`, OLD);
    // A range is written in full here and with an exponent there.
    const spelled = compact(fixture('metadata-2025-10-31.json')).replace('9.2e18', '9200000000000000000.0');
    expect(text).toBe(spelled);
  });

  test.each([
    ['statistics-2026-09-10-id.json', 'id', NEW],
    ['statistics-2026-09-10-flat.json', 'flat', NEW],
    ['statistics-2025-10-31-id.json', 'id', OLD],
    ['statistics-2025-10-31-flat.json', 'flat', OLD],
  ])('every row of %s is among those answered', async (name, domain, headers) => {
    const path = `/statistics/flat/${vessel}/*?${DAY}&window=1h&aggregations=count,first_time,last_time,mean,last_val&output_domain=${domain}`;
    const answered = (await s.json(path, headers)) as { aggregations?: object }[];
    for (const row of JSON.parse(fixture(name)) as { aggregations?: object }[]) {
      const expected = row.aggregations
        ? { ...row, aggregations: expect.objectContaining(row.aggregations) }
        : row;
      expect(answered).toContainEqual(expected);
    }
  });
});

/** Bodies of our own, worked by hand. */
describe('golden bodies of the service', () => {
  const vessel = 'IMO9074729';
  const id = (n: number) => `11111111-0000-4000-8000-00000000000${n}`;
  const at = (time: string) => `2026-01-05T${time}Z`;
  let s: Served;
  beforeAll(async () => {
    const element = (n: number, tag: string, more = '') =>
      `{"id":"x","timeSeriesId":"${id(n)}","source":"mac","dataProvider":"Fjordwise","unitOfMeasure":"pcs","scale":1,"vessel":{"name":"Havgula","imo":"9074729"},"domains":{"flat":{"id":"${vessel}/${tag}","shortName":"${tag}"}${more}}}`;
    const vis = `,"vis-3-8a":{"id":"${vessel}/411.1/C101/meta/qty-count","verboseId":"${vessel}/411.1/~main.engine/C101/meta/qty-count"},"maker":{"id":"${vessel}/mac/CNT-1","name":"CNT","description":"A counter","rangeHigh":1e19,"rangeLow":-5.0}`;
    const metadata = [
      element(1, 'Counted Twice'),
      element(2, 'Counted Twice'),
      element(3, 'Counter', vis),
      element(4, 'Fire/Smoke Ærø'),
    ];
    const reading = (n: number, time: string, valueText: string) => ({
      timeSeriesId: id(n),
      timestamp: at(time),
      valueText,
    });
    s = await serve(vessel, metadata, [
      reading(1, '00:10:00.000000', '10.0'),
      reading(1, '00:40:00.000000', '30.0'),
      reading(2, '00:20:00.000000', '20.0'),
      reading(2, '00:30:00.000000', '20.0'),
      reading(3, '00:00:00.000000', '9007199254740993'),
      reading(3, '00:01:00.000000', '9007199254740995'),
      reading(4, '00:30:00.000001', '"ok, \\"fine\\""'),
      reading(4, '00:59:59.999999', '{"zone":3,"parts":[1.50,true]}'),
    ]);
  });
  afterAll(() => s.end());

  test('measurements as ndjson', async () => {
    const text = await s.text(`/measurements/flat/${vessel}/*?${DAY}&format=ndjson`);
    expect(text).toBe(fixture('service-measurements.ndjson'));
  });

  test('all sixteen aggregations, of doubles, of longs, of JSON, of series that share an id', async () => {
    const text = await s.text(`/statistics/flat/${vessel}/*?${DAY}&window=1h&aggregations=${ALL}`, NEW);
    // The last digits of the two that divide powers depend on the order of rounding.
    const rounded = text.replace(/"(kurtosis|skewness)":([^,}]+)/g, (_, name: string, value: string) => {
      const number = Number(Number(value).toFixed(9)) + 0;
      return `"${name}":${Number.isInteger(number) ? number.toFixed(1) : number}`;
    });
    expect(rounded).toBe(compact(fixture('service-statistics-all.json')));
  });

  test('statistics before 2026-09-10', async () => {
    const text = await s.text(
      `/statistics/flat/${vessel}/*?${DAY}&window=1h&aggregations=count,first_time,max`,
      OLD,
    );
    expect(text).toBe(compact(fixture('service-statistics-keyed.json')));
  });

  test('statistics as csv', async () => {
    const path = `/statistics/flat/${vessel}/*?${DAY}&window=1h&aggregations=count,last_val,first_time,mean&format=csv`;
    expect(await s.text(path, NEW)).toBe(fixture('service-statistics.csv').replaceAll('\n', '\r\n'));
  });

  test('metadata under a verbose vis id', async () => {
    const text = await s.text(`/metadata/vis-3-8a/${vessel}/411.1/C101/meta/*?verbose=true`, NEW);
    expect(text).toBe(compact(fixture('service-metadata-vis.json')));
  });
});
