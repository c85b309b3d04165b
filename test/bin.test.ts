import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newTempFolder } from './helpers/temp.ts';

/** A package of `bin.js` and a command line that tells where compiled modules are kept. */
async function newPackage() {
  const temp = await newTempFolder();
  onTestFinished(() => temp.remove());
  const packageDir = join(temp.path, 'package');
  const caches = join(temp.path, 'caches');
  for (const folder of [join(packageDir, 'src/cli'), join(packageDir, 'node_modules'), caches])
    mkdirSync(folder, { recursive: true });
  copyFileSync(new URL('../src/bin.js', import.meta.url), join(packageDir, 'src', 'bin.js'));
  writeFileSync(join(packageDir, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(packageDir, 'src/cli/cli.ts'),
    `import { getCompileCacheDir } from 'node:module';
     export const main = async () => console.log([process.env.NODE_COMPILE_CACHE, getCompileCacheDir()].join());`,
  );
  const userCache = join(caches, 'vessel-export', 'compiled');
  return {
    besides: join(packageDir, 'node_modules', '.cache'),
    userCache,
    /** The folder that threads are told of, and the one that is used. */
    run(env: Record<string, string> = {}): (string | undefined)[] {
      const { stdout, stderr } = spawnSync(process.execPath, [join(packageDir, 'src', 'bin.js')], {
        env: { PATH: process.env.PATH, XDG_CACHE_HOME: caches, ...env },
        encoding: 'utf8',
      });
      expect(stderr).toBe('');
      return stdout.trimEnd().split(',');
    },
  };
}

test('compiled modules are kept beside the package', async () => {
  const { besides, run } = await newPackage();
  const [told, used] = run();
  expect(told).toBe(join(besides, 'compiled'));
  expect(used).toContain(`${told}/`);
  expect(run()).toEqual([told, used]);
});

test('where the package cannot be written, in a folder that the user alone may write', async () => {
  const { besides, userCache, run } = await newPackage();
  writeFileSync(besides, 'not a folder');
  const [told, used] = run();
  expect(told).toBe(userCache);
  expect(used).toContain(`${userCache}/`);
  expect(statSync(userCache).mode & 0o777).toBe(0o700);
});

test('never in a folder that others may write, or that is a link to one', async () => {
  const open = await newPackage();
  writeFileSync(open.besides, 'not a folder');
  mkdirSync(open.userCache, { recursive: true });
  chmodSync(open.userCache, 0o777);
  expect(open.run()).toEqual(['', '']);

  const linked = await newPackage();
  writeFileSync(linked.besides, 'not a folder');
  mkdirSync(join(linked.userCache, '..'), { recursive: true });
  symlinkSync(open.userCache, linked.userCache);
  expect(linked.run()).toEqual(['', '']);
});

test('NODE_COMPILE_CACHE says where, and nothing else is made', async () => {
  const { besides, userCache, run } = await newPackage();
  const told = join(userCache, '..', 'mine');
  expect(run({ NODE_COMPILE_CACHE: told })[0]).toBe(told);
  expect(() => statSync(besides)).toThrow('ENOENT');
  expect(() => statSync(userCache)).toThrow('ENOENT');
});

test('the young generation of the heap has two halves of 4 MB, however much is loaded', async () => {
  const temp = await newTempFolder();
  onTestFinished(() => temp.remove());
  const look = join(temp.path, 'look.cjs');
  writeFileSync(
    look,
    `process.on('exit', () => {
       const spaces = require('node:v8').getHeapSpaceStatistics();
       process.stderr.write(String(spaces.find(({ space_name }) => space_name === 'new_space').space_size));
     });`,
  );
  const bin = new URL('../src/bin.js', import.meta.url).pathname;
  const { stderr } = spawnSync(process.execPath, ['--require', look, bin, '--help'], {
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
  });
  expect(Number(stderr)).toBe(8 * 2 ** 20);
});

test.for([['--help'], ['status', '--from', '2026-01-05', '--to', '2026-01-06']])(
  "what Node brings compiled is not compiled again: '%s'",
  async (args) => {
    const temp = await newTempFolder();
    onTestFinished(() => temp.remove());
    const bin = new URL('../src/bin.js', import.meta.url).pathname;
    const { stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
      env: { PATH: process.env.PATH, LAKE_URL: `file://${temp.path}`, NODE_DEBUG_NATIVE: 'CODE_CACHE' },
      encoding: 'utf8',
    });
    const compiled = [...(stdout + stderr).matchAll(/^Code cache of (\S+) .* is (accepted|rejected)$/gm)];
    const anew = compiled.filter(([, name, how]) => builtinModules.includes(name!) && how === 'rejected');
    expect(anew.map(([, name]) => name)).toEqual([]);
    expect(compiled.map(([, name]) => name)).toContain('crypto');
  },
);
