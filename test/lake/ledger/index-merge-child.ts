/**
 * A month of many vessels whose index lies in pieces, read and put together in a process of its own: `FOLDER VESSELS`.
 * Prints what it has seen as JSON. The receipts are made up when they are listed, and none is ever fetched.
 */
import { addDays, datesBetween, silentLog } from '../../../src/core/model/index.ts';
import { indexKey, indexPieceKey, indexPrefix, receiptKey } from '../../../src/lake/keys.ts';
import { packIndex, unpackIndex } from '../../../src/lake/ledger/index-file.ts';
import { toIndexRow } from '../../../src/lake/ledger/indexed-receipt.ts';
import { scanLedger } from '../../../src/lake/ledger/ledger-index.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { makeReceipt, vesselIds } from '../../helpers/ledger.ts';

const JOB = 'measurements';
const MONTH = '2026-01';
const VESSELS = vesselIds(Number(process.argv[3]));
const DATES = datesBetween(`${MONTH}-01`, addDays(`${MONTH}-01`, 31));
const PIECE_RECEIPTS = VESSELS.length / 4;

const local = createLocalStore(process.argv[2]!);
const sizeBytes = 1_300;
const tagOf = (vessel: string, date: string) => `${vessel.slice(3)}-17670${date.slice(-2)}123456.789`;
const store: ObjectStore = {
  ...local,
  async *listPages(prefix) {
    const date = prefix.slice(-'2026-01-01/'.length, -1);
    yield VESSELS.map((vessel) => ({
      key: receiptKey({ job: JOB, vessel, date }),
      ...{ sizeBytes, modifiedMs: 0, tag: tagOf(vessel, date) },
    }));
  },
};

for (const [day, date] of DATES.entries())
  for (let from = 0; from < VESSELS.length; from += PIECE_RECEIPTS) {
    const rows = VESSELS.slice(from, from + PIECE_RECEIPTS).map((vessel, at) =>
      toIndexRow(makeReceipt({ job: JOB, vessel, date }, { rows: day * 100_000 + from + at }), {
        ...{ sizeBytes, tag: tagOf(vessel, date) },
      }),
    );
    const name = `${date}-${String(from).padStart(5, '0')}`;
    await store.put(indexPieceKey(JOB, MONTH, name), await packIndex(JOB, rows));
  }

async function scan() {
  let rows = 0;
  const { fetched, fromIndex } = await scanLedger({
    ...{ store, job: JOB, dates: DATES, writeIndex: true, log: silentLog },
    members: ['rows', 'proof'],
    take: (receipt) => {
      rows += receipt.rows;
    },
  });
  return { fetched, fromIndex, rows };
}

const looks = [await scan(), await scan()];
const files: string[] = [];
for await (const { key } of store.list(indexPrefix(JOB, MONTH))) files.push(key);
const index = await unpackIndex(JOB, (await store.get(indexKey(JOB, MONTH)))!.bytes, [
  'rows',
  'detailSha256',
]);
const last = index.row(index.receipts - 1);
process.stdout.write(JSON.stringify({ looks, files, receipts: index.receipts, last }));
