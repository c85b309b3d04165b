/** What reconcile keeps of receipts is what they say. */
import { expect, test } from 'vitest';
import type { PublishedDay } from '../../../src/audit/reconcile/published-days.ts';
import { createPublishedDays } from '../../../src/audit/reconcile/published-days.ts';
import type { Receipt } from '../../../src/core/model/index.ts';
import { addDays } from '../../../src/core/model/index.ts';
import { DayMap } from '../../../src/lake/ledger/day-map.ts';
import { makeReceipt, vesselIds } from '../../helpers/ledger.ts';

const JOB = 'measurements';
const DATES = Array.from({ length: 30 }, (_, day) => addDays('2026-01-01', day));
const VESSELS = vesselIds(340);

/** Receipts of every kind; each tenth vessel-day has none. */
function receiptOf(vessel: string, date: string, salt: number): Receipt | undefined {
  const number = VESSELS.indexOf(vessel) * DATES.length + DATES.indexOf(date) + salt;
  if (number % 10 === 9) return undefined;
  const { source, detail, ...rest } = makeReceipt({ job: JOB, vessel, date }, { rows: number * 7 });
  const { totalsSha256: _, ...unsummed } = source!;
  const others = { key: `elsewhere/${number}.json.gz`, sha256: detail!.sha256 };
  return {
    ...rest,
    epoch: (number % 3) + 2 ** 40,
    settingsHash: `settings ${number % 4}`,
    proof: (['exact', 'at-least', 'unproven'] as const)[number % 3]!,
    source: number % 5 === 0 ? null : number % 7 === 0 ? unsummed : { ...source!, rows: number * 11 },
    detail: number % 11 === 0 ? null : number % 13 === 0 ? others : detail,
  };
}

function keptOf({ settingsHash, rows, epoch, proof, source, detail }: Receipt): PublishedDay {
  const { askedAt: _, ...kept } = source ?? { askedAt: '', rows: 0 };
  return { settingsHash, rows, epoch, proof, detail, source: source && kept };
}

test('receipts of every kind, more than one block of them, and those that are replaced', () => {
  const published = createPublishedDays(JOB);
  const expected = new DayMap<PublishedDay>();
  for (const salt of [0, 1]) {
    for (const date of DATES) {
      for (const vessel of VESSELS) {
        // The second time each third is another one.
        if (salt === 1 && VESSELS.indexOf(vessel) % 3 > 0) continue;
        const receipt = receiptOf(vessel, date, salt);
        if (receipt === undefined) continue;
        published.take(receipt);
        expected.set(receipt, keptOf(receipt));
      }
    }
  }
  expect(expected.size).toBeGreaterThan(8_192);
  for (const date of DATES) {
    const all = (from: Pick<typeof expected, 'get'>) => VESSELS.map((vessel) => from.get({ vessel, date }));
    expect(all(published)).toEqual(all(expected));
  }
  expect(published.get({ vessel: VESSELS[0]!, date: '2026-02-01' })).toBeUndefined();
});

test('a digest of totals that is none is equal to no digest', () => {
  const published = createPublishedDays(JOB);
  const day = { job: JOB, vessel: VESSELS[0]!, date: DATES[0]! };
  const receipt = makeReceipt(day);
  for (const totalsSha256 of ['', 'A'.repeat(64), `${'0'.repeat(64)}00`, 'x'.repeat(64), 7 as never]) {
    published.take({ ...receipt, source: { ...receipt.source!, totalsSha256 } });
    expect(published.get(day)!.source).toEqual({ rows: receipt.source!.rows });
  }
});
