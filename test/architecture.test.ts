import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const sources = filesBelow('src').filter((path) => path.endsWith('.ts'));

/** Stages pass data through export/; none of them knows another. */
const STAGES = ['plan', 'queue', 'fetch', 'decode', 'encode', 'publish', 'verify', 'store', 'service'];

/** What a stage may import besides itself, model/ and errors.ts. Types of a port are no dependency on a stage. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  publish: ['store/store.ts'],
  verify: ['store/store.ts'],
};

/** Each outside library has its owners: folders, or single files of src. */
const LIBRARY_OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@aws-sdk/client-s3': ['store'],
  '@bull-board/api': ['operations'],
  '@bull-board/fastify': ['operations'],
  '@smithy/node-http-handler': ['store'],
  '@duckdb/node-api': ['service', 'verify', 'commands/demo-query.ts'],
  'apache-arrow': ['encode', 'decode'],
  'parquet-wasm': ['encode', 'decode'],
  hyparquet: ['encode', 'verify'],
  'hyparquet-writer': ['encode', 'verify'],
  bullmq: ['queue', 'operations'],
  commander: ['cli.ts'],
  'cron-parser': ['plan'],
  fastify: ['service', 'operations'],
  ioredis: ['queue'],
  jose: ['service'],
  pino: ['log.ts'],
  'prom-client': ['operations'],
  undici: ['fetch'],
  yaml: ['config'],
  zod: ['config', 'service', 'commands/service.ts'],
};

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** Module names in `import … from`, `export … from` and `import()`. */
function importsOf(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8');
  const shape =
    /^(?:import|export)\s[^'"`;=]*?\bfrom\s+'([^'\n]+)';|^import\s+'([^']+)';|\bimport\('([^']+)'\)/gm;
  return [...text.matchAll(shape)].map((match) => (match[1] ?? match[2] ?? match[3])!);
}

function packageOf(specifier: string): string {
  const [scope, name] = specifier.split('/');
  return scope!.startsWith('@') ? `${scope}/${name}` : scope!;
}

test('stages import only themselves, model/, errors.ts and the ports they are given', () => {
  const broken: string[] = [];
  for (const path of sources) {
    const stage = path.split('/')[1]!;
    if (!STAGES.includes(stage)) continue;
    for (const specifier of importsOf(path).filter((name) => name.startsWith('.'))) {
      const target = relative('src', join(dirname(path), specifier));
      const [folder] = target.split('/');
      const fine =
        folder === stage || folder === 'model' || target === 'errors.ts' || ALLOWED[stage]?.includes(target);
      if (!fine) broken.push(`${path} → ${target}`);
    }
  }
  expect(broken).toEqual([]);
});

test('model/ and errors.ts import nothing of the rest', () => {
  const broken: string[] = [];
  for (const path of sources.filter((name) => name.startsWith('src/model/') || name === 'src/errors.ts')) {
    for (const specifier of importsOf(path)) {
      const target = relative('src', join(dirname(path), specifier));
      if (!specifier.startsWith('.') || !/^(model\/|errors\.ts)/.test(target))
        broken.push(`${path} → ${specifier}`);
    }
  }
  expect(broken).toEqual([]);
});

test('each library is imported by its owners only', () => {
  const broken: string[] = [];
  for (const path of sources) {
    for (const specifier of importsOf(path)) {
      if (specifier.startsWith('.') || specifier.startsWith('node:')) continue;
      const owners = LIBRARY_OWNERS[packageOf(specifier)];
      const place = relative('src', path);
      if (!owners?.some((owner) => place === owner || place.startsWith(`${owner}/`))) {
        broken.push(`${path} → ${specifier}`);
      }
    }
  }
  expect(broken).toEqual([]);
});

test('only cli.ts ends the process, only config and cli read its environment', () => {
  const ends = sources.filter((path) => /process\.exit\(/.test(readFileSync(join(root, path), 'utf8')));
  const reads = sources.filter((path) => /process\.env\b/.test(readFileSync(join(root, path), 'utf8')));
  expect(ends).toEqual(['src/cli.ts']);
  expect(reads).toEqual(['src/cli.ts']);
});

test('dependencies have exact versions, and each is imported somewhere', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)))).toEqual([]);
  const imported = new Set(sources.flatMap(importsOf).map(packageOf));
  expect(Object.keys(manifest.dependencies).filter((name) => !imported.has(name))).toEqual([]);
});

test('no default exports in src', () => {
  expect(sources.filter((path) => /^export default/m.test(readFileSync(join(root, path), 'utf8')))).toEqual(
    [],
  );
});

test('test titles are unique within their file', () => {
  const doubled: string[] = [];
  for (const path of filesBelow('test').filter((name) => name.endsWith('.test.ts'))) {
    const titles = [
      ...readFileSync(join(root, path), 'utf8').matchAll(/^\s*(?:test|it)(?:\.\w+)?\(\s*'([^']+)'/gm),
    ];
    const seen = new Set<string>();
    for (const [, title] of titles) {
      if (seen.has(title!)) doubled.push(`${path}: ${title}`);
      seen.add(title!);
    }
  }
  expect(doubled).toEqual([]);
});
