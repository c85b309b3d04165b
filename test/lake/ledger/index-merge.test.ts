/** Indexes of a month as one: each receipt once, as the newest source has it, in memory that a scheduler has. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Receipt } from '../../../src/core/model/index.ts';
import { indexKey } from '../../../src/lake/keys.ts';
import { mergeIndexes, packIndex, unpackIndex } from '../../../src/lake/ledger/index-file.ts';
import type { IndexedMember } from '../../../src/lake/ledger/indexed-receipt.ts';
import { toIndexRow } from '../../../src/lake/ledger/indexed-receipt.ts';
import { makeReceipt, vesselIds } from '../../helpers/ledger.ts';
import { newMemoryFolder } from '../../helpers/temp.ts';
import { isLong } from '../../helpers/tiers.ts';

const JOB = 'measurements';
const VESSELS = vesselIds(5);
const MEMBERS: readonly IndexedMember[] = [
  ...(['epoch', 'settingsHash', 'proof', 'rows', 'dataset', 'series'] as const),
  ...([
    'sourceRows',
    'totalsSha256',
    'detailSha256',
    'selectedSeries',
    'remark',
    'warnings',
    'unlisted',
    'firstTimestamp',
  ] as const),
  ...(['lastTimestamp', 'objectBytes', 'started', 'finished'] as const),
];

const remark: Receipt['remark'] = {
  ...{ kind: 'fewer-series', missing: 1, names: ['é'], since: '2026-01-05' },
  comparedWith: { date: '2026-01-04', finishedAt: '2026-01-04T23:00:00.000Z', series: 3 },
};
const warnings: Receipt['warnings'] = [
  { kind: 'other-vessel', series: 1, names: ['é (IMO9322853)'], digest: 'd', since: '2026-01-05' },
];
const more: fc.Arbitrary<Partial<Receipt>> = fc.constantFrom<Partial<Receipt>>(
  {},
  { rows: 0, source: null, detail: null },
  { remark, warnings, selectedSeries: 2, unlisted: true },
  { warnings },
  { detail: null, proof: 'at-least' },
);
const receipt = fc
  .record({
    vessel: fc.constantFrom(...VESSELS),
    day: fc.integer({ min: 1, max: 4 }),
    epoch: fc.nat(9),
    more,
  })
  .map((one) =>
    makeReceipt(
      { job: JOB, vessel: one.vessel, date: `2026-01-0${one.day}` },
      { epoch: one.epoch, ...one.more },
    ),
  );
const source = fc.record({
  receipts: fc.uniqueArray(receipt, { selector: ({ vessel, date }) => `${date} ${vessel}`, maxLength: 12 }),
  /** Of every so many rows the last is not taken. */
  leftOut: fc.integer({ min: 1, max: 5 }),
});

test('anybody can read an index: it is Parquet of a row a receipt', async () => {
  const rows = vesselIds(70).map((vessel) =>
    toIndexRow(makeReceipt({ job: JOB, vessel, date: '2026-01-05' }, { remark, rows: 7 }), {
      ...{ sizeBytes: 1, tag: 'a' },
    }),
  );
  await using folder = await newMemoryFolder();
  const path = join(folder.path, 'index.parquet');
  writeFileSync(path, await packIndex(JOB, rows));
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  const found = await connection.runAndReadAll(
    `SELECT count(*), sum(rows)::INT, min(vessel), max("date"), min(remark) FROM '${path}' WHERE finished IS NOT NULL`,
  );
  connection.closeSync();
  instance.closeSync();
  const [first] = rows.map(({ vessel }) => vessel).sort();
  expect(found.getRows()).toEqual([[70n, 490, first, '2026-01-05', JSON.stringify(remark)]]);
});

test('of each vessel-day there is what the last source has that has it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(source, { maxLength: 4 }), async (sources) => {
      const expected = new Map<string, object>();
      const packed = [];
      for (const [number, { receipts, leftOut }] of sources.entries()) {
        const rows = receipts.map((one) => toIndexRow(one, { sizeBytes: number, tag: `${number} é` }));
        const isTaken = (at: number) => leftOut === 1 || at % leftOut < leftOut - 1;
        packed.push({ bytes: await packIndex(JOB, rows), isTaken });
        const sorted = rows.toSorted((a, b) => (`${a.date}${a.vessel}` < `${b.date}${b.vessel}` ? -1 : 1));
        for (const [at, row] of sorted.entries())
          if (isTaken(at)) expected.set(`${row.date} ${row.vessel}`, row);
      }
      const index = await unpackIndex(JOB, await mergeIndexes(JOB, packed), MEMBERS);
      const rows = Array.from({ length: index.receipts }, (_, at) => index.row(at));
      const names = [...expected.keys()].sort();
      expect(rows.map(({ date, vessel }) => `${date} ${vessel}`)).toEqual(names);
      for (const [at, name] of names.entries()) {
        const { listedBytes: sizeBytes, tag, ...row } = expected.get(name) as ReturnType<typeof toIndexRow>;
        expect(rows[at]).toEqual(row);
        expect(index.isSame(at, { sizeBytes, tag })).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});

test('a month of many receipts takes no object of each', { timeout: 120_000 }, async () => {
  await using folder = await newMemoryFolder();
  // With all of them at once it has four times as much.
  const [vessels, megabytes] = isLong ? [10_000, 128] : [2_000, 48];
  const child = new URL('index-merge-child.ts', import.meta.url).pathname;
  const args = [`--max-old-space-size=${megabytes}`, child, folder.path, String(vessels)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const receipts = 31 * vessels;
  const days = Array.from({ length: 31 }, (_, day) => day);
  const rows = days.reduce((sum, day) => sum + vessels * day * 100_000 + (vessels * (vessels - 1)) / 2, 0);
  const date = '2026-01-31';
  const vessel = `IMO${9_000_000 + vessels - 1}`;
  const detailSha256 = makeReceipt({ job: JOB, vessel, date }).detail!.sha256;
  expect(JSON.parse(stdout)).toEqual({
    looks: [0, 1].map(() => ({ fetched: 0, fromIndex: receipts, rows })),
    files: [indexKey(JOB, '2026-01')],
    receipts,
    last: { job: JOB, vessel, date, rows: 3_000_000 + vessels - 1, detailSha256 },
  });
});
