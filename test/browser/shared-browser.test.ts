/** One browser for all files of a worker: what it does to those files, and to the machine. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { browserForTests } from '../helpers/browser.ts';
import { startProgram } from '../helpers/run.ts';
import { newTempFolder } from '../helpers/temp.ts';

// As two files of one worker would.
const one = await browserForTests();
const other = await browserForTests();

describe.skipIf(one === undefined)('one browser for all files', () => {
  const server = createServer((_request, response) => response.end('<!doctype html><title>here</title>'));
  afterAll(() => server.close());
  const serve = async () => {
    if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  };

  test('serves them all, and keeps apart what they store', async () => {
    const url = await serve();
    await using mine = await one!.open(url);
    await mine.page.evaluate("localStorage.setItem('mine', '1'); document.cookie = 'mine=1'");
    await using yours = await other!.open(url);
    expect(yours.page.context().browser()).toBe(mine.page.context().browser());
    expect(await yours.page.evaluate('localStorage.length + document.cookie')).toBe('0');
  });

  test('is started anew after a crash, for who has pages and for who has none', async () => {
    const url = await serve();
    const { page, close } = await one!.open(url);
    const crashed = page.context().browser()!;
    const gone = once(crashed as never, 'disconnected');
    const session = await crashed.newBrowserCDPSession();
    await Promise.all([gone, session.send('Browser.crash').catch(() => {})]);
    await close();
    for (const file of [one!, other!]) {
      await using again = await file.open(url);
      expect(await again.page.title()).toBe('here');
      expect(again.page.context().browser()).not.toBe(crashed);
    }
  });

  test.each(['SIGTERM', 'SIGKILL'] as const)('ends with its process after %s', async (signal) => {
    await using folder = await newTempFolder();
    const child = startProgram(
      [process.execPath, join(import.meta.dirname, 'browser-child.ts'), one!.executablePath],
      { TMPDIR: folder.path },
    );
    await child.until('stdout', /opened/);
    const group = childrenOf(child.process.pid!);
    expect(group).toHaveLength(1);
    expect(alive(group[0]!).length).toBeGreaterThan(1);
    child.process.kill(signal);
    expect(await child.ended).toMatchObject({ signal });
    await expect.poll(() => alive(group[0]!)).toEqual([]);
    // After the other nobody is left to remove its folder.
    if (signal === 'SIGTERM') expect(await readdir(folder.path)).toEqual([]);
  });
});

/** Every process of the machine: its id, its parent's, its group's, and whether it is more than an entry that nobody has collected. */
function processes() {
  const { stdout } = spawnSync('ps', ['-eo', 'pid=,ppid=,pgid=,stat='], { encoding: 'utf8' });
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, ppid, pgid, stat]) => ({
      ...{ pid: Number(pid), ppid: Number(ppid), pgid: Number(pgid) },
      isAlive: !stat!.startsWith('Z'),
    }));
}
const childrenOf = (parent: number) => processes().flatMap(({ pid, ppid }) => (ppid === parent ? [pid] : []));
const alive = (group: number) =>
  processes().flatMap(({ pid, pgid, isAlive }) => (pgid === group && isAlive ? [pid] : []));
