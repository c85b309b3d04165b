/** What is kept of a receipt in columns comes back as it stood in the receipt. */
import { expect, test } from 'vitest';
import type { KeptReceipt } from '../../../src/audit/status/covered-receipts.ts';
import { CoveredReceipts, fingerprintOf } from '../../../src/audit/status/covered-receipts.ts';
import { toMoment } from '../../../src/core/model/index.ts';

const DAY = { job: 'measurements', vessel: 'IMO9000001', date: '2026-01-05' };
const RECEIPT: KeptReceipt = {
  ...DAY,
  settingsHash: 'a',
  proof: 'exact',
  rows: 5,
  started: toMoment('2026-01-05T23:00:00.000Z'),
  finished: toMoment('2026-01-05T23:00:12.345Z'),
};

test.for([
  ['as it is written', {}],
  ['no rows', { rows: 0 }],
  ['unlisted', { unlisted: true }],
  ['microseconds', { finished: '2026-01-05T23:00:12.345678Z' }],
  ['another zone', { finished: '2026-01-05T23:00:12.345+00:00' }],
  ['no instant', { finished: undefined, started: undefined }],
  ['nothing', { rows: undefined, settingsHash: undefined, proof: undefined }],
] as const)('%s', ([, more]) => {
  const receipts = new CoveredReceipts();
  const receipt = { ...RECEIPT, ...more } as KeptReceipt;
  receipts.set(receipt);
  const { settingsHash, proof, rows, finished, unlisted } = receipt;
  const finishedAt = typeof finished === 'number' ? new Date(finished).toISOString() : finished;
  expect(receipts.get(DAY)).toEqual({ settingsHash, proof, rows, finishedAt, ...(unlisted && { unlisted }) });
  // Replaced by one that is as usual.
  receipts.set(RECEIPT);
  expect(receipts.get(DAY)).toEqual({
    ...{ settingsHash: 'a', proof: 'exact', rows: 5 },
    finishedAt: '2026-01-05T23:00:12.345Z',
  });
});

test('vessels that come later have their own place, and those of other dates are not here', () => {
  const receipts = new CoveredReceipts();
  const vessels = Array.from({ length: 300 }, (_, n) => `IMO${9_000_000 + n}`);
  for (const [n, vessel] of vessels.entries())
    for (const date of ['2026-01-05', '2026-01-06'].slice(n % 2))
      receipts.set({ ...RECEIPT, vessel, date, rows: n, settingsHash: n % 3 === 0 ? 'a' : 'b' });
  for (const [n, vessel] of vessels.entries()) {
    const hash = n % 3 === 0 ? 'a' : 'b';
    expect(receipts.get({ vessel, date: '2026-01-06' })).toMatchObject({ rows: n, settingsHash: hash });
    expect(receipts.get({ vessel, date: '2026-01-05' })?.rows).toBe(n % 2 === 0 ? n : undefined);
    expect(receipts.get({ vessel, date: '2026-01-07' })).toBeUndefined();
  }
  expect(receipts.get({ vessel: 'IMO8000000', date: '2026-01-05' })).toBeUndefined();
  expect(receipts.vesselsOn(['2026-01-05'])).toEqual(new Set(vessels.filter((_, n) => n % 2 === 0)));
  receipts.clear('2026-01-06');
  expect(receipts.vesselsOn(['2026-01-05', '2026-01-06']).size).toBe(150);
});

test('of each vessel the receipt that was begun last is its newest', () => {
  const receipts = new CoveredReceipts();
  const remark = {
    ...{ kind: 'fewer-series' as const, missing: 1, names: ['a'], since: '2026-01-05' },
    comparedWith: { date: '2026-01-04', finishedAt: '2026-01-04T23:00:00.000Z', series: 3 },
  };
  receipts.set({ ...RECEIPT, started: toMoment('2026-02-01T00:00:00.000Z'), remark, selectedSeries: 2 });
  receipts.set({ ...RECEIPT, date: '2026-01-06', started: toMoment('2026-01-07T00:00:00.000Z') });
  const of = (dates: string[]) => [...receipts.newestOn('measurements', dates)];
  const begun = { ...DAY, startedAt: '2026-02-01T00:00:00.000Z', remark, selectedSeries: 2 };
  expect(of(['2026-01-05', '2026-01-06'])).toEqual([begun]);
  expect(of(['2026-01-06'])).toEqual([{ ...DAY, date: '2026-01-06', startedAt: '2026-01-07T00:00:00.000Z' }]);
});

test('a list without tags tells nothing, and any change in it is another', () => {
  const listed = [{ key: 'k', vessel: 'IMO9000001', sizeBytes: 5, tag: 'a' }];
  expect(fingerprintOf([{ ...listed[0]!, tag: '' }])).toBeUndefined();
  const others = [
    [],
    [{ ...listed[0]!, tag: 'b' }],
    [{ ...listed[0]!, sizeBytes: 6 }],
    [...listed, ...listed],
  ];
  const all = [listed, ...others].map(fingerprintOf);
  expect(new Set(all).size).toBe(5);
});
