import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDays, JOB_NAME, VESSEL_ID, type VesselDay } from '../../src/core/model/index.ts';
import {
  backfillKey,
  claimKey,
  claimPrefix,
  detailKey,
  indexKey,
  keyPrefix,
  noteKey,
  objectKey,
  objectPrefix,
  parseBackfillKey,
  parseClaimKey,
  parseDetailKey,
  parseNoteKey,
  parseObjectKey,
  parsePartitions,
  parseReceiptKey,
  receiptKey,
} from '../../src/lake/keys.ts';
import { faultOfKey } from '../../src/store/key.ts';

const PARSERS: Readonly<Record<string, (key: string) => unknown>> = {
  object: parseObjectKey,
  receipt: parseReceiptKey,
  detail: parseDetailKey,
  note: parseNoteKey,
  claim: parseClaimKey,
  backfill: parseBackfillKey,
  none: () => undefined,
};

const vesselDays: fc.Arbitrary<VesselDay> = fc.record({
  job: fc.stringMatching(JOB_NAME),
  vessel: fc.stringMatching(VESSEL_ID),
  date: fc.integer({ min: 0, max: 230 * 365 }).map((days) => addDays('1970-01-01', days)),
});

/** A key of a kind, and what it is made of. */
const made = fc.oneof(
  vesselDays.map((day) => ({ kind: 'object', key: objectKey(day), of: day })),
  vesselDays.map((day) => ({ kind: 'receipt', key: receiptKey(day), of: day })),
  vesselDays.map((day) => ({ kind: 'detail', key: detailKey(day), of: day })),
  vesselDays.map((day) => ({ kind: 'note', key: noteKey(day), of: day })),
  fc
    .tuple(vesselDays, fc.nat())
    .map(([day, epoch]) => ({ kind: 'claim', key: claimKey(day, epoch), of: { day, epoch } })),
  fc
    .stringMatching(/^[a-z0-9][a-z0-9_-]+$/)
    .map((id) => ({ kind: 'backfill', key: backfillKey(id), of: id })),
  vesselDays.map(({ job, date }) => ({ kind: 'none', key: indexKey(job, date.slice(0, 7)), of: undefined })),
);

test('a key says what it was made of, to its own kind and to no other', () => {
  fc.assert(
    fc.property(made, ({ kind, key, of }) => {
      for (const [name, parse] of Object.entries(PARSERS))
        expect([name, parse(key)]).toEqual([name, name === kind ? of : undefined]);
      expect(faultOfKey(key)).toBeUndefined();
    }),
  );
});

test('a key that is changed anywhere is foreign, or says something else', () => {
  const changes = fc.tuple(made, fc.nat(), fc.constantFrom('', '/', 'x', '0', '=', '.', 'é'), fc.boolean());
  fc.assert(
    fc.property(changes, ([{ kind, key, of }, at, text, replace]) => {
      const place = at % key.length;
      const changed = key.slice(0, place) + text + key.slice(replace ? place + 1 : place);
      fc.pre(changed !== key);
      const parsed = PARSERS[kind]!(changed);
      if (parsed !== undefined) expect(parsed).not.toEqual(of);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  'measurements/vessel=IMO9321483/date=2026-02-30/data.parquet',
  'measurements/vessel=IMO932148/date=2026-01-05/data.parquet',
  'measurements/vessel=IMO9321483/date=2026-01-05/data.parquet.bak',
  'backup/measurements/vessel=IMO9321483/date=2026-01-05/data.parquet',
  '_ledger/measurements/date=2026-01-05/vessel=IMO9321483',
  '_ledger/Measurements/date=2026-01-05/vessel=IMO9321483.json',
  '_ledger/measurements/date=2026-01-05/IMO9321483.json',
  '_checkpoints/measurements/date=2026-01-05/vessel=IMO9321483/',
  '_checkpoints/measurements/date=2026-01-05/vessel=IMO9321483/007.json',
  '_checkpoints/measurements/date=2026-01-05/vessel=IMO9321483/7.json/7.json',
  '_backfills/.json',
  '_backfills/of/somebody.json',
  'readme.txt',
  '',
])('%j is foreign', (key) => {
  for (const parse of Object.values(PARSERS)) expect(parse(key)).toBeUndefined();
});

test('every key begins with the prefixes of its kind, job, date and vessel', () => {
  fc.assert(
    fc.property(vesselDays, fc.nat(), (day, epoch) => {
      const { job, vessel, date } = day;
      const keys = { receipt: receiptKey(day), detail: detailKey(day), note: noteKey(day) };
      for (const [kind, key] of Object.entries({ ...keys, claim: claimKey(day, epoch) })) {
        for (const asked of [[], [job], [job, date.slice(0, 7)], [job, date]])
          expect(key.startsWith(keyPrefix(kind as 'receipt', ...asked))).toBe(true);
        expect(key.startsWith(keyPrefix(kind as 'receipt', `${job}x`))).toBe(false);
        expect(key.startsWith(keyPrefix(kind as 'receipt', job, addDays(date, 1)))).toBe(false);
      }
      // That of a date is its folder.
      expect(keyPrefix('receipt', job, date)).toMatch(/[/]$/);
      expect(claimKey(day, epoch).startsWith(claimPrefix(day))).toBe(true);
      expect(objectKey(day).startsWith(objectPrefix(job))).toBe(true);
      expect(objectKey(day).startsWith(objectPrefix(job, vessel))).toBe(true);
    }),
  );
});

test('folders say whose a stray file is, as far as they do', () => {
  expect(parsePartitions('m/vessel=IMO9321483/date=2026-01-05/x')).toEqual({
    vessel: 'IMO9321483',
    date: '2026-01-05',
  });
  expect(parsePartitions('m/date=2026-01-05/vessel=IMO9321483')).toEqual({
    vessel: 'IMO9321483',
    date: '2026-01-05',
  });
  expect(parsePartitions('m/vessel=IMO93/date=2026-13-01/x')).toEqual({});
});
