/** Which tier a test file belongs to, by what it talks to. */
import { globSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
/** Servers, processes, disks and engines: who imports one of these, itself or through a helper, is no unit test. */
const OUTSIDE =
  /^node:(child_process|fs|fs\/promises|http|https|net|tls|worker_threads)$|^(@aws-sdk|@duckdb|bullmq|ioredis|playwright-core|undici)\b/;
const IMPORT = /^(?:import|export)\s(?!type\b)[^;]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm;

/**
 * Each in a process of its own: they look at what others in it change, as how the engine lays out objects, how much memory
 * it has, or what it loads; or they change what others look at.
 */
export const ALONE: readonly string[] = [
  ...['audit/verify/lake-walk', 'core/model/column-batch', 'parquet/write/encoder'],
  ...['source/decode/ids', 'source/metadata-stream', 'store/local/disk', 'web/slow-readers'],
  'hostile/*',
].map((name) => `test/${name}.test.ts`);

/** Test files that import nothing from outside, as paths from the root. What `src` does with what it is given is not looked at. */
export function unitTests(): string[] {
  const known = new Map<string, boolean>();
  const reachesOutside = (path: string): boolean => {
    const before = known.get(path);
    if (before !== undefined) return before;
    known.set(path, false);
    const names = [...readFileSync(path, 'utf8').matchAll(IMPORT)].map(
      (match) => match.slice(1).find(Boolean)!,
    );
    const helpers = names
      .filter((name) => name.startsWith('.'))
      .map((name) => join(path, '..', name))
      .filter((file) => file.startsWith(join(ROOT, 'test')) && file.endsWith('.ts'));
    const found = names.some((name) => OUTSIDE.test(name)) || helpers.some(reachesOutside);
    known.set(path, found);
    return found;
  };
  return globSync('test/**/*.test.ts', { cwd: ROOT })
    .map((file) => join(ROOT, file))
    .filter((path) => !reachesOutside(path))
    .map((path) => relative(ROOT, path));
}

/** The long tier tries every case of a table, the suite those that find what nothing else does. */
export const isLong = process.env.TEST_TIER === 'long';

/** Test files that try more in the long tier: they ask for `isLong`. */
export function longTests(): string[] {
  const paths = globSync('test/**/*.test.ts', { cwd: ROOT });
  return paths.filter((path) => /\bisLong\b/.test(readFileSync(join(ROOT, path), 'utf8')));
}
