import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { codeSpans, sectionOf, tableRows } from '../docs/tools/markdown.ts';
import { VARIABLES } from '../src/runtime/config/variables.ts';

const root = resolve(import.meta.dirname, '..');
const sources = filesBelow('src').filter((path) => path.endsWith('.ts'));
/** What runs in a browser. */
const pageModules = filesBelow('src/web/page').filter((path) => path.endsWith('.js'));

/** The rooms by floor (docs/architecture.md), and which others each may import: all of them on floors below. */
const ROOMS: Readonly<Record<string, readonly [floor: number, ...mayImport: string[]]>> = {
  core: [1],
  parquet: [2, 'core'],
  store: [2, 'core'],
  runtime: [3, 'core', 'parquet', 'store'],
  redis: [3, 'core'],
  source: [3, 'core', 'parquet'],
  service: [4, 'core', 'parquet'],
  lake: [4, 'core', 'parquet', 'store'],
  query: [5, 'core', 'lake', 'parquet', 'source', 'store'],
  export: [5, 'core', 'lake', 'parquet', 'source', 'store'],
  audit: [6, 'core', 'export', 'lake', 'source', 'store'],
  // Between the rooms that they open and those that open them.
  'app.ts': [6.1, 'core', 'export', 'lake', 'parquet', 'redis', 'runtime', 'source', 'store'],
  'index.ts': [6.2, 'app.ts', 'audit', 'core', 'export', 'lake', 'runtime', 'store'],
  fleet: [7, 'app.ts', 'audit', 'core', 'export', 'lake', 'parquet', 'redis', 'runtime', 'source', 'store'],
  web: [8, 'app.ts', 'audit', 'core', 'fleet', 'lake', 'query', 'redis', 'store'],
  cli: [
    ...([9, 'app.ts', 'audit', 'core', 'export', 'fleet', 'lake'] as const),
    ...['query', 'redis', 'runtime', 'service', 'source', 'store', 'web'],
  ],
};

