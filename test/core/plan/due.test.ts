import { expect, test } from 'vitest';
import type { Job, Proof } from '../../../src/core/model/index.ts';
import { isAsAsked, isDue, planVesselDays } from '../../../src/core/plan/due.ts';
import { settingsHash } from '../../../src/core/plan/settings-hash.ts';

const job: Job = {
  name: 'measurements',
  dataset: 'measurements',
  vessels: ['IMO9321483'],
  select: ['flat/{vessel}/*'],
  schedule: { cron: '15 6 * * *', timezone: 'UTC', settleMs: 6 * 3_600_000 },
  transport: 'ndjson',
  verify: 'exact',
};
const at = (iso: string) => Date.parse(iso);

test('a day is due when it has settled', () => {
  expect(isDue(job, '2026-01-05', at('2026-01-06T05:59:59.999Z'))).toBe(false);
  expect(isDue(job, '2026-01-05', at('2026-01-06T06:00:00Z'))).toBe(true);
});

test('a metadata snapshot is due on its own day only', () => {
  const metadata: Job = { ...job, dataset: 'metadata' };
  expect(isDue(metadata, '2026-01-05', at('2026-01-05T12:00:00Z'))).toBe(true);
  expect(isDue(metadata, '2026-01-05', at('2026-01-06T00:00:00Z'))).toBe(false);
  expect(isDue(metadata, '2026-01-05', at('2026-01-04T23:59:59Z'))).toBe(false);
});

test('vessel-days are done, stale, missing or not due by the ledger and the clock', () => {
  const hashes: Record<string, string> = { '2026-01-03': 'now', '2026-01-04': 'before' };
  const planned = [
    ...planVesselDays({
      job,
      vessels: ['IMO9321483'],
      from: '2026-01-03',
      to: '2026-01-07',
      nowMs: at('2026-01-06T12:00:00Z'),
      settingsHash: 'now',
      receiptOf: ({ date }) =>
        hashes[date] === undefined ? undefined : { settingsHash: hashes[date], proof: 'exact' },
    }),
  ];
  expect(planned.map(({ day, state }) => [day.date, state])).toEqual([
    ['2026-01-03', 'done'],
    ['2026-01-04', 'stale'],
    ['2026-01-05', 'missing'],
    ['2026-01-06', 'not-due'],
  ]);
});

test.for<[asked: Job['verify'], done: Proof[]]>([
  ['exact', ['exact']],
  ['at-least', ['at-least', 'exact']],
  ['off', ['unproven', 'at-least', 'exact']],
])('with verify: %s a day is done by a proof of %s', ([verify, done]) => {
  const proofs: Proof[] = ['unproven', 'at-least', 'exact'];
  const asAsked = proofs.filter((proof) => isAsAsked({ verify }, 'now', { settingsHash: 'now', proof }));
  expect(asAsked).toEqual(done);
  for (const proof of proofs)
    expect(isAsAsked({ verify }, 'now', { settingsHash: 'before', proof })).toBe(false);
});

test('a snapshot of a day that is over stays, whatever the settings say now', () => {
  const planned = [
    ...planVesselDays({
      job: { ...job, name: 'metadata', dataset: 'metadata' },
      vessels: ['IMO9321483'],
      from: '2026-01-03',
      to: '2026-01-05',
      nowMs: at('2026-01-06T12:00:00Z'),
      settingsHash: 'now',
      receiptOf: ({ date }) =>
        date === '2026-01-03' ? { settingsHash: 'before', proof: 'exact' } : undefined,
    }),
  ];
  expect(planned.map(({ state }) => state)).toEqual(['done', 'not-due']);
});

test('the settings hash follows what decides the content, and nothing else', () => {
  const hash = settingsHash(job, '2026-09-10');
  expect(
    settingsHash({ ...job, schedule: { cron: '0 0 * * *', timezone: 'UTC', settleMs: 0 } }, '2026-09-10'),
  ).toBe(hash);
  expect(settingsHash({ ...job, vessels: ['IMO9445100'] }, '2026-09-10')).toBe(hash);
  expect(settingsHash(job, '2026-01-01-beta')).toBe(hash);
  expect(settingsHash({ ...job, select: ['id/a'] }, '2026-09-10')).not.toBe(hash);
  expect(settingsHash({ ...job, transport: 'parquet' }, '2026-09-10')).not.toBe(hash);
  expect(settingsHash(job, '2025-10-31')).not.toBe(hash);
});
