import { execFileSync } from 'node:child_process';
import type { TempFolder } from './temp.ts';
import { newTempFolder } from './temp.ts';

/** A file system of 1 MiB, where this process may mount one. */
export async function mountSmallDisk(): Promise<TempFolder | undefined> {
  const temp = await newTempFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', temp.path], { stdio: 'pipe' });
  } catch (error) {
    process.stderr.write(
      `\n*** THE TESTS OF A FULL DISK ARE NOT RUN: no tmpfs can be mounted here (${error}) ***\n`,
    );
    await temp.remove();
    return undefined;
  }
  const remove = async () => {
    execFileSync('umount', [temp.path]);
    await temp.remove();
  };
  return { path: temp.path, remove, [Symbol.asyncDispose]: remove };
}
