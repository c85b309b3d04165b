/** The ledger of a made-up fleet, as exports of `fleet-server.ts` would leave it. */
import { addDays, datesBetween, silentLog } from '../../src/core/model/index.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import { totalsDigest } from '../../src/core/proof/day-totals.ts';
import { jsonBytes } from '../../src/lake/json.ts';
import { indexPrefix, receiptKey } from '../../src/lake/keys.ts';
import { createIndexJournal } from '../../src/lake/ledger/index-journal.ts';
import { openStore } from '../../src/store/open-store.ts';
import { makeReceipt, vesselIds, writeReceipts } from '../helpers/ledger.ts';
import { MADE_UP_JOB } from '../helpers/made-up-ledger.ts';
import { inParallel } from '../store/store-suite.ts';
import type { BenchLake } from './lakes.ts';

export const FLEET_VESSELS = vesselIds(1_000);
export const FLEET_FROM = '2026-01-01';
const SERIES_PER_VESSEL = 150;
const DAY_MICROS = 86_400_000_000;
const LAST_MICROS = DAY_MICROS - 1_000_000;

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

interface FleetLedger {
  /** Of FLEET_VESSELS. */
  readonly vessels: readonly string[];
  readonly days: number;
  /** Written as those do who publish, night by night: they leave what they know for the index, in pieces. */
  readonly isPublished?: boolean;
}

/** A receipt for every vessel-day. */
export async function writeFleetLedger(
  lake: BenchLake,
  { vessels, days, isPublished = false }: FleetLedger,
): Promise<void> {
  const store = await openStore(lake.url, { PATH: process.env.PATH, ...lake.env });
  const journal = createIndexJournal(store, silentLog);
  const totals = new Map(vessels.map((vessel) => [vessel, totalsOf(vessel)]));
  for (const date of datesBetween(FLEET_FROM, addDays(FLEET_FROM, days))) {
    const receipts = vessels.map((vessel) => receiptOf(vessel, date, totals.get(vessel)!));
    if (isPublished)
      await inParallel(receipts, 32, async (receipt) => {
        const bytes = jsonBytes(receipt);
        const tag = await store.putIf(receiptKey(receipt), bytes, null);
        journal.note(receipt, { sizeBytes: bytes.length, tag: tag! });
      });
    else await writeReceipts(store, receipts);
  }
  await journal.close();
  await store.close();
}

function totalsOf(vessel: string) {
  const series = seriesOf(vessel);
  const total = { firstMicros: 0, lastMicros: LAST_MICROS };
  const ofSeries = new Map(series.map(({ timeSeriesId, count }) => [timeSeriesId, { ...total, count }]));
  return {
    rows: series.reduce((sum, { count }) => sum + count, 0),
    series: series.length,
    totalsSha256: totalsDigest(ofSeries),
  };
}

function receiptOf(
  vessel: string,
  date: string,
  { rows, series, totalsSha256 }: ReturnType<typeof totalsOf>,
) {
  return makeReceipt(
    { job: MADE_UP_JOB.name, vessel, date },
    {
      ...{ rows, series, settingsHash: settingsHash(MADE_UP_JOB, '2026-09-10') },
      source: { rows, askedAt: `${date}T23:00:00.000Z`, totalsSha256 },
    },
  );
}

/** Let the next reader fetch every receipt. */
export async function removeFleetIndex(lake: BenchLake): Promise<void> {
  const store = await openStore(lake.url, { PATH: process.env.PATH, ...lake.env });
  const keys: string[] = [];
  for await (const { key } of store.list(indexPrefix(MADE_UP_JOB.name, FLEET_FROM.slice(0, 7))))
    keys.push(key);
  await store.removeAll(keys);
  await store.close();
}
