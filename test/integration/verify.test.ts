/** Verify on a local lake: each kind of damage is found by its name and by nothing else; a sound lake gives none. */

import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { VesselDay } from '../../src/core/model/index.ts';
import { claimKey, indexKey, objectKey, receiptKey } from '../../src/lake/keys.ts';

import type { ObjectStore } from '../../src/store/store.ts';
import {
  addOddReadings,
  copyLake,
  EMPTY,
  edit,
  editReceipt,
  exportAuditLake,
  JOBS,
  MEASURED,
  refuseWrites,
  runVerify,
  startAuditService,
  TO,
  WINDOWS,
} from '../audit/verify/audit-lake.ts';
import { duckRows, lakeFiles, receiptOf, serviceNames } from '../helpers/lake.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import { callCli, newLake, OTHER_VESSEL, VESSEL, writeJobs } from '../helpers/run.ts';

let service: TestService;
let sound: TestLake;

beforeAll(async () => {
  service = await startAuditService();
  const names = await serviceNames(service, [`flat/${VESSEL}/*`]);
  addOddReadings(service, [...names.keys()].sort().slice(0, 4));
  sound = await newLake();
  await exportAuditLake(service, { lakeUrl: sound.url });
});
afterAll(async () => {
  await service.close();
  await sound[Symbol.asyncDispose]();
});

describe('a sound lake', () => {
  test('gives no finding, with every kind of day in it', async () => {
    const { code, found, result } = await runVerify({ lakeUrl: sound.url });
    expect(found).toEqual([]);
    expect({ code, ...result }).toMatchObject({ code: 0, vesselDays: 5, withFindings: 0, warnings: [] });
    expect((await receiptOf(sound.dir, MEASURED))!.object!.parts.length).toBeGreaterThan(2);
    expect(await receiptOf(sound.dir, EMPTY)).toMatchObject({ rows: 0, object: null });
  });

  test('is not written to, and its service is not asked for readings', async () => {
    const before = await stamps(sound.dir);
    const asked = service.requests.length;
    const options = { lakeUrl: sound.url, wrapStore: refuseWrites };
    expect((await runVerify({ ...options, service, deep: true })).code).toBe(0);
    expect((await runVerify(options)).code).toBe(0);
    expect(await stamps(sound.dir)).toEqual(before);
    const families = new Set(service.requests.slice(asked).map(({ family }) => family));
    expect([...families].sort()).toEqual(['metadata', 'statistics', 'token']);
  });

  test('is verified without credentials, by the command', async () => {
    const jobsDir = await writeJobs(JOBS);
    const args = ['verify', 'measurements', '--from', MEASURED.date, '--to', EMPTY.date];
    const { code, stdout, stderr } = await callCli(args, { LAKE_URL: sound.url, JOBS_DIR: jobsDir });
    await rm(jobsDir, { recursive: true });
    expect(stderr).toBe('');
    expect(stdout).toMatch(
      /^1 vessel-day verified \(receipts, objects and details; [\d,]+ rows, [\d.]+ kB read\): no findings\n$/,
    );
    expect(code).toBe(0);
  });

  test('may have footers longer than what is read at once', async () => {
    await using lake = await newLake();
    const jobs = { measurements: JOBS.measurements! };
    await exportAuditLake(service, {
      lakeUrl: lake.url,
      jobs,
      sizes: { rowGroupRows: 4, partBytes: 1 << 20 },
    });
    const [[footerBytes]] = (await duckRows(
      `SELECT footer_size FROM parquet_file_metadata('${join(lake.dir, objectKey(MEASURED))}')`,
    )) as [[bigint]];
    expect(Number(footerBytes)).toBeGreaterThan(128 << 10);
    expect((await runVerify({ lakeUrl: lake.url, jobs })).found).toEqual([]);
  });

  test('of another vessel has nothing to verify, which is an error that says what there is', async () => {
    await expect(runVerify({ lakeUrl: sound.url, vessel: [OTHER_VESSEL] })).rejects.toMatchObject({
      code: 'nothing-to-verify',
      message: expect.stringMatching(
        new RegExp(
          `vessel ${OTHER_VESSEL} is in the lake; the lake has .*measurements: 1 vessel, 2026-01-05 to`,
        ),
      ),
    });
    await expect(
      runVerify({ lakeUrl: sound.url, jobs: { other: JOBS.measurements! } }),
    ).rejects.toMatchObject({
      code: 'nothing-to-verify',
      message: expect.stringContaining('nothing of job other is in the lake; the lake has measurements: 1'),
    });
  });

  test('is verified whole without dates, which are said', async () => {
    const whole = { lakeUrl: sound.url, whole: true };
    expect(await runVerify(whole)).toMatchObject({
      code: 0,
      result: { from: MEASURED.date, to: TO, vesselDays: 5, withFindings: 0, unknownJobs: [] },
    });
    const { statistics, ...rest } = JOBS;
    expect(await runVerify({ ...whole, jobs: rest })).toMatchObject({
      code: 0,
      result: { vesselDays: 3, unknownJobs: ['statistics'] },
    });
    const jobsDir = await writeJobs(rest);
    const { code, stdout } = await callCli(['verify'], { LAKE_URL: sound.url, JOBS_DIR: jobsDir });
    await rm(jobsDir, { recursive: true });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^3 vessel-days verified .*: no findings\n/);
    expect(stdout).toContain(`${MEASURED.date} to ${TO} (no dates given: the whole lake)\n`);
    expect(stdout).toContain('not verified, since no job file is named so: statistics\n');
  });

  test('of other dates has nothing to verify, which is said beside what there is', async () => {
    const other = { lakeUrl: sound.url, from: '2031-01-01', to: '2031-02-01' };
    expect(await runVerify(other)).toMatchObject({ code: 0, result: { vesselDays: 0, from: '2031-01-01' } });
    const jobsDir = await writeJobs(JOBS);
    const args = ['verify', 'measurements', '--month', '2031-01'];
    const { code, stdout } = await callCli(args, { LAKE_URL: sound.url, JOBS_DIR: jobsDir });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^nothing to verify: .*\nthe lake has .*measurements: 1 vessel, 2026-01-05 to/);
    await using empty = await newLake();
    const nothing = await callCli(['verify'], { LAKE_URL: empty.url, JOBS_DIR: jobsDir });
    await rm(jobsDir, { recursive: true });
    expect(nothing).toMatchObject({ code: 0, stdout: expect.stringContaining('the lake has no receipts\n') });
  });

  test('of one vessel or date is verified alone', async () => {
    expect((await runVerify({ lakeUrl: sound.url, vessel: [VESSEL] })).result.vesselDays).toBe(5);
    expect((await runVerify({ lakeUrl: sound.url, to: EMPTY.date })).result.vesselDays).toBe(3);
  });
});

