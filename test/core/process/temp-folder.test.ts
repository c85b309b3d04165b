/** What a killed service leaves behind is removed by the next one that starts, and no more than that. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { sweepTempFolders } from '../../../src/core/process/temp-folder.ts';
import { newTempFolder, type TempFolder } from '../../helpers/temp.ts';
import { openService } from '../../service/running-service.ts';

const CHILD = fileURLToPath(new URL('../../service/engine-child.ts', import.meta.url));

let temp: TempFolder;
beforeEach(async () => {
  temp = await newTempFolder();
  vi.stubEnv('TMPDIR', temp.path);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await temp.remove();
});

/** A process with an engine that is open, whose folder lies in `temp`. */
async function startEngine(): Promise<ChildProcessWithoutNullStreams> {
  const child = spawn(process.execPath, [CHILD], { env: { ...process.env, TMPDIR: temp.path } });
  await once(child.stdout, 'data');
  return child;
}

async function end(child: ChildProcessWithoutNullStreams, how: 'kill' | 'close'): Promise<void> {
  const ended = once(child, 'close');
  if (how === 'kill') child.kill('SIGKILL');
  else child.stdin.end();
  await ended;
}

test('folders of killed services go when the next one starts, those of living ones stay', async () => {
  const [killed, living] = await Promise.all([startEngine(), startEngine()]);
  await end(killed, 'kill');
  const left = await readdir(temp.path);
  expect(left).toHaveLength(2);
  const others = ['vessel-export-service-00000000-99999999-abcdef', 'vessel-service-abcdef', 'x'];
  for (const name of others) await mkdir(join(temp.path, name));

  await using _service = await openService();
  const ofLiving = left.find((name) => name.includes(`-${living.pid}-`))!;
  expect((await readdir(temp.path)).sort()).toEqual([ofLiving, ...others].sort());

  await end(living, 'close');
  expect((await readdir(temp.path)).sort()).toEqual([...others].sort());
});

test('a folder of another user stays, whatever its name is, and so does what a link of such a name leads to', async () => {
  const killed = await startEngine();
  await end(killed, 'kill');
  const [left] = (await readdir(temp.path)) as [string];
  await mkdir(join(temp.path, 'elsewhere'));
  await writeFile(join(temp.path, 'elsewhere', 'file'), 'kept');
  const link = left.replace(/.{6}$/, 'linked');
  await symlink(join(temp.path, 'elsewhere'), join(temp.path, link));
  const uid = process.getuid!();
  const others = vi.spyOn(process, 'getuid').mockReturnValue(uid + 1);
  await sweepTempFolders(temp.path);
  expect((await readdir(temp.path)).sort()).toEqual([left, link, 'elsewhere'].sort());
  others.mockRestore();
  await sweepTempFolders(temp.path);
  expect((await readdir(temp.path)).sort()).toEqual([link, 'elsewhere'].sort());
  expect(await readdir(join(temp.path, 'elsewhere'))).toEqual(['file']);
});
