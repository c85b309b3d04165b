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
  const source = new URL('./cli.ts', import.meta.url);
  const { main } = await import(existsSync(source) ? source : new URL('../dist/cli.js', import.meta.url));
  await main(process.argv);
}

/** Settings of the engine that must be made before anything else is loaded, however the process was started. */
async function keepSmall() {
  const { enableCompileCache } = await import('node:module');
  const { fileURLToPath } = await import('node:url');
  const { setFlagsFromString } = await import('node:v8');
  // The young generation of the heap stays at its first size, 1 MB. It would grow to 64 MB, and hold as much again of
  // socket buffers that nobody uses any more, for they are freed when it is collected.
  setFlagsFromString('--semi-space-growth-factor=1');
  // These make much garbage, and little of it at a time would have to be looked at so often that it took a fifth more
  // processor time.
  if (['reconcile', 'status', 'verify'].includes(process.argv[2]))
    setFlagsFromString('--min-semi-space-size=8');
  // These read gigabytes and keep little of it: the old generation is collected when it has doubled, not when it is
  // four times as large. A reconcile of a thousand vessels takes 230 MB so, and 400 MB without; and a fifth more time.
  if (['reconcile', 'status'].includes(process.argv[2])) setFlagsFromString('--heap-growing-percent=100');
  // Compiled modules, without their types: loading them anew takes a third of a second and 18 MB in each thread.
  // Not in the system's folder for temporary files: code that other users could write is not run. Where this
  // folder cannot be written, there is no cache. Worker threads find it by the variable.
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
    new URL('../node_modules/.cache/compiled', import.meta.url),
  );
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
}
