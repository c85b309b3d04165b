import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import { mountSmallDisk } from '../../helpers/small-disk.ts';
import { newTempFolder, type TempFolder } from '../../helpers/temp.ts';
import { bytes, expectFault, textOf } from '../store-suite.ts';

const KEY = 'job/day/data.parquet';
const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));
const NOBODY = 65534;
const tooMuch = Buffer.alloc(2 << 20);

const smallDisk = await mountSmallDisk();
afterAll(() => smallDisk?.remove());

describe.skipIf(smallDisk === undefined)('a local store on a full disk', () => {
  let cases = 0;
  let root: string;
  beforeEach(() => {
    root = `${smallDisk!.path}/lake-${++cases}`;
  });

  test('keeps the old object and gives the space back when a put does not fit', async () => {
    const store = createLocalStore(root);
    await store.put(KEY, bytes('old'));
    const fault = await expectFault(() => store.put(KEY, tooMuch), FatalError, 'disk-full');
    expect(fault.message).toContain(`${root}/${KEY}`);
    expect(fault.message).toContain('Free space');
    await expectFault(() => store.putIfAbsent('job/day/other', tooMuch), FatalError, 'disk-full');
    expect(await textOf(store, KEY)).toBe('old');
    expect(await readdir(`${root}/job/day`)).toEqual(['data.parquet']);
    await store.put(KEY, bytes('new'));
    expect(await textOf(store, KEY)).toBe('new');
  });

  test('keeps an upload usable when a part does not fit', async () => {
    const store = createLocalStore(root);
    await store.put(KEY, bytes('old'));
    const upload = await store.begin(KEY, 'n1');
    const first = await store.append(upload, 1, bytes('first'));
    await expectFault(() => store.append(upload, 2, tooMuch), FatalError, 'disk-full');
    expect(await textOf(store, KEY)).toBe('old');
    await store.put('other', Buffer.alloc(300 << 10)); // The space is free again.
    await store.remove('other');
    const second = await store.append(upload, 2, bytes(' second'));
    await store.publish(upload, [first, second]);
    expect(await textOf(store, KEY)).toBe('first second');
  });

  test('keeps the predecessor’s upload when the copy of the successor does not fit', async () => {
    const store = createLocalStore(root);
    const upload = await store.begin(KEY, 'n1');
    const first = await store.append(upload, 1, Buffer.alloc(600 << 10, 'x'));
    const successor = createLocalStore(root);
    await expectFault(() => successor.adopt(upload, [first], 'n2'), FatalError, 'disk-full');
    expect(await readdir(`${root}/job/day`)).toEqual(['.data.parquet.n1.upload']);
    await successor.publish(upload, [first]);
    expect(await store.head(KEY)).toEqual({ sizeBytes: 600 << 10, version: expect.any(String) });
    await store.remove(KEY);
  });

  test('says that a file system is read-only', async () => {
    const store = createLocalStore(root);
    await store.put(KEY, bytes('old'));
    execFileSync('mount', ['-o', 'remount,ro', smallDisk!.path]);
    try {
      const calls = [
        () => store.put(KEY, bytes('new')),
        () => store.putIfAbsent('x', bytes('new')),
        () => store.begin(KEY, 'n1'),
        () => store.remove(KEY),
      ];
      for (const call of calls) await expectFault(call, FatalError, 'read-only');
      expect(await textOf(store, KEY)).toBe('old');
    } finally {
      execFileSync('mount', ['-o', 'remount,rw', smallDisk!.path]);
    }
  });
});

describe('a local store that may not write', () => {
  let temp: TempFolder;
  let root: string;
  beforeEach(async () => {
    temp = await newTempFolder();
    root = `${temp.path}/lake`;
    await mkdir(root);
  });
  afterEach(() => temp.remove());

  test('says which path lacks permission, and for whom', async () => {
    await chmod(temp.path, 0o755);
    await chmod(root, 0o555);
    const store = createLocalStore(root);
    const isRoot = process.getuid!() === 0;
    if (isRoot) process.seteuid!(NOBODY); // Permissions do not bind root.
    try {
      const fault = await expectFault(() => store.put(KEY, bytes('x')), FatalError, 'no-permission');
      expect(fault.message).toContain(`${root}/${KEY}`);
      expect(fault.message).toContain(`user id ${process.geteuid!()}`);
    } finally {
      if (isRoot) process.seteuid!(0);
    }
  });

  test('says that a limit on file sizes stops it, and keeps the old object', async () => {
    const store = createLocalStore(root);
    await store.put(KEY, bytes('old'));
    const put = `ulimit -f 64; exec "$0" "$@"`;
    const args = ['-c', put, process.execPath, CHILD, 'put', root, KEY, String(tooMuch.length)];
    expect(execFileSync('bash', args, { encoding: 'utf8' }).trim()).toBe('file-too-large');
    expect(await textOf(store, KEY)).toBe('old');
    expect(await readdir(`${root}/job/day`)).toEqual(['data.parquet']);
  });
});
