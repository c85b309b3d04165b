/** What the whole of a large lake takes to be walked. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { ALL_DATES, type ReadableStore, walkDays, walkLedger } from '../../../src/audit/verify/lake-walk.ts';
import { datesBetween, type VesselDay } from '../../../src/core/model/index.ts';
import { detailKey, objectKey, receiptKey } from '../../../src/lake/keys.ts';
import { vesselIds } from '../../helpers/ledger.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const DATES = datesBetween('2025-01-01', '2026-01-01');
const VESSELS = vesselIds(1_000);

/** Counts the lists, and makes the keys as they are taken. */
function largeLake() {
  const lists: string[] = [];
  const keyOf = (prefix: string) =>
    prefix.startsWith('_ledger/') ? receiptKey : prefix.startsWith('_detail/') ? detailKey : objectKey;
  const store = {
    async *list(prefix: string) {
      lists.push(prefix);
      for (const date of DATES) {
        for (const vessel of VESSELS) {
          const key = keyOf(prefix)({ job: 'measurements', vessel, date });
          if (key.startsWith(prefix)) yield { key };
        }
      }
    },
  };
  return { lists, store: store as unknown as ReadableStore };
}

test('a year of a thousand vessels: three lists, and little memory', async () => {
  const { lists, store } = largeLake();
  collect();
  const before = process.memoryUsage().heapUsed;
  const { days, strays } = await walkDays(store, { job: 'measurements', ...ALL_DATES, vessels: [] });
  let count = 0;
  let last: VesselDay | undefined;
  for (const day of days) {
    count++;
    last = day;
  }
  collect();
  const heldBytes = process.memoryUsage().heapUsed - before;
  expect({ count, last, strays }).toEqual({
    count: 365_000,
    last: { job: 'measurements', vessel: VESSELS.at(-1), date: '2025-12-31' },
    strays: [],
  });
  expect(lists).toEqual(['_ledger/measurements/date=', '_detail/measurements/date=', 'measurements/']);
  expect(heldBytes).toBeLessThan(100e6);
});

test('the ledger says which jobs there are, of how many vessels and dates', async () => {
  const keys = [
    ['measurements', VESSELS[0]!, '2026-01-07'],
    ['measurements', VESSELS[1]!, '2026-01-05'],
    ['gone', VESSELS[0]!, '2025-12-31'],
  ].map(([job, vessel, date]) => receiptKey({ job: job!, vessel: vessel!, date: date! }));
  const list = async function* () {
    for (const key of [...keys, '_ledger/measurements/other.txt']) yield { key };
  };
  const extents = await walkLedger({ list } as unknown as ReadableStore);
  expect([...extents]).toEqual([
    ['measurements', { vessels: new Set(VESSELS.slice(0, 2)), first: '2026-01-05', last: '2026-01-07' }],
    ['gone', { vessels: new Set(VESSELS.slice(0, 1)), first: '2025-12-31', last: '2025-12-31' }],
  ]);
});