const BASICS = ['core/model', 'core/errors.ts'];
/** Parts of a room that may import less than the room: all that each may, besides itself. Circles are tested apart. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  'core/model': [],
  'core/errors.ts': ['core/model'],
  'core/plan': BASICS,
  'core/proof': BASICS,
  'core/process': BASICS,
  'core/duckdb': BASICS,
  'parquet/read': ['core'],
  'parquet/write': ['core'],
  'runtime/config': ['core', 'store'],
  'runtime/monitoring': ['core'],
  'runtime/tracing': ['core', 'parquet/write', 'runtime/config', 'store'],
  'source/fetch': ['core'],
  'source/decode': ['core', 'parquet/read'],
  'lake/table': ['core', 'parquet/write', 'store'],
  'query/views': ['core', 'parquet/write'],
  'query/sql': ['core', 'lake', 'parquet/write', 'query/views', 'store'],
  'query/catalogue': ['core', 'lake', 'source', 'store'],
  'export/run': ['core', 'export', 'lake'],
  'export/estimate': ['core', 'export', 'lake', 'source'],
  // What only reads cannot publish.
  'audit/verify': ['core', 'lake', 'source', 'store'],
  'audit/status': ['core', 'lake', 'store'],
  'audit/reconcile': ['core', 'export', 'lake', 'source'],
  'fleet/queue': ['core', 'runtime/tracing'],
  'fleet/notify': ['core', 'lake', 'store'],
  'cli/check': ['core', 'lake', 'redis', 'runtime/config', 'source', 'store', 'web'],
  'cli/terminal': ['audit', 'cli/check', 'core', 'export', 'fleet', 'query'],
};

/** Each outside library has its owners: folders, or single files of src. */
const LIBRARY_OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@aws-sdk/client-s3': ['store'],
  '@smithy/node-http-handler': ['store'],
  '@azure/identity': ['store/open-store.ts'],
  '@azure/storage-blob': ['store/azure'],
  '@duckdb/node-api': ['core/duckdb'],
  hyparquet: ['parquet', 'lake/table', 'audit/verify', 'service', 'web'],
  '@opentelemetry/api': ['runtime/tracing'],
  '@opentelemetry/exporter-trace-otlp-proto': ['runtime/tracing'],
  '@opentelemetry/instrumentation-undici': ['runtime/tracing'],
  '@opentelemetry/resources': ['runtime/tracing'],
  '@opentelemetry/sdk-trace-node': ['runtime/tracing'],
  bullmq: ['fleet/queue', 'runtime/tracing'],
  'bullmq-otel': ['runtime/tracing'],
  commander: ['cli/cli.ts', 'cli/command-line.ts'],
  'cron-parser': ['core/plan'],
  fastify: ['service', 'runtime/monitoring', 'web'],
  fzstd: ['web'],
  ioredis: ['redis', 'fleet/queue'],
  jose: ['service'],
  'openid-client': ['web/sign-in/openid.ts'],
  pino: ['runtime/log.ts'],
  'prom-client': ['runtime/monitoring'],
  undici: ['source/fetch'],
  uplot: ['web'],
  yaml: ['runtime/config'],
  zod: [
    'runtime/config',
    'fleet/notify',
    'fleet/queue',
    'redis/fleet-shapes.ts',
    'service',
    'web',

    'cli/commands/results.ts',
    'cli/commands/service.ts',
  ],
};

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** Module names in `import … from`, `export … from`, `import()` and `import.meta.resolve()`. */
function importsOf(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8');
  const shape =
    /^(?:import|export)\s[^'"`;=]*?\bfrom\s+'([^'\n]+)';|^import\s+'([^']+)';|\bimport(?:\.meta\.resolve)?\('([^']+)'\)/gm;
  return [...text.matchAll(shape)].map((match) => (match[1] ?? match[2] ?? match[3])!);
}

/** Every import of one file of src by another, types too, as paths below src. */
function relativeImports(): [from: string, to: string][] {
  return sources.flatMap((path) =>
    importsOf(path)
      .filter((name) => name.startsWith('.'))
      .map((name): [string, string] => [relative('src', path), relative('src', join(dirname(path), name))]),
  );
}

/** The room that a path below src lies in: a folder of src, or a file beside them. */
function roomOf(path: string): string {
  return path.split('/')[0]!;
}

/** The part of a room with a row of its own, else the room. */
function partOf(path: string): string {
  return Object.keys(PARTS).find((part) => isIn(path, part)) ?? roomOf(path);
}

function isIn(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

/** A chain of names that ends where it began, or undefined. */
function circleIn(edges: readonly (readonly [string, string])[]): string[] | undefined {
  const next = new Map<string, Set<string>>();
  for (const [from, to] of edges) next.set(from, (next.get(from) ?? new Set()).add(to));
  const done = new Set<string>();
  function walk(name: string, chain: readonly string[]): string[] | undefined {
    if (chain.includes(name)) return [...chain.slice(chain.indexOf(name)), name];
    if (done.has(name)) return undefined;
    for (const to of next.get(name) ?? []) {
      const circle = walk(to, [...chain, name]);
      if (circle !== undefined) return circle;
    }
    done.add(name);
    return undefined;
  }
  for (const name of next.keys()) {
    const circle = walk(name, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

function packageOf(specifier: string): string {
  const [scope, name] = specifier.split('/');
  return scope!.startsWith('@') ? `${scope}/${name}` : scope!;
}

test('a room imports only rooms below it, and those of its row', () => {
  expect([...new Set(sources.map((path) => roomOf(relative('src', path))))].sort()).toEqual(
    Object.keys(ROOMS).sort(),
  );
  const upward = Object.entries(ROOMS).flatMap(([room, [floor, ...mayImport]]) =>
    mayImport.filter((other) => !(ROOMS[other]![0] < floor)).map((other) => `${room} → ${other}`),
  );
  expect(upward).toEqual([]);
  const broken: string[] = [];
  for (const [path, target] of relativeImports()) {
    const part = partOf(path);
    const room = roomOf(path);
    const mayImport = PARTS[part] ?? [room, ...ROOMS[room]!.slice(1).map(String)];
    if (![part, ...mayImport].some((place) => isIn(target, place))) broken.push(`${path} → ${target}`);
  }
  expect(broken).toEqual([]);
});

test('what a row allows is imported', () => {
  const imports = relativeImports().map(([path, target]) => [path, target] as const);
  const rows = [
    ...Object.entries(ROOMS).map(([room, [, ...mayImport]]) => [room, mayImport] as const),
    ...Object.entries(PARTS).filter(([, mayImport]) => mayImport !== BASICS),
  ];
  const unused = rows.flatMap(([place, mayImport]) =>
    mayImport
      .filter((other) => !imports.some(([path, target]) => isIn(path, place) && isIn(target, other)))
      .map((other) => `${place} → ${other}`),
  );
  expect(unused).toEqual([]);
});

test('docs/architecture.md has every room on its floor, and names files that are there', () => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const floors = tableRows(sectionOf(page, 'Rooms')).map(([floor, room]) => [
    codeSpans(room!)[0],
    Number(floor),
  ]);
  const rooms = Object.entries(ROOMS).map(([room, [floor]]) => [room, floor]);
  expect(floors.sort()).toEqual(rooms.filter(([room]) => !String(room).includes('.')).sort());
  const paths = codeSpans(page).filter((span) => /^[\w-]+(?:\/[\w.-]+)+$|^[\w-]+\.(?:ts|js)$/.test(span));
  expect(paths.filter((path) => ![`src/${path}`, path].some((one) => existsSync(join(root, one))))).toEqual(
    [],
  );
  expect(paths.length).toBeGreaterThan(80);
});

test('CONTRIBUTING.md names files that are there', () => {
  const spans = codeSpans(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8'));
  const paths = spans.filter((span) => /^(?:\.github|docs|jobs|src|test)\/[\w./-]+$/.test(span));
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('only cli/ imports the query service, which imports nothing of the exporter', () => {
  const importers = relativeImports().filter(([, target]) => roomOf(target) === 'service');
  expect([...new Set(importers.map(([path]) => roomOf(path)))].sort()).toEqual(['cli', 'service']);
});

test('neither parts of rooms nor files import each other in a circle', () => {
  const files = relativeImports();
  const parts = files.map(([path, target]): [string, string] => [partOf(path), partOf(target)]);
  expect(circleIn(parts.filter(([from, to]) => from !== to))).toBeUndefined();
  expect(circleIn(files)).toBeUndefined();
});

test('every setting is read somewhere', () => {
  const texts = sources
    .filter((path) => path !== 'src/runtime/config/variables.ts' && !path.endsWith('joint-faults.ts'))
    .map((path) => readFileSync(join(root, path), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''));
  // Those of `OTEL_` that are left are read by OpenTelemetry itself.
  const ours = VARIABLES.filter(({ name }) => !/^OTEL_(SERVICE_NAME|RESOURCE_|TRACES_SAMPLER)/.test(name));
  const unread = ours.filter(({ name }) => {
    const read = new RegExp(`(?:\\.|[{,]\\s*|['"])${name}\\b(?!=)`);
    return !texts.some((text) => read.test(text));
  });
  expect(unread.map(({ name }) => name)).toEqual([]);
});

test('what src exports is used outside its file', () => {
  const texts = new Map(
    [...sources, ...pageModules, ...filesBelow('test')].map((path) => [
      path,
      readFileSync(join(root, path), 'utf8'),
    ]),
  );
  const shape = /^export (?:abstract )?(?:async )?(?:function\*?|const|class|interface|type)\s+(\w+)/gm;
  const unused = sources
    .filter((path) => path !== 'src/index.ts')
    .flatMap((path) => [...texts.get(path)!.matchAll(shape)].map((match) => [path, match[1]!] as const))
    .filter(([path, name]) => {
      const word = new RegExp(`\\b${name}\\b`);
      return ![...texts].some(([other, text]) => other !== path && word.test(text));
    });
  expect(unused).toEqual([]);
});

test('each library is imported by its owners only', () => {
  const broken: string[] = [];
  for (const path of sources) {
    for (const specifier of importsOf(path)) {
      if (specifier.startsWith('.') || specifier.startsWith('node:')) continue;
      const owners = LIBRARY_OWNERS[packageOf(specifier)];
      const place = relative('src', path);
      if (!owners?.some((owner) => isIn(place, owner))) {
        broken.push(`${path} → ${specifier}`);
      }
    }
  }
  expect(broken).toEqual([]);
});

test('only cli.ts ends the process, only config and cli read its environment', () => {
  const ends = sources.filter((path) => /process\.exit\(/.test(readFileSync(join(root, path), 'utf8')));
  const reads = sources.filter((path) => /process\.env\b/.test(readFileSync(join(root, path), 'utf8')));
  expect(ends).toEqual(['src/cli/cli.ts']);
  expect(reads).toEqual(['src/cli/cli.ts']);
});

interface GuardedWay {
  readonly way: RegExp;
  readonly owners: readonly string[];
  /** The query service, a product of its own, is held to it too. */
  readonly isOfService?: boolean;
}
/** Ways by which foreign text could get out, or in, past the functions that clean and check it; and who may go them. */
const GUARDED_WAYS: Readonly<Record<string, GuardedWay>> = {
  'screens are written by the functions of cli/terminal/screen.ts, which clean': {
    way: /\b(?:stdout|stderr|screen|stream)\.write\(/,
    owners: ['cli/terminal/screen.ts', 'cli/cli.ts'],
  },
  'nothing is written to a console': { way: /\bconsole\.\w+\(/, owners: [] },
  'the text of an error is asked of messageOf, which cleans': {
    way: /instanceof Error \? \w+\.message|\bas Error\)\.message|\bString\((?:error|cause|reason|thrown)\)/,
    owners: ['core/errors.ts'],
  },
  'the message of an error of ours is cleaned in its base class alone': {
    way: /\bsuper\(new\.target\.clean\(/,
    owners: ['core/errors.ts'],
  },
  'text becomes SQL by the tag and the spellings of sql-text.ts alone': {
    way: /\bas (?:unknown as )?Sql\b|<Sql>|\bisSql\b/,
    owners: ['core/duckdb/sql-text.ts'],
    isOfService: true,
  },
  'what somebody typed becomes SQL once DuckDB has parsed it': {
    way: /\bcheckedByParser\(/,
    owners: ['core/duckdb/sql-text.ts', 'query/sql/read-only.ts'],
    isOfService: true,
  },
  'DuckDB is handed statements in one place': {
    way: /\b\w*(?:[cC]onnection|prepared)\.(?:prepare|extractStatements|runAnd\w+|streamAnd\w+|start\w*)\(/,
    owners: ['core/duckdb/connection.ts'],
    isOfService: true,
  },
  'the tag of SQL is a tag, and no function that takes any text': {
    way: /\bsql\s*\(/,
    owners: ['core/duckdb/sql-text.ts'],
    isOfService: true,
  },
  'what comes from lake, queue and Redis is parsed where it is checked': {
    way: /\bJSON\.parse\(/,
    owners: [
      ...['lake/json.ts', 'lake/ledger/index-file.ts'],
      'query/sql/read-only.ts',
      ...['fleet/queue/queued-day.ts', 'fleet/queue/hold.ts', 'runtime/tracing/queue-telemetry.ts'],
      ...['lake/table/parse-actions.ts', 'lake/table/schema.ts', 'lake/table/table-log.ts'],
      ...['redis/shared-limit.ts', 'redis/shared-concurrency-limit.ts', 'redis/fleet-shapes.ts'],
    ],
  },
  'files of a lake are parsed with their shape': {
    way: /\bparseJson[<(]/,
    owners: ['lake/json.ts', 'lake/shapes.ts', 'lake/ledger/ledger.ts', 'lake/lake-file.ts'],
  },
  'jobs are read by fleet/queue/queued-day.ts and the worker, which check': {
    way: /\bgetJobs?\(|\bgetFailed\(|\bjob\.data\b/,
    // The second is handed what the first has read; the last reads nothing of the job that it promotes.
    owners: [
      ...['fleet/queue/vessel-day-worker.ts', 'fleet/queue/settle-job.ts'],
      'fleet/queue/queued-day.ts',
    ],
  },
};
/** Where foreign data comes in by other ways, each with checks of its own. */
const OTHER_WAYS_IN = [
  'source/decode',
  'source/fetch',
  'parquet/read',
  'core/proof',
  'service',
  'audit/verify',
  'core/version.ts',
  'runtime/log.ts',
  'cli/commands/service.ts',
];

test.for(Object.entries(GUARDED_WAYS))('%s', ([, { way, owners, isOfService = false }]) => {
  const isParsing = way.source.includes('JSON');
  const others = isParsing ? OTHER_WAYS_IN : isOfService ? [] : ['service'];
  const strays = sources
    .map((path) => relative('src', path))
    .filter((place) => ![...owners, ...others].some((owner) => isIn(place, owner)))
    .filter((place) => way.test(code(place)));
  expect(strays).toEqual([]);
  // A way that nobody goes any more is a rule about nothing.
  for (const owner of owners) if (owner !== 'cli/cli.ts') expect(code(owner), owner).toMatch(way);
});

/** Where a text that begins like SQL is none that runs: what DuckDB's parser is asked about, and examples for people. */
const LIKE_SQL = [
  'query/sql/object-plan.ts',
  'cli/terminal/chart-svg.ts',
  'cli/commands/table-lake.ts',
  'cli/commands/sql.ts',
];

test('SQL is written with the tag, whatever is put into it', () => {
  const word =
    "SELECT|WITH \\w+ AS|CREATE (?!TABLE')|COPY|INSERT|DELETE FROM|UPDATE|DROP|ALTER|ATTACH|EXPLAIN|DESCRIBE|SET \\w+ =|CALL|COMMENT ON|MSCK";
  const untagged = new RegExp(`(?<!\\bsql)\`\\s*(?:${word})\\b|['"](?:${word})\\b`);
  const strays = sources
    .map((path) => relative('src', path))
    .filter((place) => untagged.test(code(place)) && !LIKE_SQL.includes(place));
  expect(strays).toEqual([]);
  for (const place of LIKE_SQL) expect(code(place), place).toMatch(untagged);
  expect('const a = `SELECT 1`').toMatch(untagged);
  expect('const a = sql`SELECT 1`').not.toMatch(untagged);
});

/** Without comments. */
function code(place: string): string {
  const text = readFileSync(join(root, 'src', place), 'utf8');
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

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
