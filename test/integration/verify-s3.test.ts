/** Verify on a real S3 server: objects are read by ranges, and for a deep verify through a temp folder. */

import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { VesselDay } from '../../src/core/model/index.ts';
import { detailKey, objectKey, receiptKey } from '../../src/lake/keys.ts';

import { openStore } from '../../src/store/open-store.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import {
  addOddReadings,
  EMPTY,
  exportAuditLake,
  MEASURED,
  refuseWrites,
  runVerify,
  SNAPSHOT,
  startAuditService,
  WINDOWS,
} from '../audit/verify/audit-lake.ts';
import { serviceNames } from '../helpers/lake.ts';
import type { TestService } from '../helpers/run.ts';
import { DATE, OTHER_VESSEL, VESSEL } from '../helpers/run.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { awsEnv } from '../helpers/s3-client.ts';
import { newTempFolder } from '../helpers/temp.ts';

const s3 = await s3ForTests();

describe.skipIf(s3 === undefined)('on S3', () => {
  let service: TestService;
  let lakeUrl: string;
  let env: Record<string, string>;
  let store: ObjectStore;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    service = await startAuditService();
    const names = await serviceNames(service, [`flat/${VESSEL}/*`]);
    addOddReadings(service, [...names.keys()].sort().slice(0, 4));
    const bucket = await s3!.newBucket();
    drop = bucket.drop;
    lakeUrl = `s3://${bucket.bucket}/lake`;
    env = awsEnv(s3!);
    store = await openStore(lakeUrl, env);
    // One part: S3 refuses small ones before the last.
    await exportAuditLake(service, { lakeUrl, env, sizes: { rowGroupRows: 400, partBytes: 5 << 20 } });
  });
  afterAll(async () => {
    await store.close();
    await service.close();
    await drop();
  });

  test('a sound lake gives no finding, and the temp folder is empty afterwards', async () => {
    await using temp = await newTempFolder();
    const seen: string[] = [];
    const wrapStore = (plain: ObjectStore): ObjectStore => ({
      ...refuseWrites(plain),
      getRange: async (...range) => {
        seen.push(...(await readdir(temp.path)));
        return plain.getRange(...range);
      },
    });
    const deep = { service, deep: true, env: { ...env, TEMP_DIR: temp.path }, wrapStore };
    const { code, result } = await runVerify({ lakeUrl, ...deep });
    expect(result.findings).toEqual([]);
    expect({ code, ...result }).toMatchObject({ code: 0, vesselDays: 5, withFindings: 0, warnings: [] });
    expect(seen.some((name) => name.startsWith('vessel-export-verify-'))).toBe(true);
    expect(await readdir(temp.path)).toEqual([]);
  });

  test('a service that fails leaves the temp folder empty too', async () => {
    await using temp = await newTempFolder();
    service.faults = ({ family }) => (family === 'statistics' ? { kind: 'status', status: 500 } : undefined);
    try {
      const deep = { service, deep: true, env: { ...env, TEMP_DIR: temp.path } };
      const { code, found } = await runVerify({ lakeUrl, ...deep });
      expect(code).toBe(1);
      expect(found).toContain(`not-verified measurements/${DATE}`);
      expect(await readdir(temp.path)).toEqual([]);
    } finally {
      service.faults = undefined;
    }
  });

  const DAMAGES: readonly [
    what: string,
    name: string,
    day: VesselDay,
    act: (day: VesselDay) => Promise<void>,
  ][] = [
    [
      'a flipped bit',
      'checksum-differs',
      MEASURED,
      (day) => change(objectKey(day), (bytes) => bytes.with(700, bytes[700]! ^ 1)),
    ],
    [
      'a truncated object',
      'size-differs',
      MEASURED,
      (day) => change(objectKey(day), (bytes) => bytes.subarray(1)),
    ],
    ['a missing object', 'object-missing', WINDOWS, (day) => store.remove(objectKey(day))],
    ['a missing receipt', 'receipt-missing', SNAPSHOT, (day) => store.remove(receiptKey(day))],
    [
      'an orphan',
      'receipt-missing',
      { ...EMPTY, vessel: OTHER_VESSEL },
      (day) => store.put(objectKey(day), Buffer.from('PAR1')),
    ],
    ['a missing detail', 'detail-missing', EMPTY, (day) => store.remove(detailKey(day))],
    ['a damaged receipt', 'receipt-damaged', EMPTY, (day) => store.put(receiptKey(day), Buffer.from('null'))],
  ];

  async function change(key: string, how: (bytes: Uint8Array) => Uint8Array): Promise<void> {
    await store.put(key, how((await store.get(key))!.bytes));
  }

  test.for(DAMAGES)('%s is found in the bucket', async ([, name, day, act]) => {
    const keys = [objectKey(day), receiptKey(day), detailKey(day)];
    const before = await Promise.all(keys.map(async (key) => (await store.get(key))?.bytes));
    await act(day);
    try {
      const { found } = await runVerify({ lakeUrl, env, wrapStore: refuseWrites });
      expect(found).toEqual([`${name} ${day.job}/${day.date}`]);
    } finally {
      for (const [i, key] of keys.entries()) {
        const bytes = before[i];
        await (bytes === undefined ? store.remove(key) : store.put(key, bytes));
      }
    }
  });

  test('an upload under way is a warning', async () => {
    const upload = await store.begin(objectKey(EMPTY), 'verify-nonce');
    const { code, result } = await runVerify({ lakeUrl, env });
    await store.abandon(upload);
    expect({ code, ...result }).toMatchObject({
      code: 0,
      warnings: [{ code: 'unfinished', date: EMPTY.date }],
    });
  });
});
