/** The ledger of a made-up fleet, as exports of `fleet-server.ts` would leave it. */
import { indexKey } from '../../src/lake/keys.ts';
import type { Job } from '../../src/model/index.ts';
import { addDays, datesBetween } from '../../src/model/index.ts';
import { settingsHash } from '../../src/plan/settings-hash.ts';
import { totalsDigest } from '../../src/proof/day-totals.ts';
import { openStore } from '../../src/store/open-store.ts';
import { makeReceipt, vesselIds, writeReceipts } from '../helpers/ledger.ts';
import type { BenchLake } from './lakes.ts';

export const FLEET_VESSELS = vesselIds(1_000);
export const FLEET_FROM = '2026-01-01';
export const FLEET_DAYS = 30;
export const FLEET_TO = addDays(FLEET_FROM, FLEET_DAYS);
const SERIES_PER_VESSEL = 150;
const DAY_MICROS = 86_400_000_000;
const LAST_MICROS = DAY_MICROS - 1_000_000;

export const FLEET_JOB: Job = {
  name: 'measurements',
  dataset: 'measurements',
  vessels: { discover: 'flat/*/*' },
  select: ['flat/{vessel}/*'],
  transport: 'ndjson',
  verify: 'exact',
};

export interface FleetSeries {
  readonly timeSeriesId: string;
  readonly id: string;
  /** Readings a day; the first at midnight, the last a second before the next. */
  readonly count: number;
}

export function seriesOf(vessel: string): FleetSeries[] {
  return Array.from({ length: SERIES_PER_VESSEL }, (_, index) => ({
    timeSeriesId: `0${vessel.slice(3)}-0000-4000-8000-${String(index).padStart(12, '0')}`,
    id: `${vessel}/Sensor ${index}`,
    count: 1_440 + index,
  }));
}

/** A receipt for every vessel-day. */
export async function writeFleetLedger(lake: BenchLake): Promise<void> {
  const hash = settingsHash(FLEET_JOB, '2026-09-10');
  const store = await openStore(lake.url, { PATH: process.env.PATH, ...lake.env });
  for (const vessel of FLEET_VESSELS) {
    const series = seriesOf(vessel);
    const rows = series.reduce((sum, { count }) => sum + count, 0);
    const totalsSha256 = totalsDigest(
      new Map(
        series.map(({ timeSeriesId, count }) => [
          timeSeriesId,
          { count, firstMicros: 0, lastMicros: LAST_MICROS },
        ]),
      ),
    );
    const receipts = datesBetween(FLEET_FROM, FLEET_TO).map((date) =>
      makeReceipt(
        { job: FLEET_JOB.name, vessel, date },
        {
          rows,
          series: series.length,
          settingsHash: hash,
          source: { rows, askedAt: `${date}T23:00:00.000Z`, totalsSha256 },
        },
      ),
    );
    await writeReceipts(store, receipts);
  }
  await store.close();
}

/** Let the next reader fetch every receipt. */
export async function removeFleetIndex(lake: BenchLake): Promise<void> {
  const store = await openStore(lake.url, { PATH: process.env.PATH, ...lake.env });
  await store.remove(indexKey(FLEET_JOB.name, FLEET_FROM.slice(0, 7)));
  await store.close();
}
