import {
  chmod,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import { folderStateOf } from '../../../src/store/local/walk.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { newTempFolder, type TempFolder } from '../../helpers/temp.ts';
import { describeStore } from '../conformance.ts';
import { bytes, collect, expectFault, keysOf, textOf } from '../store-suite.ts';

describeStore('local', async () => {
  const temp = await newTempFolder();
  return {
    open: () => createLocalStore(`${temp.path}/lake`),
    minPartBytes: 1000,
    strict: true,
    drop: temp.remove,
  };
});

describe('a local store', () => {
  const key = 'job/day/data.parquet';
  let temp: TempFolder;
  let root: string;
  let store: ObjectStore;

  beforeEach(async () => {
    temp = await newTempFolder();
    root = `${temp.path}/lake`;
    store = createLocalStore(root);
  });
  afterEach(() => temp.remove());

  const filesBelow = async (folder: string) => await readdir(folder, { recursive: true });

  test('is an empty lake before its folder exists', async () => {
    expect(await keysOf(store, '')).toEqual([]);
    expect(await collect(store.listUploads(''))).toEqual([]);
    await store.remove(key);
    expect(await readdir(temp.path)).toEqual([]);
  });

  test('an adopted upload has the rights that this process gives, not those of who began it', async () => {
    await writeFile(`${temp.path}/plain`, '');
    const usual = (await stat(`${temp.path}/plain`)).mode;
    const upload = await store.begin(key, 'begun');
    const part = await store.append(upload, 1, bytes('x'.repeat(1_000)));
    await chmod(`${root}/job/day/.data.parquet.begun.upload`, 0o606);
    const adopted = (await store.adopt(upload, [part], 'adopted'))!;
    await store.publish(adopted, [part]);
    expect((await stat(`${root}/${key}`)).mode).toBe(usual);
  });

  test('the state of a folder is another one after each change of what is in it', async () => {
    const folder = `${root}/a`;
    const probe = `${temp.path}/probe`;
    await writeFile(probe, '');
    const later = () => Date.now() + 3_600_000;
    const seen = new Set<string | undefined>();
    const upload = await store.begin('a/day.parquet', 'n1');
    const part = await store.append(upload, 1, bytes('x'.repeat(1_000)));
    let version: string | undefined;
    const acts: (() => Promise<unknown>)[] = [
      () => store.put('a/1', bytes('x')),
      () => store.put('a/1', bytes('y')),
      async () => {
        version = await store.putIf('a/2', bytes('x'), null);
      },
      () => store.putIf('a/2', bytes('y'), version!),
      () => store.publish(upload, [part]),
      () => store.remove('a/1'),
    ];
    for (const [at, act] of acts.entries()) {
      // Until the file system's clock has gone on.
      const before = (await stat(folder)).ctimeMs;
      while ((await stat(probe)).ctimeMs <= before) await chmod(probe, 0o600);
      await act();
      const state = await folderStateOf(folder, later());
      expect(state).toBeDefined();
      expect(await folderStateOf(folder, later())).toBe(state);
      expect(seen.add(state).size).toBe(at + 1);
    }
    // A folder that is put in its place, and one whose time is set back.
    const { mtime } = await stat(folder);
    await rename(folder, `${folder}-before`);
    await store.put('a/2', bytes('x'));
    await utimes(folder, mtime, mtime);
    expect(seen).not.toContain(await folderStateOf(folder, later()));
  });

  test('the state of a folder says nothing soon after a change, and by a clock that is late', async () => {
    await store.put('a/1', bytes('x'));
    expect(await store.folderState('a/')).toBeUndefined();
    const { ctimeMs } = await stat(`${root}/a`);
    const states = [-3_600_000, 60_000, 121_000].map((ms) => folderStateOf(`${root}/a`, ctimeMs + ms));
    expect(await Promise.all(states)).toEqual([undefined, undefined, expect.any(String)]);
    expect(await store.folderState('none/')).toBeUndefined();
    expect(await store.folderState('a/1/')).toBeUndefined();
    await expect(store.folderState('../')).rejects.toThrow(FatalError);
  });

  test.runIf(process.platform === 'linux')(
    'a file system that may make up times tells no state',
    async () => {
      expect(await folderStateOf('/proc/self', Date.now() + 3_600_000)).toBeUndefined();
    },
  );

  test('names itself by a file URL', () => {
    expect(store.url).toBe(`file://${root}`);
  });

  test('leaves neither temp files nor empty folders', async () => {
    await store.put('a/b/1', bytes('x'));
    await store.putIfAbsent('a/c/2', bytes('x'));
    await store.putIfAbsent('a/c/2', bytes('y'));
    const upload = await store.begin('a/d/e/3', 'n1');
    expect(await filesBelow(`${root}/a/d`)).toEqual(['e', 'e/.3.n1.upload']);
    await store.abandon(upload);
    expect((await filesBelow(root)).sort()).toEqual(['a', 'a/b', 'a/b/1', 'a/c', 'a/c/2']);
    await store.remove('a/b/1');
    expect((await filesBelow(root)).sort()).toEqual(['a', 'a/c', 'a/c/2']);
    await store.remove('a/c/2');
    expect(await readdir(temp.path)).toEqual(['lake']);
    expect(await readdir(root)).toEqual([]);
  });

  test('gives uploads names that readers of Parquet pass over', async () => {
    await store.begin(key, 'n1');
    const [name] = await readdir(`${root}/job/day`);
    expect(name).toMatch(/^\./);
    expect(name).not.toMatch(/\.parquet$/);
  });

  test('keeps what a stale writer has still in flight out of the adopted upload', async () => {
    const upload = await store.begin(key, 'stale');
    const first = await store.append(upload, 1, bytes('first'));
    const inFlight = await open(`${root}/job/day/.data.parquet.stale.upload`, 'r+');
    const successor = createLocalStore(root);
    const adopted = (await successor.adopt(upload, [first], 'successor'))!;
    const second = await successor.append(adopted, 2, bytes(' second'));
    await inFlight.write(bytes('STALE STALE STALE'), 0, 17, 0);
    await successor.publish(adopted, [first, second]);
    await inFlight.write(bytes('STALE STALE STALE'), 0, 17, 0);
    await inFlight.close();
    expect(await textOf(store, key)).toBe('first second');
    expect(await successor.publishedBy(adopted, [first, second])).toBe(true);
  });

  test('lets one of two adopters have the upload', async () => {
    const upload = await store.begin(key, 'stale');
    const first = await store.append(upload, 1, bytes('first'));
    const adopters = ['a', 'b', 'c', 'd'].map((nonce) =>
      createLocalStore(root).adopt(upload, [first], nonce),
    );
    const adopted = (await Promise.all(adopters)).filter((each) => each !== undefined);
    expect(adopted).toHaveLength(1);
    expect(await collect(store.listUploads(''))).toEqual([{ ...adopted[0]!, startedMs: expect.any(Number) }]);
    expect(await readdir(`${root}/job/day`)).toHaveLength(1);
  });

  test('refuses what would break an upload: a nonce used twice, a part out of order, a part of an upload not adopted', async () => {
    const upload = await store.begin(key, 'n1');
    await expectFault(() => store.begin(key, 'n1'), FatalError, 'nonce-reused');
    await expectFault(() => store.append(upload, 2, bytes('x')), FatalError, 'part-order');
    await expectFault(
      () => createLocalStore(root).append(upload, 1, bytes('x')),
      FatalError,
      'upload-not-adopted',
    );
    await expectFault(() => store.adopt(upload, [], 'n1'), FatalError, 'bad-key');
    await expectFault(() => store.abandon({ ...upload, uploadId: '../../x' }), FatalError, 'bad-key');
  });

  test('says where a file stands in the way of a folder, and the other way round', async () => {
    await store.put('a', bytes('x'));
    await store.put('b/c', bytes('x'));
    const fault = await expectFault(() => store.put('a/b', bytes('x')), FatalError, 'key-conflict');
    expect(fault.message).toContain(`${root}/a/b`);
    await expectFault(() => store.put('b', bytes('x')), FatalError, 'key-conflict');
    expect(await store.head('b')).toBeUndefined();
    expect(await filesBelow(root)).not.toContainEqual(expect.stringMatching(/\.put$/));
  });

  test('reads, replaces and fills up no link in the place of an object, where it leads or nowhere', async () => {
    await store.put('object', bytes('x'));
    await writeFile(`${root}/.outside`, 'another file');
    await symlink(`${root}/.outside`, `${root}/there`);
    await symlink('/nonexistent/x', `${root}/nowhere`);
    for (const key of ['there', 'nowhere']) {
      await expectFault(() => store.get(key), FatalError, 'key-conflict');
      await expectFault(() => store.getRange(key, 0, 1), FatalError, 'key-conflict');
      expect(await store.head(key)).toBeUndefined();
      for (const expected of [null, 'a version'])
        await expectFault(() => store.putIf(key, bytes('x'), expected), FatalError, 'key-conflict');
    }
    expect(await readFile(`${root}/.outside`, 'utf8')).toBe('another file');
  });

  test('passes over hidden files and links of others', async () => {
    await store.put('a/object', bytes('x'));
    await writeFile(`${root}/a/.DS_Store`, 'x');
    await mkdir(`${root}/.git`);
    await writeFile(`${root}/.git/config`, 'x');
    await symlink('..', `${root}/a/loop`);
    expect(await keysOf(store, '')).toEqual(['a/object']);
    expect(await collect(store.listUploads(''))).toEqual([]);
  });
});
