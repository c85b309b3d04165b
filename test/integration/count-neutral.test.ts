/** Answers whose counts are right and whose readings are not; and counts that contradict their own times. */
import { beforeAll, describe, expect, test } from 'vitest';
import { dayRange, MICROS_PER_HOUR, microsToIso } from '../../src/core/model/index.ts';
import { detailKey } from '../../src/lake/keys.ts';
import type { Detail } from '../../src/lake/ledger/ledger.ts';
import { editDetail, editReceipt, runVerify } from '../audit/verify/audit-lake.ts';
import type { Fault } from '../helpers/faulty-service/faults.ts';
import { lakeReadings, receiptOf, serviceNames } from '../helpers/lake.ts';
import { DATE, FEW_SERIES, mustExport, newLake, runExport, serviceForTests, VESSEL } from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const MIDNIGHT = dayRange(DATE).fromMicros;
const NOON = MIDNIGHT + 12 * MICROS_PER_HOUR;

const service = await serviceForTests({ readingsPerDay: 28_000 });
let series: string;
/** Its readings in the hour from noon: instants and JSON texts. */
let noon: readonly { timestampMicros: number; valueText: string }[];

beforeAll(async () => {
  [series] = [...(await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys()] as [string];
  noon = Array.from({ length: 60 }, (_, i) => ({
    timestampMicros: NOON + i * 60_000_000 + 250,
    valueText: `${i}.5`,
  }));
  service.overlay.removeReadings(series, { fromMicros: NOON, toMicros: NOON + MICROS_PER_HOUR });
  service.overlay.addReadings(series, noon);
});
const of = (family: string, fault: Fault) => (request: { family: string }) =>
  request.family === family ? fault : undefined;

describe('in one hour a reading lost and another doubled', () => {
  test('over parquet: the first and the last of the day', async () => {
    await using lake = await newLake();
    const first = await firstOfDay();
    service.faults = of('measurements', {
      kind: 'other-rows',
      timeSeriesId: series,
      range: { fromMicros: first, toMicros: first + 1 },
      rows: [{ timeSeriesId: series, ...noon[30]! }],
    });
    const jobs = { measurements: { ...FEW_SERIES, transport: 'parquet' } };
    const ran = await runExport({ service, lakeUrl: lake.url, jobs });
    expect(ran).toMatchObject({ code: 1, results: [{ code: 'counts-disagree' }] });
    expect(ran.results[0]!.message).toMatch(/in the day: first and last reading/);
    service.faults = undefined;
    await mustExport({ service, lakeUrl: lake.url, jobs });
  });

  test('is found by verify in a lake that was published before times were compared', async () => {
    await using lake = await newLake();
    await mustExport({ service, lakeUrl: lake.url });
    const earlier = ({ ours, source }: Detail): Detail => {
      const moved = source![series]!.map(
        ([hour, count, first, last]) => [hour, count, hour === 12 ? first - 7 : first, last] as const,
      );
      return { ours, source: { ...source!, [series]: moved } };
    };
    await editDetail(lake.dir, DAY, earlier, true);
    const verified = await runVerify({ lakeUrl: lake.url, jobs: { measurements: FEW_SERIES } });
    expect(verified.found).toEqual([`proof-differs measurements/${DATE}`]);
    const [finding] = verified.result.findings;
    expect(finding).toMatchObject({ key: detailKey(DAY) });
    expect(finding!.found).toBe(
      `series ${series} in hour 12: ${microsToIso(NOON + 250)} to ${microsToIso(noon.at(-1)!.timestampMicros)} published`,
    );
    expect(finding!.expected).toMatch(/^exact: series .* as the source said$/);
  });
});

async function firstOfDay(): Promise<number> {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  const { lines } = await lakeReadings(`${lake.dir}/measurements/vessel=${VESSEL}/date=${DATE}/data.parquet`);
  const own = lines.map((line) => line.split('\t')).filter(([, id]) => id === series);
  return Math.min(...own.map(([micros]) => Number(micros)));
}

describe('statistics that count an hour and say that its readings lie elsewhere', () => {
  const lost = () => {
    const range = { fromMicros: NOON, toMicros: NOON + MICROS_PER_HOUR };
    return { kind: 'drop-rows', timeSeriesId: series, range } as const;
  };

  test('a day published like that is found by verify', async () => {
    await using lake = await newLake();
    service.faults = of('measurements', lost());
    // As it was published: 60 readings in an hour that is none of the day.
    const jobs = { measurements: { ...FEW_SERIES, verify: 'off' } };
    await mustExport({ service, lakeUrl: lake.url, jobs });
    const unproven = (await receiptOf(lake.dir, DAY))!;
    service.faults = undefined;
    await using whole = await newLake();
    await mustExport({ service, lakeUrl: whole.url });
    const exact = (await receiptOf(whole.dir, DAY))!;
    const stray = [24, 60, 24 * MICROS_PER_HOUR, 24 * MICROS_PER_HOUR] as const;
    await editDetail(
      lake.dir,
      DAY,
      ({ ours }) => ({ ours, source: { ...ours, [series]: [...ours[series]!, stray] } }),
      true,
    );
    await editReceipt(lake.dir, DAY, () => ({
      proof: 'exact',
      settingsHash: exact.settingsHash,
      source: { rows: unproven.rows + 60, askedAt: unproven.startedAt },
    }));
    const options = { lakeUrl: lake.url, jobs: { measurements: FEW_SERIES } };
    const verified = await runVerify(options);
    // Counts of an hour that no day has prove nothing.
    expect(verified.found).toEqual([`detail-differs measurements/${DATE}`]);
    expect(verified.result.findings[0]!.found).toBe('no counts per series and hour');
  });
});
