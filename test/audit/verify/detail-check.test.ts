/** A detail says the same in whatever spelling: what is read fast is what JSON would have read. */
import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { checkDetail } from '../../../src/audit/verify/detail-check.ts';
import type { ReadableStore } from '../../../src/audit/verify/lake-walk.ts';
import { dateToMicros, microsToIso, type Receipt } from '../../../src/core/model/index.ts';
import { TO_THE_MICROSECOND } from '../../../src/core/proof/compare-counts.ts';
import { detailKey } from '../../../src/lake/keys.ts';
import { makeReceipt } from '../../helpers/ledger.ts';

const DAY = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
const AT = dateToMicros(DAY.date);
const COUNTS = '{"a":[[0,2,5,9],[3,1,10800000007,10800000007]],"b":[[0,4,1,8]]}';
const FEWER = '{"a":[[0,2,5,9]]}';

/** Names of what is found in a detail of this text, which the receipt names. */
async function findingsOf(text: string): Promise<string[]> {
  const key = detailKey(DAY);
  const receipt: Receipt = makeReceipt(DAY, {
    ...{ rows: 7, series: 2, detail: { key, sha256: hash('sha256', text) } },
    ...{ firstTimestamp: microsToIso(AT + 1), lastTimestamp: microsToIso(AT + 10_800_000_007) },
    source: { rows: 7, askedAt: '2026-01-06T06:00:00.000Z' },
  });
  const get = async () => ({ bytes: gzipSync(text), version: 'v' });
  const store = { get } as unknown as ReadableStore;
  const { differences } = await checkDetail(store, receipt, TO_THE_MICROSECOND);
  return differences.map(({ name }) => name);
}

test.each([
  ['as it is written', `{"ours":${COUNTS},"source":${COUNTS},"series":{"a":"é/\\"A","b":null}}\n`],
  ['without names', `{"ours":${COUNTS},"source":${COUNTS}}\n`],
  ['with white space', `{ "ours": ${COUNTS},\n"source":${COUNTS}}`],
  ['the other way round', `{"source":${COUNTS},"ours":${COUNTS}}`],
  [
    'an hour in two rows',
    `{"ours":${COUNTS},"source":${COUNTS.replace('[0,2,5,9]', '[0,1,5,6],[0,1,7,9]')}}`,
  ],
  ['said twice, the second time right', `{"ours":${COUNTS},"source":${FEWER},"source":${COUNTS}}`],
])('sound: %s', async (_, text) => {
  expect(await findingsOf(text)).toEqual([]);
});

test.each([
  ['fewer of the source', `{"ours":${COUNTS},"source":${FEWER}}`, 'proof-differs'],
  ['none of the source', `{"ours":${COUNTS},"source":null}`, 'proof-differs'],
  ['fewer of ours', `{"ours":${FEWER},"source":${COUNTS}}`, 'rows-differ'],
  ['ours said twice', `{"ours":${COUNTS},"source":${COUNTS},"ours":${FEWER}}`, 'rows-differ'],
  ['the source said twice', `{"ours":${COUNTS},"source":${COUNTS},"source":${FEWER}}`, 'proof-differs'],
  ['another time', `{"ours":${COUNTS},"source":${COUNTS.replace('1,8', '1,7')}}`, 'proof-differs'],
  ['something behind it', `{"ours":${COUNTS},"source":${COUNTS}}}`, 'detail-differs'],
  ['no end', `{"ours":${COUNTS},"source":${COUNTS}`, 'detail-differs'],
  ['one side alone', `{"ours":${COUNTS}}`, 'detail-differs'],
  ['nothing', '', 'detail-differs'],
])('found: %s', async (_, text, name) => {
  expect((await findingsOf(text))[0]).toBe(name);
});
