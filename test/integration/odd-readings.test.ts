/** Readings as JSON allows them and sensors send them: nothing of them is lost or changed. */

import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayRange, MICROS_PER_DAY, MICROS_PER_HOUR } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import { expectExactDay, lakeReadings, serviceNames } from '../helpers/lake.ts';
import type { TestService } from '../helpers/run.ts';
import {
  DATE,
  MEASUREMENTS,
  mustExport,
  newLake,
  serviceForTests,
  serviceOfTest,
  startTestService,
  VESSEL,
} from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const NOON = dayRange(DATE).fromMicros + 12 * MICROS_PER_HOUR;
const MIDNIGHT = dayRange(DATE).fromMicros;

const service = await serviceForTests({ readingsPerDay: 1_500 });
let inclusive: TestService;
/** Series of which the overlay's readings are the only ones. */
let bare: string[];

beforeAll(async () => {
  inclusive = await startTestService({ readingsPerDay: 1_500, toInclusive: true });
  bare = [...(await serviceNames(service, [`flat/${VESSEL}/*`])).keys()].slice(0, 12);
  for (const id of bare) for (const one of [service, inclusive]) one.overlay.removeReadings(id);
});

afterAll(async () => {
  await inclusive.close();
});

/** Add readings to a bare series, export, compare; the values that the lake has of the series, in its order. */
async function exportAdded(
  id: string,
  readings: readonly { timestampMicros: number; valueText: string }[],
  options: { transport?: string; from?: TestService } = {},
): Promise<{ micros: number; value: string }[]> {
  const { transport = 'ndjson', from = service } = options;
  from.overlay.addReadings(id, readings);
  await using lake = await newLake();
  const jobs = { measurements: { ...MEASUREMENTS, transport } };
  const overrides = { sliceTargetRows: 200, sizes: { rowGroupRows: 300, partBytes: 10_000 } };
  await mustExport({ service: from, lakeUrl: lake.url, jobs, overrides });
  const millis = transport === 'parquet';
  const exact = { lakeDir: lake.dir, day: DAY, expressions: [`flat/${VESSEL}/*`], millis };
  await expectExactDay(from, exact);
  const { lines } = await lakeReadings(join(lake.dir, objectKey(DAY)));
  return lines.flatMap((line) => {
    const [micros, series, , ...value] = line.split('\t');
    return series === id ? [{ micros: Number(micros), value: value.join('\t') }] : [];
  });
}

/** One reading a second from noon on, with these values. */
function atNoon(values: readonly string[]) {
  return values.map((valueText, second) => ({ timestampMicros: NOON + second * 1_000_000, valueText }));
}

const ODD_VALUES = [
  ['9223372036854775807', 'L9223372036854775807'],
  ['-9223372036854775808', 'L-9223372036854775808'],
  ['9007199254740993', 'L9007199254740993'],
  ['9223372036854775808', 'J9223372036854775808'],
  ['-9223372036854775809', 'J-9223372036854775809'],
  ['5', 'L5'],
  ['5.0', 'D4014000000000000'],
  ['-0.0', 'D8000000000000000'],
  ['0.1', 'D3fb999999999999a'],
  ['1e-320', 'D00000000000007e8'],
  ['2.2250738585072011e-308', 'D000fffffffffffff'],
  ['123456789.123456789', 'D419d6f34547e6b75'],
  ['1e400', 'J1e400'],
  ['-1e400', 'J-1e400'],
  ['null', 'Jnull'],
  ['true', 'Jtrue'],
  ['false', 'Jfalse'],
  ['"plain"', 'J"plain"'],
  ['""', 'J""'],
  ['"\\u00e6 \\ud83d\\udea2 \\"\\\\ \\n\\t"', 'J"\\u00e6 \\ud83d\\udea2 \\"\\\\ \\n\\t"'],
  ['"Ærø 🚢 日本"', 'J"Ærø 🚢 日本"'],
  ['{"lat": 59.10000, "lon":1E1 , "ids": [1, 2.0]}', 'J{"lat": 59.10000, "lon":1E1 , "ids": [1, 2.0]}'],
  ['[]', 'J[]'],
  ['{}', 'J{}'],
  ['{"value":1,"id":"x","timestamp":"2026-01-05T00:00:00.000000Z"}', undefined],
] as const;

