#!/usr/bin/env node
// Plain JavaScript, so that an older Node can still say what is wrong instead of failing on the first type.
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  process.stderr.write(
    `vessel-export needs Node.js 24 or newer, this is ${process.versions.node}. In a checkout, 'npx vessel-export' and the npm scripts use the right one after 'npm ci'.\n`,
  );
  process.exitCode = 2;
} else {
  await keepSmall();
  // A checkout runs its source as it stands, never a build that may be old. A package has no source, only the build:
  // Node strips no types below node_modules.
  const { existsSync } = await import('node:fs');
  const source = new URL('./cli/cli.ts', import.meta.url);
  const { main } = await import(existsSync(source) ? source : new URL('../dist/cli/cli.js', import.meta.url));
  await main(process.argv);
}

/** Settings of the engine that must be made before anything else is loaded, however the process was started. */
async function keepSmall() {
  const { enableCompileCache } = await import('node:module');
  const { fileURLToPath } = await import('node:url');
  const { getHeapSpaceStatistics, setFlagsFromString } = await import('node:v8');
  // The young generation of the heap grows once, from 1 MB to 4. At 1 MB a small vessel-day is interrupted a dozen
  // times, and much outlives it that will soon be garbage; at 64 MB, where it would grow to, hundreds of megabytes
  // of buffers that nobody uses any more are held until it is collected.
  growYoungGeneration(setFlagsFromString, getHeapSpaceStatistics);
  await loadBuiltIns();
  setFlagsFromString('--semi-space-growth-factor=1');
  // Threads that begin later.
  setFlagsFromString('--min-semi-space-size=4');
  // What reads the heads of answers is WebAssembly: one function, so large that to optimize it takes 90 ms of processor
  // time in each process, and of answers nearly all is body. Compiled quickly it does as well.
  setFlagsFromString('--no-wasm-dynamic-tiering');
  setFlagsFromString('--no-wasm-tier-up');
  // Compiled modules, without their types: loading them anew takes a third of a second and 18 MB in each thread.
  // Worker threads find them by the variable.
  if (process.env.NODE_COMPILE_CACHE !== undefined) return;
  const beside = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));
  const isUsable = (folder) => enableCompileCache(folder).directory !== undefined;
  const folder = isUsable(beside) ? beside : await openUserCache();
  if (folder !== undefined && (folder === beside || isUsable(folder)))
    process.env.NODE_COMPILE_CACHE = folder;
}

/**
 * Node's own modules that nearly every command needs. Node comes with them compiled, for an engine whose settings are
 * the usual ones: those that are loaded after a setting was made are compiled anew in each process.
 */
async function loadBuiltIns() {
  const { argv } = process;
  const isHelp = argv.length === 2 || argv.includes('--help') || argv.includes('--version');
  const local = 'assert async_hooks child_process crypto dgram fs/promises net os perf_hooks process util';
  const names = [...local.split(' '), 'timers/promises', 'worker_threads'];
  if (!isHelp) names.push('http', 'http2', 'tls', 'zlib');
  await Promise.all(names.map((name) => import(`node:${name}`)));
}

/**
 * It grows when what survives is more than it holds, by a factor that is read then: so a few megabytes survive here
 * for a moment. Its size itself can only be given on the command line, and nobody types that. Afterwards the settings are
 * the usual ones again.
 */
function growYoungGeneration(setFlagsFromString, getHeapSpaceStatistics) {
  const isGrown = () =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size > 2 ** 20;
  setFlagsFromString('--semi-space-growth-factor=4');
  const surviving = [];
  while (surviving.length < 64 && !isGrown()) surviving.push(new Array(16_384).fill(surviving));
  setFlagsFromString('--semi-space-growth-factor=2');
}

/**
 * The user's own folder for such things, where the package's cannot be written. Never the system's folder for
 * temporary files, and none that anybody else may write to: code of theirs would be run. Undefined: no cache.
 */
async function openUserCache() {
  const { lstatSync, mkdirSync } = await import('node:fs');
  const { homedir } = await import('node:os');
  const { isAbsolute, join } = await import('node:path');
  const { XDG_CACHE_HOME: caches = '' } = process.env;
  const folder = join(isAbsolute(caches) ? caches : join(homedir(), '.cache'), 'vessel-export', 'compiled');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = lstatSync(folder);
    const isOwn =
      process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o022) === 0);
    return found.isDirectory() && isOwn ? folder : undefined;
  } catch {
    return undefined;
  }
}
