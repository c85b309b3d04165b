import { spawnSync } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { isKnownDead, thisProcess } from '../../../src/core/process/process-id.ts';

const self = thisProcess();
/** The pid of a process that has ended. */
const { pid: ended } = spawnSync('true');

test('a process is known dead only where its pid means something', () => {
  expect(isKnownDead(self, self)).toBe(false);
  expect(isKnownDead({ ...self, pid: ended }, self)).toBe(true);
  // Another machine, and another container under the same host name: whether that pid is in use here says nothing.
  const [host, ...names] = self.host.split('/');
  const machine = { host: ['another-host', ...names].join('/'), pid: ended };
  const container = { host: [host, ...names.slice(0, -1), '1'].join('/'), pid: ended };
  for (const elsewhere of [machine, { ...machine, pid: self.pid }, container])
    expect(isKnownDead(elsewhere, self)).toBe(false);
});

test.runIf(process.platform === 'linux')('on Linux the host part names boot and pid name space', () => {
  const [host, boot, space, ...rest] = self.host.split('/');
  expect([host, rest]).toEqual([hostname(), []]);
  expect(boot).toMatch(/^[0-9a-f]{8}$/);
  expect(`pid:[${space}]`).toBe(readlinkSync('/proc/self/ns/pid'));
});