for (const transport of ['ndjson', 'json', 'parquet']) {
  test(`odd values through ${transport}`, async () => {
    const from = await serviceOfTest({ readingsPerDay: 1_000 });
    // DuckDB, which writes the service's Parquet, keeps one entry for 0.0 and -0.0 in its dictionaries.
    const odd = ODD_VALUES.filter(([text]) => transport !== 'parquet' || text !== '-0.0');
    from.overlay.removeReadings(bare[0]);
    const found = await exportAdded(bare[0]!, atNoon(odd.map(([text]) => text)), { transport, from });
    expect(found.map(({ value }) => value)).toEqual(odd.map(([text, value]) => value ?? `J${text}`));
  });
}

test('microseconds stay as they are', async () => {
  const micros = [0, 1, 9, 10, 123_456, 999_999, 1_000_001].map((more) => NOON + more);
  const readings = micros.map((timestampMicros, i) => ({ timestampMicros, valueText: `${i}` }));
  const found = await exportAdded(bare[3]!, readings);
  expect(found.map((row) => row.micros)).toEqual(micros);
});

test('duplicates stay, in the order of their values', async () => {
  const values = ['2', '1', '1', '10', '-1', '1.5', '-1.5', '0.0', '"b"', '"a"', '"a"', 'null'];
  const readings = values.map((valueText) => ({ timestampMicros: NOON + 7, valueText }));
  const found = await exportAdded(bare[4]!, readings);
  expect(found.map(({ value }) => value)).toEqual([
    'L-1',
    'L1',
    'L1',
    'L2',
    'L10',
    'Dbff8000000000000',
    'D0000000000000000',
    'D3ff8000000000000',
    'J"a"',
    'J"a"',
    'J"b"',
    'Jnull',
  ]);
});

test('more readings of one instant than fit a row group or a time slice', async () => {
  const readings = Array.from({ length: 1_000 }, (_, i) => ({
    timestampMicros: NOON + 11,
    valueText: `${i}`,
  }));
  const found = await exportAdded(bare[5]!, readings);
  expect(found.map(({ value }) => value)).toEqual(readings.map(({ valueText }) => `L${valueText}`));
});

for (const kind of ['exclusive', 'inclusive'] as const) {
  test(`midnight belongs to the day that begins, where to is ${kind}`, async () => {
    const instants = [-1, 0, 1, MICROS_PER_DAY - 1, MICROS_PER_DAY, MICROS_PER_DAY + 1];
    const readings = instants.map((more, i) => ({ timestampMicros: MIDNIGHT + more, valueText: `${i}` }));
    const from = kind === 'inclusive' ? inclusive : service;
    const found = await exportAdded(bare[6]!, readings, { from });
    expect(found).toEqual([
      { micros: MIDNIGHT, value: 'L1' },
      { micros: MIDNIGHT + 1, value: 'L2' },
      { micros: MIDNIGHT + MICROS_PER_DAY - 1, value: 'L3' },
    ]);
  });

  test(`a reading at each time slice's edge is taken once, where to is ${kind}`, async () => {
    const readings = Array.from({ length: 24 }, (_, hour) =>
      [-1, 0, 1].map((more) => hour * MICROS_PER_HOUR + more),
    )
      .flat()
      .filter((more) => more >= 0)
      .map((more, i) => ({ timestampMicros: MIDNIGHT + more, valueText: `${i}` }));
    const found = await exportAdded(bare[7]!, readings, { from: kind === 'inclusive' ? inclusive : service });
    expect(found.map((row) => row.micros)).toEqual(readings.map((reading) => reading.timestampMicros));
  });
}

test('milliseconds of the parquet transport are cut off, not rounded into the next day', async () => {
  const last = MIDNIGHT + MICROS_PER_DAY - 1;
  const readings = [{ timestampMicros: last, valueText: '1' }];
  const found = await exportAdded(bare[8]!, readings, { transport: 'parquet' });
  expect(found).toEqual([{ micros: last - 999, value: 'L1' }]);
});

test('a whole day of one reading', async () => {
  const lonely = await serviceOfTest({ readingsPerDay: 1_000 });
  lonely.overlay.removeReadings(undefined);
  lonely.overlay.addReadings(bare[0]!, [{ timestampMicros: NOON, valueText: '42' }]);
  await using lake = await newLake();
  const { results } = await mustExport({
    service: lonely,
    lakeUrl: lake.url,
    jobs: { measurements: MEASUREMENTS },
  });
  expect(results).toMatchObject([{ state: 'published', rows: 1 }]);
  await expectExactDay(lonely, { lakeDir: lake.dir, day: DAY, expressions: [`flat/${VESSEL}/*`] });
});
