import { afterEach, beforeEach, expect, test } from 'vitest';
import { FencedError } from '../../src/errors.ts';
import type { EncodedRowGroup, VesselDay } from '../../src/model/index.ts';
import { objectKey } from '../../src/model/index.ts';
import type { PartUploadOptions } from '../../src/publish/parts.ts';
import { createPartUpload, sha256Hex } from '../../src/publish/parts.ts';
import { createLocalStore } from '../../src/store/local.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import type { TempFolder } from '../helpers/temp.ts';
import { newTempFolder } from '../helpers/temp.ts';

const day: VesselDay = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
let folder: TempFolder;
let store: ObjectStore;
let nonces = 0;

beforeEach(async () => {
  folder = await newTempFolder();
  store = createLocalStore(folder.path);
});
afterEach(async () => {
  await store.close();
  await folder.remove();
});

function open(over: Partial<PartUploadOptions> = {}) {
  const sizes = { rowGroupRows: 10, partBytes: 100 };
  const nonce = () => `nonce-${nonces++}`;
  return createPartUpload({ store, day, sizes, nonce, fence: async () => {}, ...over });
}

function group(bytes: number, letter: string): EncodedRowGroup {
  const body = Buffer.alloc(bytes, letter);
  return { body, footer: Buffer.from(`footer ${letter}`), rows: bytes, minMicros: 0, maxMicros: 1, runs: [] };
}

async function openUploads(): Promise<string[]> {
  const found: string[] = [];
  for await (const { uploadId } of store.listUploads('')) found.push(uploadId);
  return found;
}

test('row groups are gathered until a part is full, and nothing is asked of the store before', async () => {
  const parts = open();
  expect(await parts.append(group(60, 'a'))).toBe(false);
  expect([parts.upload, await openUploads()]).toEqual([undefined, []]);
  expect(await parts.append(group(60, 'b'))).toBe(true);
  expect(parts.parts.map(({ partNumber, sizeBytes }) => [partNumber, sizeBytes])).toEqual([[1, 124]]);
});

test('the finished object is magic, bodies and footer in order', async () => {
  const parts = open();
  await parts.append(group(120, 'a'));
  await parts.append(group(30, 'b'));
  await parts.finish(Buffer.from('the end'));
  await store.completeUpload(parts.upload!, parts.parts);
  const { bytes } = (await store.get(objectKey(day)))!;
  const expected = Buffer.from(`PAR1${'a'.repeat(120)}${'b'.repeat(30)}the end`);
  expect(Buffer.compare(bytes, expected)).toBe(0);
  expect(parts.parts.map(({ sha256 }) => sha256)).toEqual([
    sha256Hex(expected.subarray(0, 124)),
    sha256Hex(expected.subarray(124)),
  ]);
});

test('an adopted upload goes on behind its last part', async () => {
  const first = open();
  await first.append(group(120, 'a'));
  const upload = (await store.adoptUpload(first.upload!, first.parts, `nonce-${nonces++}`))!;
  const rowGroups = first.groups.map((one) => ({
    ...one,
    footer: Buffer.from(one.footer).toString('base64'),
  }));
  const checkpoint = { parts: first.parts, rowGroups } as never;
  const second = open({ resume: { upload, checkpoint } });
  expect(Buffer.from(second.groups[0]!.footer).toString()).toBe('footer a');
  await second.append(group(110, 'b'));
  await second.finish(Buffer.from('the end'));
  await store.completeUpload(second.upload!, second.parts);
  const { bytes } = (await store.get(objectKey(day)))!;
  expect(Buffer.from(bytes).toString()).toBe(`PAR1${'a'.repeat(120)}${'b'.repeat(110)}the end`);
});

test('I6: whatever is open under the key goes before an upload is made, and nothing else does', async () => {
  await store.createUpload(objectKey(day), 'left-behind-1');
  const other = await store.createUpload(`${objectKey(day)}-of-another`, 'left-alone');
  const parts = open();
  await parts.append(group(120, 'a'));
  expect((await openUploads()).sort()).toEqual([other.uploadId, parts.upload!.uploadId].sort());
});

test('I5: an overtaken attempt sends no part and opens no upload', async () => {
  const fence = async () => {
    throw new FencedError('fenced', 'overtaken');
  };
  const parts = open({ fence });
  await expect(parts.append(group(120, 'a'))).rejects.toThrow(FencedError);
  expect(await openUploads()).toEqual([]);
});
