/** docs/format.md promises what the code does. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FORMAT_VERSION } from '../src/core/model/index.ts';

const root = join(import.meta.dirname, '..');

test('docs/format.md names every version of a file in the lake, as it is now', () => {
  const table = readFileSync(join(root, 'docs/format.md'), 'utf8').matchAll(
    /^\| `(\w+Version)` \| (\d+) \|/gm,
  );
  const named = [...table].map(([, name, version]) => [name, Number(version)]);
  const typed = globSync('src/**/*.ts', { cwd: root })
    .flatMap((path) => [
      ...readFileSync(join(root, path), 'utf8').matchAll(/readonly (\w+Version): (\d+)\b/g),
    ])
    .map(([, name, version]): [string, number] => [name!, Number(version)]);
  expect(named.toSorted()).toEqual([['formatVersion', FORMAT_VERSION], ...new Map(typed)].toSorted());
});
