import { crc32 } from 'node:zlib';
import { parquetMetadata } from 'hyparquet';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { DataError } from '../../../src/core/errors.ts';
import type { Log, Receipt, VesselDay } from '../../../src/core/model/index.ts';
import { addDays, datesBetween, silentLog, toMoment } from '../../../src/core/model/index.ts';
import { jsonBytes } from '../../../src/lake/json.ts';
import { indexKey, indexPrefix, keyPrefix, parseReceiptKey, receiptKey } from '../../../src/lake/keys.ts';
import { unpackIndex } from '../../../src/lake/ledger/index-file.ts';
import { createIndexJournal, type IndexJournal } from '../../../src/lake/ledger/index-journal.ts';
import { readReceipt } from '../../../src/lake/ledger/ledger.ts';
import { readLedger } from '../../../src/lake/ledger/ledger-index.ts';
import { createByteSink, putBytes } from '../../../src/parquet/write/byte-sink.ts';
import { readMetadata } from '../../../src/parquet/write/parquet-tail.ts';
import { PARQUET_MAGIC, putFooter } from '../../../src/parquet/write/parquet-thrift.ts';
import { makeReceipt, vesselIds, writeReceipt, writeReceipts } from '../../helpers/ledger.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { s3ForTests } from '../../helpers/s3.ts';
import type { StorePlace } from '../../helpers/store-places.ts';
import { storePlaces } from '../../helpers/store-places.ts';
import { inParallel } from '../../store/store-suite.ts';

const JOB = 'measurements';
const FROM = '2026-01-30';
const VESSELS = vesselIds(40);
const s3 = await s3ForTests();

/** The same file with other things said in its footer. */
function withKeyValues(file: Uint8Array, keyValues: Readonly<Record<string, string>>): Uint8Array {
  const metadata = readMetadata(file);
  const sink = createByteSink();
  const key_value_metadata = Object.entries(keyValues).map(([key, value]) => ({ key, value }));
  putFooter(sink, { ...metadata, key_value_metadata });
  putBytes(sink, PARQUET_MAGIC);
  // Behind it stand its length and the magic.
  const end = file.length - metadata.metadata_length - 8;
  return Buffer.concat([file.subarray(0, end), sink.bytes.subarray(0, sink.at)]);
}

