import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { FatalError } from '../../src/core/errors.ts';
import type { UploadRef } from '../../src/store/store.ts';
import { bytes, collect, expectFault, inParallel, keysOf, type StoreSuite } from './store-suite.ts';

/** Lists of objects and of open uploads. */
export function describeLists(suite: StoreSuite): void {
  describe('lists', () => {
    test('lists what begins with the prefix, with size and time', async () => {
      const folder = suite.newFolder();
      for (const key of ['day=1/a', 'day=1/b/c', 'day=10/a', 'day=2/a'])
        await suite.store.put(`${folder}/${key}`, bytes(key));
      const keys = async (prefix: string) =>
        (await keysOf(suite.store, `${folder}/${prefix}`)).map((key) => key.slice(folder.length + 1));
      expect(await keys('day=1')).toEqual(['day=1/a', 'day=1/b/c', 'day=10/a']);
      expect(await keys('day=1/')).toEqual(['day=1/a', 'day=1/b/c']);
      expect(await keys('day=1/b')).toEqual(['day=1/b/c']);
      expect(await keys('day=1/b/c')).toEqual(['day=1/b/c']);
      expect(await keys('day=1/b/c/')).toEqual([]);
      expect(await keys('none/')).toEqual([]);
      const [first] = await collect(suite.store.list(`${folder}/`));
      const found = { modifiedMs: expect.any(Number), tag: expect.any(String) };
      expect(first).toEqual({ key: `${folder}/day=1/a`, sizeBytes: 7, ...found });
      expect(first!.modifiedMs).toBeGreaterThan(Date.UTC(2020));
    });

    test('the tag of an object stays until other bytes are written', async () => {
      const key = `${suite.newFolder()}/a`;
      const tag = async () => (await collect(suite.open().list(key)))[0]!.tag;
      const seen = new Set<string>();
      for (const text of ['one', 'two', 'six']) {
        await suite.store.put(key, bytes(text));
        const first = await tag();
        expect(await tag()).toBe(first);
        seen.add(first);
      }
      expect(seen.size).toBe(3);
    });

    test('lists in the order of the UTF-8 bytes, also where a folder and a file share a beginning', async () => {
      const folder = suite.newFolder();
      const names = ['a-', 'a/b', 'a/b-', 'a.b', 'a=1/x', 'aa', 'B', '~', 'é', '\uff5e', '\u{1d4b3}'];
      for (const name of names) await suite.store.put(`${folder}/${name}`, bytes('x'));
      const expected = names
        .map((name) => Buffer.from(`${folder}/${name}`))
        .sort(Buffer.compare)
        .map(String);
      expect(await keysOf(suite.store, folder)).toEqual(expected);
    });

    test('lists more objects than a page holds, each once and in order', async () => {
      const folder = suite.newFolder();
      const keys = Array.from(
        { length: suite.place.manyObjects ?? 1003 },
        (_, i) => `${folder}/f${i % 7}/${String(i).padStart(4, '0')}`,
      );
      await inParallel(keys, 16, (key) => suite.store.put(key, bytes('x')));
      expect(await keysOf(suite.open(), `${folder}/`)).toEqual([...keys].sort());
    });

    test('refuses a prefix that is no beginning of a key', async () => {
      for (const prefix of ['/', '../', 'a//', 'a/.b']) {
        await expectFault(() => collect(suite.store.list(prefix)), FatalError, 'bad-key');
        await expectFault(() => collect(suite.store.listUploads(prefix)), FatalError, 'bad-key');
      }
    });

    test('lists open uploads, apart from objects', async () => {
      const folder = suite.newFolder();
      const uploads: UploadRef[] = [];
      for (const key of ['v=1/day', 'v=1/day', 'v=1/night', 'v=2/day', 'w/day']) {
        const upload = await suite.store.begin(`${folder}/${key}`, randomUUID());
        await suite.store.append(upload, 1, bytes('x'));
        uploads.push(upload);
      }
      expect(await keysOf(suite.store, folder)).toEqual([]);

      const other = suite.open();
      const idsOf = async (prefix: string) =>
        (await collect(other.listUploads(`${folder}/${prefix}`)))
          .map(({ key, uploadId }) => `${key} ${uploadId}`)
          .sort();
      const expected = (some: readonly UploadRef[]) =>
        some.map(({ key, uploadId }) => `${key} ${uploadId}`).sort();
      expect(await idsOf('')).toEqual(expected(uploads));
      expect(await idsOf('v=1/day')).toEqual(expected(uploads.slice(0, 2)));
      expect(await idsOf('v=')).toEqual(expected(uploads.slice(0, 4)));
      for (const upload of await collect(other.listUploads(`${folder}/`))) {
        expect(upload.startedMs).toBeGreaterThan(Date.UTC(2020));
        await other.abandon(upload);
      }
      expect(await idsOf('')).toEqual([]);
    });
  });
}