const flip = (at: (length: number) => number) => (dir: string, day: VesselDay) =>
  edit(dir, objectKey(day), (bytes) => {
    bytes[at(bytes.length)]! ^= 0x10;
    return bytes;
  });

async function put(dir: string, key: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(join(dir, key)), { recursive: true });
  await writeFile(join(dir, key), bytes);
}

test('stray files are found wherever readers would find them, a folder at a time', async () => {
  await using lake = await copyLake(sound.url);
  const bytes = Buffer.from('PAR1PAR1');
  const job = MEASURED.job;
  const far = objectKey({ ...MEASURED, date: '2031-01-01' }).replace('data', 'old');
  const strays = [
    'loose.parquet',
    `vessel=${VESSEL}/a.csv`,
    `vessel=${VESSEL}/b.csv`,
    'vessel=X/date=Y/data.parquet',
  ];
  const skipped = ['_SUCCESS', `vessel=${VESSEL}/_tmp/part-0.parquet`, `vessel=${VESSEL}/.part.crc`];
  for (const key of [...strays, ...skipped]) await put(lake.dir, `${job}/${key}`, bytes);
  await put(lake.dir, far, bytes);
  const { code, result } = await runVerify({ lakeUrl: lake.url });
  expect(result.findings.map(({ code, key, found, expected }) => [code, key, found, expected])).toEqual([
    ['object-stray', job, 'loose.parquet', 'no files'],
    ['object-stray', `${job}/vessel=${VESSEL}`, 'a.csv; b.csv', 'no files'],
    ['object-stray', `${job}/vessel=X/date=Y`, 'data.parquet', 'no files'],
  ]);
  expect({ code, ...result }).toMatchObject({ code: 1, vesselDays: 5, withFindings: 0 });
  const jobsDir = await writeJobs(JOBS);
  const args = ['verify', job, '--from', MEASURED.date, '--to', EMPTY.date];
  const { stdout } = await callCli(args, { LAKE_URL: lake.url, JOBS_DIR: jobsDir });
  await rm(jobsDir, { recursive: true });
  expect(stdout).toContain(`object-stray  ${job}/${VESSEL}\n`);
});