describe.each(storePlaces(s3))('%s', (placeName, makePlace) => {
  let place: StorePlace;
  const places: StorePlace[] = [];
  beforeEach(async () => {
    place = await makePlace();
    places.push(place);
  });
  afterAll(async () => {
    for (const { store, drop } of places) {
      await store.close();
      await drop();
    }
  });

  /** 40 vessels on four days in two months: 80 receipts a month. */
  async function writeLedger(): Promise<void> {
    const dates = datesBetween(FROM, addDays(FROM, 4));
    const days = dates.flatMap((date) => VESSELS.map((vessel) => ({ job: JOB, vessel, date })));
    await writeReceipts(
      place.store,
      days.map((day) => makeReceipt(day)),
    );
  }

  interface Asked {
    readonly from?: string;
    readonly days?: number;
    readonly vessels?: ReadonlySet<string>;
    readonly writeIndex?: boolean;
    readonly log?: Log;
  }

  /** Ask through the index, compare with the receipts themselves; how many came from where. */
  async function ask(asked: Asked = {}): Promise<{ fromIndex: number; fetched: number }> {
    const { from = FROM, days = 4, vessels, writeIndex = true, log = silentLog } = asked;
    const dates = datesBetween(from, addDays(from, days));
    const { store } = place;
    const only = vessels === undefined ? {} : { vessels };
    const answer = await readLedger({
      store,
      job: JOB,
      dates,
      ...only,
      writeIndex,
      log,
      members: ['rows', 'epoch', 'finished'],
    });
    const listed: VesselDay[] = [];
    for (const date of dates)
      for await (const { key } of store.list(keyPrefix('receipt', JOB, date)))
        listed.push(parseReceiptKey(key)!);
    const wanted = listed.filter(({ vessel }) => vessels?.has(vessel) !== false);
    const expected: [key: string, kept: object][] = [];
    await inParallel(wanted, 16, async (one) => {
      const { rows, epoch, finishedAt } = (await readReceipt(store, one))!;
      expected.push([receiptKey(one), { rows, epoch, finished: toMoment(finishedAt) }]);
    });
    const found = [...answer.receipts.values()].map(({ job, vessel, date, ...kept }) => [
      receiptKey({ job, vessel, date }),
      kept,
    ]);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
    expect(answer.receipts.size).toBe(expected.length);
    expect(answer.damaged).toEqual([]);
    return { fromIndex: answer.fromIndex, fetched: answer.fetched };
  }

  const january = indexKey(JOB, '2026-01');
  const day = (vessel: number, date = FROM): VesselDay => ({ job: JOB, vessel: VESSELS[vessel]!, date });
  const rewrite = (receipt: Receipt) => writeReceipt(place.store, receipt);

  test('the second reader fetches nothing', async () => {
    await writeLedger();
    expect(await ask()).toEqual({ fromIndex: 0, fetched: 160 });
    expect(await ask()).toEqual({ fromIndex: 160, fetched: 0 });
  });

  test('receipts that are newer than the index are fetched, those that are gone are not made up', async () => {
    await writeLedger();
    await ask();
    await rewrite(makeReceipt(day(3), { epoch: 2, rows: 7_654_321 }));
    // The same size, the same second: only the tag tells it from the one before.
    await rewrite(makeReceipt(day(4), { rows: 7_654_321 }));
    await place.store.remove(receiptKey(day(5)));
    await rewrite(makeReceipt({ ...day(0), vessel: 'IMO8888888' }));
    expect(await ask()).toEqual({ fromIndex: 157, fetched: 3 });
  });

  const filesOf = async (month: string) => {
    const keys: string[] = [];
    for await (const { key } of place.store.list(indexPrefix(JOB, month))) keys.push(key);
    return keys;
  };
  const publish = (journal: IndexJournal, receipts: readonly Receipt[]) =>
    inParallel(receipts, 16, async (receipt) => {
      const bytes = jsonBytes(receipt);
      const tag = await place.store.putIf(receiptKey(receipt), bytes, null);
      journal.note(receipt, { sizeBytes: bytes.length, tag: tag! });
    });

  test('what was published is read without fetching it, and put into the index once', async () => {
    const journal = createIndexJournal(place.store, silentLog);
    const dates = [FROM, addDays(FROM, 1)];
    const receipts = dates.flatMap((date) =>
      VESSELS.map((vessel) => makeReceipt({ job: JOB, vessel, date })),
    );
    await publish(journal, receipts);
    expect(await filesOf('2026-01')).toEqual([]);
    await journal.close();
    const [piece] = await filesOf('2026-01');
    expect(piece).toMatch(/^_index\/measurements\/2026-01\/.+[.]parquet$/);
    // Replaced by somebody else since.
    await rewrite(makeReceipt(day(3), { epoch: 2, rows: 7_654_321 }));
    expect(await ask({ writeIndex: false })).toEqual({ fromIndex: 79, fetched: 1 });
    expect(await filesOf('2026-01')).toEqual([piece]);
    expect(await ask()).toEqual({ fromIndex: 79, fetched: 1 });
    expect(await filesOf('2026-01')).toEqual([january]);
    expect(await ask()).toEqual({ fromIndex: 80, fetched: 0 });
  });

  // What follows asks for nothing of a store that those before it have not.
  if (placeName === 'on S3') return;

  test('a reader that must not write leaves no index', async () => {
    await writeLedger();
    await ask({ writeIndex: false });
    expect(await ask({ writeIndex: false })).toEqual({ fromIndex: 0, fetched: 160 });
    expect(await place.store.head(january)).toBeUndefined();
  });

  test('a stale index is written anew once enough has changed', async () => {
    await writeLedger();
    await ask();
    await writeReceipts(
      place.store,
      [FROM, addDays(FROM, 1)].flatMap((date) =>
        VESSELS.slice(0, 35).map((vessel) => makeReceipt({ job: JOB, vessel, date }, { epoch: 3 })),
      ),
    );
    expect(await ask()).toEqual({ fromIndex: 90, fetched: 70 });
    expect(await ask()).toEqual({ fromIndex: 160, fetched: 0 });
    expect((await unpackIndex(JOB, (await place.store.get(january))!.bytes, [])).receipts).toBe(80);
  });

  test('a part of a month keeps what is known of the rest', async () => {
    await writeLedger();
    await writeReceipts(
      place.store,
      vesselIds(70).map((vessel) => makeReceipt({ job: JOB, vessel, date: '2026-01-02' })),
    );
    await ask({ days: 2 });
    expect(await ask({ from: '2026-01-02', days: 1 })).toEqual({ fromIndex: 0, fetched: 70 });
    expect(await ask({ from: '2026-01-01', days: 31 })).toEqual({ fromIndex: 150, fetched: 0 });
  });

  test('some vessels only', async () => {
    await writeLedger();
    await ask();
    expect(await ask({ vessels: new Set(VESSELS.slice(0, 33)) })).toEqual({ fromIndex: 132, fetched: 0 });
  });

  /** With what the footer says of it changed, and right by its checksum. */
  const said = (bytes: Uint8Array, from: string, to: string) => {
    const [pair] = parquetMetadata(Uint8Array.from(bytes).buffer).key_value_metadata!;
    const about = pair!.value!.slice(pair!.value!.indexOf(' ') + 1).replace(from, to);
    return withKeyValues(bytes, { [pair!.key]: `${crc32(about)} ${about}` });
  };
  const flipped = (bytes: Buffer, at: number) => bytes.fill(bytes[at]! ^ 0x10, at, at + 1);
  const insideTags = (bytes: Buffer) => {
    const [group] = parquetMetadata(Uint8Array.from(bytes).buffer).row_groups;
    const { meta_data } = group!.columns.find(({ meta_data: meta }) => meta?.path_in_schema[0] === 'tag')!;
    return Number(meta_data!.data_page_offset + meta_data!.total_compressed_size / 2n);
  };
  const damages: [string, (bytes: Buffer) => Uint8Array][] = [
    ['a flipped byte of a column that every reader needs', (bytes) => flipped(bytes, insideTags(bytes))],
    ['a flipped byte of what its footer says', (bytes) => flipped(bytes, bytes.lastIndexOf('indexVersion'))],
    ['cut off', (bytes) => bytes.subarray(0, bytes.length - 300)],
    ['something behind it', (bytes) => Buffer.concat([bytes, Buffer.from('x')])],
    ['no Parquet', () => Buffer.from('{"rows":1}')],
    ['nothing in it', () => Buffer.alloc(0)],
    ["another job's", (bytes) => said(bytes, `"${JOB}"`, '"other"')],
    ['of a version to come', (bytes) => said(bytes, '"indexVersion":6', '"indexVersion":7')],
    ['Parquet of something else', (bytes) => withKeyValues(bytes, {})],
  ];
  test.each(damages)('a damaged index gives no wrong answer: %s', async (_name, damage) => {
    await writeLedger();
    await ask();
    const whole = Buffer.from((await place.store.get(january))!.bytes);
    await place.store.put(january, damage(Buffer.from(whole)));
    expect(await ask()).toEqual({ fromIndex: 80, fetched: 80 });
    expect(await ask()).toEqual({ fromIndex: 160, fetched: 0 });
  });

  test('indexes of older forms are passed over, and gone once there is one of this', async () => {
    await writeLedger();
    for (const old of ['.ndjson.gz', '.columns', '/a-piece.columns'])
      await place.store.put(
        `${indexPrefix(JOB, '2026-01')}${old}`,
        Buffer.from('whatever older versions wrote'),
      );
    expect(await ask({ writeIndex: false })).toEqual({ fromIndex: 0, fetched: 160 });
    expect(await ask()).toEqual({ fromIndex: 0, fetched: 160 });
    expect(await filesOf('2026-01')).toEqual([january]);
    expect(await ask()).toEqual({ fromIndex: 160, fetched: 0 });
  });

  test('few receipts are no piece of an index, and one that cannot be written is no failure', async () => {
    const journal = createIndexJournal(place.store, silentLog);
    await publish(
      journal,
      VESSELS.map((vessel) => makeReceipt({ job: JOB, vessel, date: FROM })),
    );
    await journal.close();
    expect(await filesOf('2026-01')).toEqual([]);
    const fails = { put: () => Promise.reject(new DataError('no', 'read only')) };
    const failing = createIndexJournal(fails, silentLog);
    const dates = datesBetween('2026-01-01', '2026-01-15');
    await publish(
      failing,
      dates.flatMap((date) => VESSELS.map((vessel) => makeReceipt({ job: JOB, vessel, date }))),
    );
    await failing.close();
    expect(await filesOf('2026-01')).toEqual([]);
    expect(await ask({ days: 1 })).toEqual({ fromIndex: 0, fetched: 40 });
  });

  test('a store that hangs keeps nobody for a piece of an index', async () => {
    const clock = createManualClock();
    let [isClosed, piece] = [false, ''];
    const hangs = {
      put(key: string) {
        piece = key;
        return new Promise<never>(() => {});
      },
    };
    const journal = createIndexJournal(hangs, silentLog, clock);
    const dates = [FROM, addDays(FROM, 1)];
    await publish(
      journal,
      dates.flatMap((date) => VESSELS.map((vessel) => makeReceipt({ job: JOB, vessel, date }))),
    );
    const closed = journal.close().then(() => {
      isClosed = true;
    });
    await clock.advance(9_999);
    expect(isClosed).toBe(false);
    const at = new Date(clock.nowMs() - 9_999).toISOString().replaceAll(/[^0-9]/g, '');
    expect(piece, 'dated by the clock that it was given').toContain(`${at}-`);
    await clock.advance(1);
    await closed;
    expect(isClosed).toBe(true);
  });

  test('a receipt whose times no Date has written is read every time, as it stands', async () => {
    await writeLedger();
    await rewrite(makeReceipt(day(3), { finishedAt: '2026-01-31T23:00:00.123456Z' }));
    await ask();
    expect(await ask()).toEqual({ fromIndex: 159, fetched: 1 });
  });

  test('an index that cannot be written is no failure', async () => {
    await writeLedger();
    const { store } = place;
    const fails = { ...store, put: () => Promise.reject(new DataError('no', 'read only')) };
    place = { ...place, store: fails, drop: async () => {} };
    expect(await ask()).toEqual({ fromIndex: 0, fetched: 160 });
  });
});
