import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLocalStore } from '../../../src/store/local/local.ts';
import type { PartRef, UploadRef } from '../../../src/store/store.ts';
import { newTempFolder, type TempFolder } from '../../helpers/temp.ts';
import { bytes, collect, keysOf, textOf } from '../store-suite.ts';

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));

interface Child {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  nextLine(): Promise<string>;
  /** SIGKILL, and wait until it is gone. */
  kill(): Promise<void>;
}

describe('a local store among processes', () => {
  let temp: TempFolder;
  let root: string;
  let children: Child[];

  beforeEach(async () => {
    temp = await newTempFolder();
    root = `${temp.path}/lake`;
    children = [];
  });
  afterEach(async () => {
    await Promise.all(children.map((child) => child.kill()));
    await temp.remove();
  });

  function start(...args: (string | number)[]): Child {
    const child = spawn(process.execPath, [CHILD, ...args.map(String)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]() as ReturnType<
      Interface[typeof Symbol.asyncIterator]
    >;
    const started: Child = {
      process: child,
      nextLine: async () => (await lines.next()).value as string,
      kill: async () => {
        child.kill('SIGKILL');
        await exited;
      },
    };
    children.push(started);
    return started;
  }

  const hiddenFiles = async (folder: string) =>
    (await readdir(folder)).filter((name) => name.startsWith('.'));

  /** Watch a folder until a write in progress is seen there. */
  async function untilTempFile(folder: string): Promise<string> {
    for (;;) {
      const found = (await hiddenFiles(folder)).find((name) => name.endsWith('.put'));
      if (found !== undefined) return `${folder}/${found}`;
    }
  }

  test('one of twenty racers in four processes wins', async () => {
    const racing = ['a', 'b', 'c', 'd'].map((name) => start('race', root, 'claims/1.json', name, 5));
    for (const child of racing) expect(await child.nextLine()).toBe('ready');
    for (const child of racing) child.process.stdin.write('go\n');
    const winners: string[] = [];
    for (const child of racing) winners.push(...(JSON.parse(await child.nextLine()) as string[]));
    expect(winners).toHaveLength(1);
    expect(await textOf(createLocalStore(root), 'claims/1.json')).toBe(winners[0]);
    expect(await hiddenFiles(`${root}/claims`)).toEqual([]);
  });

  test('a writer that is killed leaves the whole object and, at most, a file that the next one sweeps', async () => {
    const folder = `${root}/ledger/day`;
    const sizeBytes = 4 << 20;
    let left: string | undefined;
    for (let round = 0; ; round++) {
      expect(round).toBeLessThan(50);
      const child = start('overwrite', root, 'ledger/day/receipt.json', sizeBytes);
      expect(await child.nextLine()).toBe('ready');
      await untilTempFile(folder);
      await child.kill();
      const text = await textOf(createLocalStore(root), 'ledger/day/receipt.json');
      expect([text.length, new Set(text).size]).toEqual([sizeBytes, 1]);
      [left] = await hiddenFiles(folder);
      if (left !== undefined) break;
    }
    const next = createLocalStore(root);
    expect(await keysOf(next, '')).toEqual(['ledger/day/receipt.json']);
    expect(await collect(next.listUploads(''))).toEqual([]);
    await next.put('ledger/day/receipt.json', bytes('new'));
    expect(await readdir(folder)).toEqual(['receipt.json']);
    // It keeps no folder.
    await writeFile(`${folder}/${left}`, '');
    await next.remove('ledger/day/receipt.json');
    expect(await readdir(root)).toEqual([]);
  });

  test('a writer whose temp file is taken away starts again', async () => {
    const child = start('overwrite', root, 'day/object', 1 << 20);
    expect(await child.nextLine()).toBe('ready');
    for (let taken = 0; taken < 20; ) {
      const path = await untilTempFile(`${root}/day`);
      taken += await unlink(path).then(
        () => 1,
        () => 0,
      );
    }
    await child.kill();
    expect(await child.nextLine()).toBeUndefined();
    expect((await textOf(createLocalStore(root), 'day/object')).length).toBe(1 << 20);
  });

  test('a writer that is stopped between comparing and renaming blocks nobody, and replaces nothing later', async () => {
    const key = 'ledger/receipt.json';
    const store = createLocalStore(root);
    const read = (await store.putIf(key, bytes('read by both'), null))!;
    const child = start('stopped-put', root, key, read);
    await expect
      .poll(async () => / T /.test(await readFile(`/proc/${child.process.pid}/stat`, 'utf8')), {
        interval: 10,
      })
      .toBe(true);
    const second = await store.putIf(key, bytes('second'), read);
    const third = await store.putIf(key, bytes('third'), second!);
    expect(third).toBeDefined();
    child.process.kill('SIGCONT');
    expect(await child.nextLine()).toBe('not replaced');
    expect(await textOf(store, key)).toBe('third');
    expect(await hiddenFiles(`${root}/ledger`)).toEqual([]);
  });

  test('a stopped writer that goes on after its upload was adopted publishes nothing', async () => {
    const key = 'job/day/data.parquet';
    const child = start('stopped-part', root, key);
    const { upload, first } = JSON.parse((await child.nextLine()).slice('ready '.length)) as {
      upload: UploadRef;
      first: PartRef;
    };
    child.process.kill('SIGSTOP');
    const successor = createLocalStore(root);
    const adopted = (await successor.adopt(upload, [first], 'successor'))!;
    child.process.stdin.write('go\n');
    child.process.kill('SIGCONT');
    expect(await child.nextLine()).toBe('upload-gone upload-gone');
    expect(await successor.head(key)).toBeUndefined();

    const second = await successor.append(adopted, 2, bytes(', new 2'));
    await successor.publish(adopted, [first, second]);
    expect(await textOf(successor, key)).toBe('stale 1, new 2');
    expect(await readdir(`${root}/job/day`)).toEqual(['data.parquet']);
  });
});
