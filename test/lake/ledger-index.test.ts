import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { DataError } from '../../src/errors.ts';
import { indexKey, keyPrefix, parseReceiptKey, receiptKey } from '../../src/lake/keys.ts';
import { readReceipt } from '../../src/lake/ledger.ts';
import { readLedger } from '../../src/lake/ledger-index.ts';
import type { Log, Receipt, VesselDay } from '../../src/model/index.ts';
import { addDays, datesBetween, silentLog } from '../../src/model/index.ts';
import { createLocalStore } from '../../src/store/local.ts';
import { createS3Store } from '../../src/store/s3.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { makeReceipt, vesselIds, writeReceipt, writeReceipts } from '../helpers/ledger.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { newTempFolder } from '../helpers/temp.ts';
import { inParallel } from '../store/store-suite.ts';

const JOB = 'measurements';
const FROM = '2026-01-30';
const VESSELS = vesselIds(40);
const s3 = await s3ForTests();

interface Place {
  readonly store: ObjectStore;
  drop(): Promise<void>;
}

async function localPlace(): Promise<Place> {
  const folder = await newTempFolder();
  return { store: createLocalStore(folder.path), drop: folder.remove };
}

async function s3Place(): Promise<Place> {
  const { endpoint, region, accessKeyId, secretAccessKey } = s3!;
  const { bucket, drop } = await s3!.newBucket();
  const credentials = { accessKeyId, secretAccessKey };
  return { store: createS3Store({ bucket, endpoint, region, credentials, prefix: 'lake' }), drop };
}

describe.each([['local', localPlace], ...(s3 === undefined ? [] : [['S3', s3Place] as const])] as const)(
  '%s',
  (placeName, makePlace) => {
    let place: Place;
    const places: Place[] = [];
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
        project: ({ rows, epoch, finishedAt }) => ({ rows, epoch, finishedAt }),
      });
      const listed: VesselDay[] = [];
      for (const date of dates)
        for await (const { key } of store.list(keyPrefix('receipt', JOB, date)))
          listed.push(parseReceiptKey(key)!);
      const wanted = listed.filter(({ vessel }) => vessels?.has(vessel) !== false);
      const expected: [key: string, kept: object][] = [];
      await inParallel(wanted, 16, async (one) => {
        const { rows, epoch, finishedAt } = (await readReceipt(store, one))!;
        expected.push([receiptKey(one), { rows, epoch, finishedAt }]);
      });
      expect(Object.fromEntries(answer.receipts)).toEqual(Object.fromEntries(expected));
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

    test('a reader that must not write leaves no index', async () => {
      await writeLedger();
      await ask({ writeIndex: false });
      expect(await ask({ writeIndex: false })).toEqual({ fromIndex: 0, fetched: 160 });
      expect(await place.store.head(january)).toBeUndefined();
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
      const lines = gunzipSync((await place.store.get(january))!.bytes)
        .toString()
        .trimEnd()
        .split('\n');
      expect(lines.length).toBe(80);
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

    const damages: [string, (bytes: Buffer) => Uint8Array][] = [
      ['a flipped byte', (bytes) => bytes.fill(bytes[500]! ^ 0x10, 500, 501)],
      ['cut off', (bytes) => bytes.subarray(0, bytes.length - 300)],
      ['no gzip', () => Buffer.from('{"rows":1}')],
      ['nothing in it', () => Buffer.alloc(0)],
      ['a line that is not JSON', () => gzipSync('not json\n')],
      ["another job's", (bytes) => gzipSync(gunzipSync(bytes).toString().replaceAll(`"${JOB}"`, '"other"'))],
      ['a line that is not whole', (bytes) => gzipSync(gunzipSync(bytes).subarray(0, 2_000))],
    ];
    // What is read is the same bytes on S3: one of them is enough there.
    test.each(placeName === 'S3' ? damages.slice(0, 1) : damages)(
      'a damaged index gives no wrong answer: %s',
      async (_name, damage) => {
        await writeLedger();
        await ask();
        const whole = Buffer.from((await place.store.get(january))!.bytes);
        await place.store.put(january, damage(Buffer.from(whole)));
        expect(await ask()).toEqual({ fromIndex: 80, fetched: 80 });
        expect(await ask()).toEqual({ fromIndex: 160, fetched: 0 });
      },
    );

    test('an index that cannot be written is no failure', async () => {
      await writeLedger();
      const { store } = place;
      const fails = { ...store, put: () => Promise.reject(new DataError('no', 'read only')) };
      place = { store: fails, drop: async () => {} };
      expect(await ask()).toEqual({ fromIndex: 0, fetched: 160 });
    });

    test('a receipt that cannot be read is named, the others are read', async () => {
      await writeLedger();
      await place.store.put(receiptKey(day(7)), Buffer.from('{"receiptVersion":1,'));
      await place.store.put(receiptKey(day(8)), Buffer.from('{"receiptVersion":9}'));
      const answer = await readLedger({
        store: place.store,
        job: JOB,
        dates: datesBetween(FROM, addDays(FROM, 4)),
        writeIndex: true,
        log: silentLog,
        project: () => true,
      });
      expect(answer.receipts.size).toBe(158);
      expect(answer.damaged.map(({ day, error }) => [day.vessel, error.code]).sort()).toEqual([
        [VESSELS[7], 'damaged-file'],
        [VESSELS[8], 'unknown-receipt-version'],
      ]);
    });
  },
);
