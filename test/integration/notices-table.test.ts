/** Every cause that people are told of has a test in which they are. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FLEET_CAUSES, JOB_CAUSES } from '../../src/fleet/notice-causes.ts';

const FILES = globSync('notices*.test.ts', { cwd: import.meta.dirname });

test.for(Object.keys({ ...FLEET_CAUSES, ...JOB_CAUSES }))('%s is told of', (cause) => {
  const texts = FILES.map((file) => readFileSync(join(import.meta.dirname, file), 'utf8')).join('\n');
  expect(texts).toMatch(new RegExp(`'begun ${cause}['/]`));
});
