/** Receipts elsewhere are read from the ledger's index, as they are, and nothing is written. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pathLiteral } from '../../../src/core/duckdb/locked.ts';
import { datesBetween, silentLog } from '../../../src/core/model/index.ts';
import { receiptKey } from '../../../src/lake/keys.ts';
import { readLedger } from '../../../src/lake/ledger/ledger-index.ts';
import { writeReceiptLines } from '../../../src/query/sql/receipt-lines.ts';
import { RECEIPT_COLUMNS } from '../../../src/query/views/dialect.ts';
import { duckdb, duckdbReceiptLines } from '../../../src/query/views/dialects/duckdb.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import { duckRows } from '../../helpers/lake.ts';
import { makeReceipt, vesselIds, writeReceipt, writeReceipts } from '../../helpers/ledger.ts';
import { newTempFolder } from '../../helpers/temp.ts';

const { signal } = new AbortController();

test('of receipts that the index knows none is fetched, and each is what it was', async () => {
  await using folder = await newTempFolder();
  const store = createLocalStore(join(folder.path, 'lake'));
  const said: string[] = [];
  const [job, log] = [
    'measurements',
    { ...silentLog, warn: (_: object, text: string) => void said.push(text) },
  ];
  const dates = datesBetween('2026-01-30', '2026-02-03');
  const days = dates.flatMap((date) => vesselIds(40).map((vessel) => ({ job, vessel, date })));
  const receipts = days.map((day, at) =>
    makeReceipt(day, at === 7 ? { rows: 0, source: null } : { rows: at, selectedSeries: 200 }),
  );
  await writeReceipts(store, receipts);
  let gets = 0;
  const counted = {
    ...Object.fromEntries(Object.entries(store)),
    url: store.url,
    get: (key: string) => {
      gets++;
      return store.get(key);
    },
  } as typeof store;
  const lines = async () => {
    const path = join(folder.path, 'lines');
    await writeReceiptLines(path, { store: counted, log }, [job], signal);
    const text = await readFile(path, 'utf8');
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .sort(byDay);
  };
  // Nobody has made an index: all are fetched, and none is made.
  const fetched = await lines();
  expect(gets).toBe(160);
  await readLedger({ store, job, dates, members: ['rows'], writeIndex: true, log });
  gets = 0;
  expect((await lines()).map((line) => ({ source: null, ...line }))).toEqual(
    fetched.map((line) => ({ source: null, ...line })),
  );
  expect(gets).toBe(2);
  const expected = receipts.map((one) => ({
    ...{ job, vessel: one.vessel, date: one.date, dataset: one.dataset, rows: one.rows, series: one.series },
    ...{ proof: one.proof, finishedAt: one.finishedAt, selectedSeries: one.selectedSeries },
    firstTimestamp: one.firstTimestamp ?? undefined,
    lastTimestamp: one.lastTimestamp ?? undefined,
    ...(one.source === null ? { source: undefined } : { source: { rows: one.source.rows } }),
    object: one.object && { sizeBytes: one.object.sizeBytes },
  }));
  const absent = (line: { source?: unknown }) => ({ ...line, source: line.source ?? undefined });
  expect(fetched.map(absent)).toEqual(expected.sort(byDay));
  // One that was replaced is fetched.
  await writeReceipt(store, makeReceipt(days[3]!, { rows: 5 }));
  expect((await lines()).filter(({ rows }) => rows === 5)).toHaveLength(2);
  expect(gets).toBe(2 + 2 + 1);
  await store.put(receiptKey(days[1]!), Buffer.from('{'));
  expect(await lines()).toHaveLength(159);
  expect(said).toEqual([expect.stringMatching(/^left out: .*vessel=IMO9000001\.json: not valid JSON/)]);
});

test('every column of receipts has what the receipt says, from its file as from the index', async () => {
  await using folder = await newTempFolder();
  const dir = join(folder.path, 'lake');
  const store = createLocalStore(dir);
  const day = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
  const comparedWith = { date: '2026-01-04', finishedAt: '2026-01-04T23:00:12.000Z', series: 200 };
  const remark = {
    ...{ kind: 'fewer-series' as const, missing: 1, names: ['Roll'] },
    ...{ comparedWith, since: day.date },
  };
  await writeReceipt(store, makeReceipt(day, { selectedSeries: 199, remark }));
  const path = join(folder.path, 'lines');
  await writeReceiptLines(path, { store, log: silentLog }, [day.job], signal);
  const lake = { url: dir, layout: 'plain' as const, sources: [], receiptJobs: [day.job] };
  const [view] = duckdb.receipts({ ...lake, domains: [], schema: undefined });
  const ofFiles = view!.slice(view!.indexOf('SELECT'));
  for (const rows of [ofFiles, duckdbReceiptLines(pathLiteral(path))]) {
    const columns = RECEIPT_COLUMNS.map(({ name }) => `"${name}"`).join();
    const [row] = await duckRows(`SELECT ${columns} FROM (${rows})`);
    expect(row).not.toContain(null);
    expect(row).toContain('fewer-series');
  }
});

function byDay(a: { vessel: string; date: string }, b: { vessel: string; date: string }): number {
  return `${a.date}${a.vessel}` < `${b.date}${b.vessel}` ? -1 : 1;
}
