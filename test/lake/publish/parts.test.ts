import { hash } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { type EncodedRowGroup, NO_RUNS, type VesselDay } from '../../../src/core/model/index.ts';
import { objectKey } from '../../../src/lake/keys.ts';
import { createPartUpload } from '../../../src/lake/publish/parts.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';

const day: VesselDay = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
let store: ObjectStore;
let nonces = 0;

beforeEach(() => {
  store = createMemoryStore();
});

function open(over: Partial<Parameters<typeof createPartUpload>[0]> = {}) {
  const sizes = { rowGroupRows: 10, partBytes: 100 };
  const nonce = () => `nonce-${nonces++}`;
  return createPartUpload({ store, day, sizes, nonce, layout: 'plain', ...over });
}

function group(bytes: number, letter: string): EncodedRowGroup {
  const body = Buffer.alloc(bytes, letter);
  return {
    body,
    tail: Buffer.from(`footer ${letter}`),
    rows: bytes,
    minMicros: 0,
    maxMicros: 1,
    runs: { ids: [], ...NO_RUNS },
    values: [],
  };
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
  await store.publish(parts.upload!, parts.parts);
  const { bytes } = (await store.get(objectKey(day)))!;
  const expected = Buffer.from(`PAR1${'a'.repeat(120)}${'b'.repeat(30)}the end`);
  expect(Buffer.compare(bytes, expected)).toBe(0);
  expect(parts.parts.map(({ sha256 }) => sha256)).toEqual([
    hash('sha256', expected.subarray(0, 124)),
    hash('sha256', expected.subarray(124)),
  ]);
});

test('an adopted upload goes on behind its last part', async () => {
  const first = open();
  await first.append(group(120, 'a'));
  const upload = (await store.adopt(first.upload!, first.parts, `nonce-${nonces++}`))!;
  const checkpoint = { parts: first.parts, rowGroups: first.groups } as never;
  const second = open({ resume: { upload, checkpoint } });
  expect(Buffer.from(second.groups[0]!.tail).toString()).toBe('footer a');
  await second.append(group(110, 'b'));
  await second.finish(Buffer.from('the end'));
  await store.publish(second.upload!, second.parts);
  const { bytes } = (await store.get(objectKey(day)))!;
  expect(Buffer.from(bytes).toString()).toBe(`PAR1${'a'.repeat(120)}${'b'.repeat(110)}the end`);
});
