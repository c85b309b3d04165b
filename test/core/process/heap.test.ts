import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PATHS = ['bin.js', 'core/process/heap.ts'].map((path) =>
  fileURLToPath(new URL(`../../../src/${path}`, import.meta.url)),
);
const [bin, heap] = PATHS as [string, string];

/** Tells on stdout which flags of the engine are set from within. */
const TELL_FLAGS = `data:text/javascript,${encodeURIComponent(
  `import v8 from 'node:v8';
   import { syncBuiltinESMExports } from 'node:module';
   v8.setFlagsFromString = (flag) => process.stdout.write(flag + ',');
   syncBuiltinESMExports();`,
)}`;

function flagsOf(args: readonly string[]): string[] {
  const { stdout } = spawnSync(process.execPath, [`--import=${TELL_FLAGS}`, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    encoding: 'utf8',
  });
  return stdout.split(',').filter((flag) => flag.startsWith('--heap-growing-percent'));
}

test.each([
  [true, ['--no-color', 'reconcile', 'measurements']],
  [false, ['run', 'schedule']],
])('the heap is collected early: %s, by the command of %j', (isEarly, words) => {
  expect(flagsOf([bin, '--no-env-file', ...words])).toEqual(isEarly ? ['--heap-growing-percent=100'] : []);
});

test('until the last who wishes it is done', () => {
  const script = `import { collectEarly } from '${heap}';
    const [one, other] = [collectEarly(), collectEarly()];
    one(); one();
    process.stdout.write('--heap-growing-percent unchanged,');
    other();`;
  expect(flagsOf(['--input-type=module', '--eval', script])).toEqual([
    '--heap-growing-percent=100',
    '--heap-growing-percent unchanged',
    '--heap-growing-percent=0',
  ]);
});