test('a damaged index is no finding: nobody believes it', async () => {
  await using lake = await copyLake(sound.url);
  await put(lake.dir, indexKey(MEASURED.job, MEASURED.date.slice(0, 7)), Buffer.from('junk'));
  expect(await runVerify({ lakeUrl: lake.url })).toMatchObject({ code: 0, found: [] });
});

describe('while days are exported', () => {
  test('a day that is replaced while it is looked at is looked at again', async () => {
    await using lake = await copyLake(sound.url);
    const old = await readFile(join(lake.dir, receiptKey(MEASURED)));
    await editReceipt(lake.dir, MEASURED, ({ object }) => ({
      object: { ...object, parts: object!.parts.toReversed() },
    }));
    let reads = 0;
    // The receipt that fits comes with the second look, as after a publish in between.
    const wrapStore = (store: ObjectStore): ObjectStore => ({
      ...store,
      get: async (key) =>
        key === receiptKey(MEASURED) && ++reads > 1 ? { bytes: old, version: 'old' } : store.get(key),
    });
    const { found, code } = await runVerify({ lakeUrl: lake.url, wrapStore });
    expect({ found, code }).toEqual({ found: [], code: 0 });
  });

  test('a published day whose receipt is about to be written is no finding', async () => {
    await using lake = await copyLake(sound.url);
    const { epoch, finishedAt, ...draft } = (await receiptOf(lake.dir, MEASURED))!;
    const { key, upload: nonce, parts } = draft.object!;
    const refs = parts.map((part, at) => ({ ...part, partNumber: at + 1, tag: 'any' }));
    const sealed = { upload: { key, uploadId: 'completed', nonce }, parts: refs, detail: null, draft };
    const claim = {
      claimVersion: 1,
      epoch: epoch + 1,
      heartbeatMs: Date.parse(finishedAt),
      checkpoint: null,
      sealed,
    };
    await put(lake.dir, claimKey(MEASURED, epoch + 1), Buffer.from(JSON.stringify(claim)));
    await editReceipt(lake.dir, MEASURED, ({ object }) => ({
      object: { ...object, parts: object!.parts.toReversed() },
    }));
    const { found, code, result } = await runVerify({ lakeUrl: lake.url });
    expect({ found, code }).toEqual({ found: [], code: 0 });
    expect(result.warnings).toMatchObject([
      { code: 'unfinished', job: 'measurements', message: expect.stringContaining('publishes it') },
    ]);
    // The claim accounts for its own object only.
    await flip(() => 1_000)(lake.dir, MEASURED);
    expect((await runVerify({ lakeUrl: lake.url })).found).toEqual([
      `checksum-differs measurements/${MEASURED.date}`,
    ]);
  });

  test('claims and uploads are warnings', async () => {
    await using lake = await copyLake(sound.url);
    const claim = { claimVersion: 1, epoch: 5, heartbeatMs: 0, checkpoint: null, sealed: null };
    await put(lake.dir, claimKey(EMPTY, 5), Buffer.from(JSON.stringify(claim)));
    await put(lake.dir, `${dirname(objectKey(MEASURED))}/.data.parquet.some-nonce.upload`, Buffer.alloc(10));
    const { found, code, result } = await runVerify({ lakeUrl: lake.url });
    expect({ found, code }).toEqual({ found: [], code: 0 });
    expect(result.warnings.map(({ code: name, date }) => `${name} ${date}`).sort()).toEqual([
      `unfinished ${MEASURED.date}`,
      `unfinished ${EMPTY.date}`,
    ]);
  });
});

test('a vessel-day that cannot be read is not passed over', async () => {
  const wrapStore = (store: ObjectStore): ObjectStore => ({
    ...store,
    getRange: async (key, from, to) => {
      if (key === objectKey(WINDOWS)) throw new Error('input/output error');
      return store.getRange(key, from, to);
    },
  });
  const { code, found, result } = await runVerify({ lakeUrl: sound.url, wrapStore });
  expect({ code, found }).toEqual({ code: 1, found: [`not-verified statistics/${WINDOWS.date}`] });
  expect(result).toMatchObject({ vesselDays: 4, notVerified: 1, withFindings: 1 });
});

/** Names, sizes and times of every file. */
async function stamps(dir: string): Promise<string[]> {
  const keys = [...(await lakeFiles(dir)).keys()];
  return Promise.all(
    keys.map(async (key) => {
      const { size, mtimeMs, ctimeMs } = await stat(join(dir, key));
      return `${key} ${size} ${mtimeMs} ${ctimeMs}`;
    }),
  );
}
