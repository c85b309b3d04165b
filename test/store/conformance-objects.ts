import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { DataError, FatalError } from '../../src/core/errors.ts';
import { MAX_WHOLE_BYTES, type ObjectStore } from '../../src/store/store.ts';
import { bytes, collect, expectFault, keysOf, type StoreSuite, textOf } from './store-suite.ts';

const WRONG_KEYS = [
  ...['', '/a', 'a/', 'a//b', '../a', 'a/../b', '.', 'a/.hidden', 'a\\b'],
  ...['a\u0000b', 'a\nb', 'a\u202eb', '\ud800', 'x'.repeat(181), 'x/'.repeat(451)],
];

/** Whole objects: get, put, put-if-absent, remove. */
export function describeObjects(suite: StoreSuite): void {
  describe('objects', () => {
    test('answers undefined where there is no object', async () => {
      const key = `${suite.newFolder()}/none`;
      expect(await suite.store.get(key)).toBeUndefined();
      expect(await suite.store.head(key)).toBeUndefined();
      expect(await suite.store.getRange(key, 0, 10)).toBeUndefined();
      expect(await suite.store.getRange(key, 3, 3)).toBeUndefined();
    });

    test('gives back what was put, and replaces it', async () => {
      const key = `${suite.newFolder()}/object.json`;
      await suite.store.put(key, bytes('first, longer'));
      expect(await textOf(suite.store, key)).toBe('first, longer');
      await suite.store.put(key, bytes('second'));
      expect(await textOf(suite.open(), key)).toBe('second');
      expect(await suite.store.head(key)).toEqual({ sizeBytes: 6, version: expect.any(String) });
    });

    test('does not read whole what is far larger than what is read whole', async () => {
      const key = `${suite.newFolder()}/large`;
      await suite.store.put(key, new Uint8Array(MAX_WHOLE_BYTES + 1));
      const fault = await expectFault(() => suite.store.get(key), DataError, 'damaged-file');
      expect(fault.message).toContain(`${MAX_WHOLE_BYTES + 1} bytes, expected at most ${MAX_WHOLE_BYTES}`);
      expect(await suite.store.getRange(key, 5, 8)).toHaveLength(3);
    });

    test('keeps an empty object', async () => {
      const key = `${suite.newFolder()}/empty`;
      await suite.store.put(key, bytes(''));
      expect(await textOf(suite.store, key)).toBe('');
      expect(await suite.store.head(key)).toEqual({ sizeBytes: 0, version: expect.any(String) });
      expect(await suite.store.getRange(key, 0, 5)).toHaveLength(0);
    });

    test('reads half-open ranges, as far as the object reaches', async () => {
      const key = `${suite.newFolder()}/digits`;
      await suite.store.put(key, bytes('0123456789'));
      const range = async (from: number, to: number) =>
        Buffer.from((await suite.store.getRange(key, from, to))!).toString();
      expect(await range(0, 4)).toBe('0123');
      expect(await range(4, 5)).toBe('4');
      expect(await range(8, 99)).toBe('89');
      expect(await range(10, 12)).toBe('');
      expect(await range(5, 5)).toBe('');
    });

    test('removes an object, and again without complaint', async () => {
      const key = `${suite.newFolder()}/a/b/object`;
      await suite.store.put(key, bytes('x'));
      await suite.store.remove(key);
      expect(await suite.store.get(key)).toBeUndefined();
      await suite.store.remove(key);
    });

    test('keeps keys with =, blanks and letters of any script apart', async () => {
      const folder = suite.newFolder();
      const names = [
        'date=2026-01-05',
        'date=2026-01-05 ',
        'Maschine Öl',
        'Maschine Ol',
        '船',
        '+%2F&?#',
        "a'b",
      ];
      for (const name of names) await suite.store.put(`${folder}/${name}/x.json`, bytes(name));
      for (const name of names) expect(await textOf(suite.open(), `${folder}/${name}/x.json`)).toBe(name);
      expect((await keysOf(suite.store, `${folder}/`)).length).toBe(names.length);
    });

    test('refuses keys that could leave the lake, in every call', async () => {
      for (const key of WRONG_KEYS) {
        const upload = { key, uploadId: 'none', nonce: 'none' };
        const calls: (() => Promise<unknown>)[] = [
          () => suite.store.get(key),
          () => suite.store.getRange(key, 0, 1),
          () => suite.store.head(key),
          () => suite.store.put(key, bytes('x')),
          () => suite.store.putIfAbsent(key, bytes('x')),
          () => suite.store.putIf(key, bytes('x'), null),
          () => suite.store.putIf(key, bytes('x'), 'some version'),
          () => suite.store.remove(key),
          () => suite.store.removeAll([key, 'another']),
          () => suite.store.removeAll([], [key]),
          () => suite.store.removeIf(key, 'some version'),
          () => suite.store.begin(key, randomUUID()),
          () => suite.store.append(upload, 1, bytes('x')),
          () => suite.store.adopt(upload, [], randomUUID()),
          () => suite.store.publish(upload, []),
          () => suite.store.publishedBy(upload, []),
          () => suite.store.abandon(upload),
        ];
        for (const call of calls) await expectFault(call, FatalError, 'bad-key');
      }
    });

    test('refuses a nonce that is not a plain name', async () => {
      const key = `${suite.newFolder()}/day`;
      for (const nonce of ['', 'a/b', '..', 'a.b', 'x'.repeat(65)]) {
        await expectFault(() => suite.store.begin(key, nonce), FatalError, 'bad-key');
      }
    });

    test('shows a reader the old or the new object, never a part of one', async () => {
      const key = `${suite.newFolder()}/object`;
      const sizeBytes = 1 << 20;
      const versions = ['a', 'b'].map((letter) => Buffer.alloc(sizeBytes, letter));
      await suite.store.put(key, versions[0]!);
      let writing = true;
      const write = async () => {
        for (let round = 0; round < 20; round++) await suite.store.put(key, versions[round % 2]!);
        writing = false;
      };
      const read = async (reader: ObjectStore) => {
        while (writing) {
          const found = Buffer.from((await reader.get(key))!.bytes);
          expect(versions.some((version) => version.equals(found))).toBe(true);
          expect(await reader.head(key)).toEqual({ sizeBytes, version: expect.any(String) });
        }
      };
      await Promise.all([write(), read(suite.open()), read(suite.open())]);
    });

    test('survives writers and removers in the same folders', async () => {
      const folder = suite.newFolder();
      const churn = async (name: string) => {
        const own = suite.open();
        for (let round = 0; round < 15; round++) {
          const key = `${folder}/deep/er/${name}`;
          expect(await own.putIfAbsent(key, bytes(name))).toBe(true);
          expect(await textOf(own, key)).toBe(name);
          await own.remove(key);
        }
      };
      await Promise.all(['a', 'b', 'c', 'd'].map(churn));
      expect(await keysOf(suite.store, folder)).toEqual([]);
    });
  });

  describe('put if absent', () => {
    test('writes only where there is nothing', async () => {
      const key = `${suite.newFolder()}/claim`;
      expect(await suite.store.putIfAbsent(key, bytes('mine'))).toBe(true);
      expect(await suite.open().putIfAbsent(key, bytes('theirs'))).toBe(false);
      expect(await textOf(suite.store, key)).toBe('mine');
    });

    test('calls its own bytes a success, so that it can be repeated', async () => {
      const key = `${suite.newFolder()}/claim`;
      expect(await suite.store.putIfAbsent(key, bytes('mine'))).toBe(true);
      expect(await suite.open().putIfAbsent(key, bytes('mine'))).toBe(true);
    });

    test('lets exactly one of twenty racers win', async () => {
      const stores = [suite.store, suite.open(), suite.open(), suite.open()];
      for (let round = 0; round < 5; round++) {
        const key = `${suite.newFolder()}/claim`;
        const racers = Array.from({ length: 20 }, (_, i) => `racer ${i}`);
        const won = await Promise.all(
          racers.map((racer, i) => stores[i % 4]!.putIfAbsent(key, bytes(racer))),
        );
        expect(won.filter(Boolean)).toHaveLength(1);
        expect(await textOf(suite.store, key)).toBe(racers[won.indexOf(true)]);
      }
    });
  });
  describe('put if a version is there', () => {
    test('replaces the version that was read, and tells the next one', async () => {
      const key = `${suite.newFolder()}/receipt`;
      const first = await suite.store.putIf(key, bytes('one'), null);
      expect((await suite.store.get(key))!.version).toBe(first);
      const second = await suite.open().putIf(key, bytes('two'), first!);
      expect(second).toBeDefined();
      expect(second).not.toBe(first);
      expect((await suite.store.head(key))!.version).toBe(second);
      expect((await collect(suite.store.list(key)))[0]!.tag).toBe(second);
      expect(await textOf(suite.store, key)).toBe('two');
    });

    test('leaves alone what is another version, or nothing', async () => {
      const key = `${suite.newFolder()}/receipt`;
      const first = (await suite.store.putIf(key, bytes('one'), null))!;
      await suite.store.putIf(key, bytes('two'), first);
      expect(await suite.open().putIf(key, bytes('late'), first)).toBeUndefined();
      expect(await suite.store.putIf(key, bytes('late'), null)).toBeUndefined();
      expect(await textOf(suite.store, key)).toBe('two');
      await suite.store.remove(key);
      expect(await suite.store.putIf(key, bytes('late'), first)).toBeUndefined();
      expect(await suite.store.get(key)).toBeUndefined();
    });

    test('calls its own bytes a success, so that it can be repeated', async () => {
      const key = `${suite.newFolder()}/receipt`;
      const first = (await suite.store.putIf(key, bytes('one'), null))!;
      const second = await suite.store.putIf(key, bytes('two'), first);
      expect(await suite.open().putIf(key, bytes('two'), first)).toBe(second);
    });

    test('lets exactly one of twenty racers replace a version', async () => {
      const stores = [suite.store, suite.open(), suite.open(), suite.open()];
      const key = `${suite.newFolder()}/receipt`;
      let version = (await suite.store.putIf(key, bytes('first'), null))!;
      for (let round = 0; round < 5; round++) {
        const racers = Array.from({ length: 20 }, (_, i) => `round ${round} racer ${i}`);
        const won = await Promise.all(
          racers.map((racer, i) => stores[i % 4]!.putIf(key, bytes(racer), version)),
        );
        expect(won.filter((each) => each !== undefined)).toHaveLength(1);
        const winner = won.findIndex((each) => each !== undefined);
        expect(await textOf(suite.store, key)).toBe(racers[winner]);
        version = won[winner]!;
      }
    });

    test('removes a version, several objects, and nothing else', async () => {
      const folder = suite.newFolder();
      const keys = ['a', 'b', 'c ö=1', 'd'].map((name) => `${folder}/${name}`);
      for (const key of keys) await suite.store.put(key, bytes(key));
      const { version } = (await suite.store.head(keys[3]!))!;
      await suite.store.put(keys[3]!, bytes('newer'));
      expect(await suite.store.removeIf(keys[3]!, version)).toBe(false);
      expect(await suite.store.removeIf(`${folder}/none`, version)).toBe(false);
      await suite.open().removeAll([keys[0]!, `${folder}/none`, `${folder}/no/one`], keys.slice(1, 3));
      await suite.store.removeAll([], [`${folder}/none`, keys[1]!]);
      await suite.store.removeAll([]);
      expect(await keysOf(suite.store, folder)).toEqual([keys[3]]);
      expect(await suite.store.removeIf(keys[3]!, (await suite.store.head(keys[3]!))!.version)).toBe(true);
      expect(await keysOf(suite.store, folder)).toEqual([]);
    });
  });
}
