/** What a file must be to count as a receipt: one that contradicts itself, its place or its version is none. */
import { expect, test } from 'vitest';
import { checkReceipt } from '../../../src/audit/verify/receipt-check.ts';
import type { Receipt } from '../../../src/core/model/index.ts';
import { receiptKey } from '../../../src/lake/keys.ts';
import { parseReceipt } from '../../../src/lake/ledger/ledger.ts';
import { makeReceipt } from '../../helpers/ledger.ts';

const DAY = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
const SOUND = makeReceipt(DAY);
const EMPTY = makeReceipt(DAY, { rows: 0 });
const LAYOUTS = ['plain', 'delta'] as const;

const findIn = (text: string) =>
  LAYOUTS.map((layout) => {
    const checked = checkReceipt(Buffer.from(text), DAY, layout);
    return checked.receipt === undefined ? checked.difference.name : undefined;
  });

test('a receipt that holds together is one, of rows and of an empty day', () => {
  for (const sound of [SOUND, EMPTY]) expect(findIn(JSON.stringify(sound))).toEqual([undefined, undefined]);
});

test.for<[what: string, change: (receipt: Receipt) => object]>([
  ['without a member', () => ({ startedAt: undefined })],
  ['of no version', () => ({ receiptVersion: 'x' })],
  ['without parts', ({ object }) => ({ object: { ...object, parts: [] } })],
  ['of another vessel', () => ({ vessel: 'IMO9999999' })],
  ['with another object', ({ object }) => ({ object: { ...object, key: 'elsewhere' } })],
  [
    'with a file of another day',
    ({ object }) => ({ object: { ...object, key: object!.key.replace('01-05', '02-02') } }),
  ],
  ['with another size', ({ object }) => ({ object: { ...object, sizeBytes: 1 } })],
  ['with another detail', ({ detail }) => ({ detail: { ...detail, key: 'elsewhere' } })],
  ['whose times lie outside its day', () => ({ lastTimestamp: '2026-01-06T00:00:00.000000Z' })],
  ['that says the day is empty', () => ({ rows: 0 })],
  ['of more series than rows', ({ rows }) => ({ series: rows + 1 })],
  ['that claims more than was asked', () => ({ source: null })],
  ['of an empty day that nobody counted', () => ({ ...EMPTY, source: null })],
  [
    'of a snapshot with more rows than series',
    () => ({ dataset: 'metadata', firstTimestamp: null, lastTimestamp: null }),
  ],
])('a receipt %s is damaged', ([, change]) => {
  expect(findIn(JSON.stringify({ ...SOUND, ...change(SOUND) }))).toEqual(Array(2).fill('receipt-damaged'));
});

const { startedAt: _, ...lacking } = SOUND;
test.for([
  ...['', '[]', '{"receiptVersion":1}', JSON.stringify(SOUND).slice(0, -9), JSON.stringify(lacking)],
  ...[{ object: {} }, { vessel: 'IMO9999999' }].map((more) => JSON.stringify({ ...SOUND, ...more })),
  '{"receiptVersion":7,"rows":"as words"}',
])('%j is none to those who read it in earnest either', (text) => {
  const isNewer = text.includes('"receiptVersion":7');
  expect(findIn(text)).toEqual(Array(2).fill(isNewer ? 'receipt-newer' : 'receipt-damaged'));
  const code = isNewer ? 'unknown-receipt-version' : 'damaged-receipt';
  const message = expect.stringContaining(receiptKey(DAY));
  expect(() => parseReceipt(Buffer.from(text), receiptKey(DAY))).toThrow(
    expect.objectContaining({ code, message }),
  );
});
