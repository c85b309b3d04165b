/** What `…_FILE` names is read again when it changes, and never half. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Log } from '../../../src/core/model/ports.ts';
import { findSecret, followSecrets } from '../../../src/core/process/secret-file.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { newTempFolder } from '../../helpers/temp.ts';

async function followed(text = 'first') {
  const folder = await newTempFolder();
  onTestFinished(() => folder.remove());
  const path = join(folder.path, 'secret');
  writeFileSync(path, text);
  return { ...follow(path), folder: folder.path, path };
}

/** The clock of the test is behind that of the file system: a change counts once it was seen for a second. */
function follow(path: string) {
  const clock = createManualClock(0);
  const lines: string[] = [];
  const keep = (level: string) => (_fields: object, message: string) =>
    void lines.push(`${level} ${message}`);
  const log: Log = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
  const env = { KEY_FILE: path };
  const current = followSecrets(
    ['KEY'],
    env,
    'first',
    (last, now) => {
      const found = findSecret('KEY', now);
      if (found === undefined || 'fault' in found) return { value: last, faults: [found?.fault ?? 'none'] };
      return found.text === ''
        ? { value: last, faults: ['KEY_FILE: it is empty'] }
        : { value: found.text, faults: [] };
    },
    clock,
  );
  const after = async (ms: number) => {
    await clock.advance(ms);
    return current(log);
  };
  return { after, lines };
}

test('a changed file is read once nothing was written to it for a second', async () => {
  const { after, lines, path } = await followed();
  expect(await after(5_000)).toBe('first');
  writeFileSync(path, 'sec');
  expect(await after(1_000)).toBe('first');
  writeFileSync(path, 'second');
  expect(await after(1_000)).toBe('first');
  expect(await after(500)).toBe('first');
  expect(await after(500)).toBe('second');
  expect(lines).toEqual(['info secrets were read again: a file of them has changed']);
  await after(60_000);
  expect(lines).toHaveLength(1);
});

test('a file that is gone, empty or a folder leaves what was, and is said once with its name', async () => {
  const { after, lines, path } = await followed();
  const become = async (make: () => void) => {
    rmSync(path, { recursive: true, force: true });
    make();
    await after(1_000);
    const value = await after(1_000);
    await after(60_000);
    return [value, lines.splice(0)];
  };
  expect(await become(() => {})).toEqual([
    'first',
    [`warn KEY_FILE: cannot read '${path}': there is no such file; what was read before still holds`],
  ]);
  expect(await become(() => writeFileSync(path, ''))).toEqual([
    'first',
    ['warn KEY_FILE: it is empty; what was read before still holds'],
  ]);
  expect((await become(() => mkdirSync(path)))[1]).toEqual([expect.stringContaining('it is a folder')]);
  expect(await become(() => writeFileSync(path, 'hush'.repeat(20_000)))).toEqual([
    'first',
    [expect.stringMatching(/^warn KEY_FILE: '.*' has 80000 bytes, expected a secret/)],
  ]);
  expect(await become(() => writeFileSync(path, 'second\n'))).toEqual([
    'second',
    [expect.stringContaining('info secrets were read again')],
  ]);
});

test("Kubernetes' swap of a link to a folder is a change", async () => {
  const folder = await newTempFolder();
  onTestFinished(() => folder.remove());
  const version = (name: string, text: string) => {
    mkdirSync(join(folder.path, name));
    writeFileSync(join(folder.path, name, 'key'), text);
  };
  version('..1', 'first');
  symlinkSync('..1', join(folder.path, '..data'));
  symlinkSync('..data/key', join(folder.path, 'key'));
  const { after } = follow(join(folder.path, 'key'));
  expect(await after(5_000)).toBe('first');
  version('..2', 'other');
  symlinkSync('..2', join(folder.path, '..data_tmp'));
  renameSync(join(folder.path, '..data_tmp'), join(folder.path, '..data'));
  rmSync(join(folder.path, '..1'), { recursive: true });
  await after(1_000);
  expect(await after(1_000)).toBe('other');
});

test('a change between start and the first look is taken too', async () => {
  const { after, lines, path } = await followed('changed since');
  expect(await after(1_000)).toBe('changed since');
  expect(lines).toEqual([]);
  writeFileSync(path, 'first');
});

test('what comes from a pipe comes once, and nobody waits for more', async () => {
  const folder = await newTempFolder();
  onTestFinished(() => folder.remove());
  const path = join(folder.path, 'pipe');
  execFileSync('mkfifo', [path]);
  const { after, lines } = follow(path);
  expect(await after(5_000)).toBe('first');
  expect(await after(5_000)).toBe('first');
  expect(lines).toEqual([]);
});
