import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openTempObjects } from '../../../src/audit/verify/temp-objects.ts';
import { newTempFolder } from '../../helpers/temp.ts';

const CHILD = fileURLToPath(new URL('temp-child.ts', import.meta.url));
const LAKE_URL = 's3://bucket/lake';

test('folders of killed processes are removed, those of living ones and of others stay', async () => {
  await using temp = await newTempFolder();
  const child = spawn(process.execPath, [CHILD, temp.path, LAKE_URL]);
  const ended = once(child, 'close');
  await once(child.stdout, 'data');
  const held = await readdir(temp.path);
  expect(held).toHaveLength(1);
  // Of another host, where the process may live; and of somebody else.
  const others = ['vessel-export-verify-00000000-99999999-abcdef', 'vessel-export-verify-abcdef', 'x'];
  for (const name of others) await mkdir(join(temp.path, name));
  const openAndClose = async () => {
    const objects = await openTempObjects(temp.path, LAKE_URL);
    await objects.close();
    return (await readdir(temp.path)).sort();
  };
  expect(await openAndClose()).toEqual([...held, ...others].sort());
  child.kill('SIGKILL');
  await ended;
  expect(await openAndClose()).toEqual([...others].sort());
});

test('an object that is written again, and is shorter, leaves nothing of the longer one', async () => {
  await using folder = await newTempFolder();
  const temps = await openTempObjects(folder.path, LAKE_URL);
  const object = await temps.open();
  await object.write!(Buffer.from('longer'), 0);
  await object.write!(Buffer.from('new'), 0);
  await object.write!(Buffer.from('er'), 3);
  expect(await readFile(object.pathOf('any'), 'utf8')).toBe('newer');
  await object.remove();
  await temps.close();
});
