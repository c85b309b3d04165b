import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const sources = filesBelow('src').filter((path) => path.endsWith('.ts'));
/** What runs in a browser. */
const pageModules = filesBelow('src/web/page').filter((path) => path.endsWith('.js'));

/** What each folder or top file of src may import, besides itself, model/ and errors.ts. Circles are tested apart. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  'errors.ts': [],
  'log.ts': [],
  'concurrency.ts': [],
  'logins.ts': [],
  'openid.ts': [],
  'connections.ts': ['logins.ts'],
  'streams.ts': [],
  'no-schemas.ts': [],
  process: [],
  store: ['concurrency.ts', 'process'],
  table: ['store'],
  fetch: ['streams.ts'],
  decode: [],
  encode: [],
  plan: [],
  proof: [],
  'sql-text.ts': [],
  duckdb: ['sql-text.ts'],
  service: ['connections.ts', 'process', 'logins.ts', 'duckdb', 'sql-text.ts', 'streams.ts', 'no-schemas.ts'],
  redis: ['concurrency.ts'],
  config: ['plan', 'process', 'store'],
  queue: ['concurrency.ts'],
  lake: ['plan', 'process', 'store', 'table', 'concurrency.ts'],
  source: ['fetch', 'decode', 'plan', 'proof'],
  export: ['source', 'decode', 'encode', 'plan', 'proof', 'lake', 'store', 'table', 'fetch'],
  run: ['export', 'lake', 'plan', 'source', 'fetch', 'concurrency.ts'],
  status: ['lake', 'plan', 'store', 'concurrency.ts'],
  estimate: ['source', 'export', 'lake', 'plan', 'fetch', 'decode', 'concurrency.ts'],
  reconcile: ['export', 'run', 'source', 'lake', 'plan', 'proof', 'fetch', 'concurrency.ts'],
  verify: [
    'source',
    'lake',
    'plan',
    'proof',
    'decode',
    'store',
    'table',
    'fetch',
    'concurrency.ts',
    'process',
    'duckdb',
    'sql-text.ts',
  ],
  views: ['encode', 'lake', 'sql-text.ts'],
  sql: ['views', 'duckdb', 'sql-text.ts', 'encode', 'lake', 'table', 'store', 'process', 'concurrency.ts'],
  monitoring: ['concurrency.ts', 'connections.ts', 'no-schemas.ts'],
  web: [
    ...[
      'app.ts',
      'catalogue',
      'concurrency.ts',
      'config',
      'fleet',
      'lake',
      'logins.ts',
      'no-schemas.ts',
      'openid.ts',
      'plan',
      'process',
    ],
    ...['queue', 'reconcile', 'redis', 'run', 'status', 'store', 'table', 'terminal'],
  ],
  notify: ['lake', 'store'],
  tracing: ['config', 'encode', 'queue', 'store'],
  'app.ts': [
    ...['config', 'encode', 'export', 'fetch', 'lake', 'plan', 'process', 'redis', 'store', 'tracing'],
    'version.ts',
  ],
  fleet: [
    ...['app.ts', 'config', 'concurrency.ts', 'monitoring', 'notify', 'queue', 'redis'],
    ...['encode', 'export', 'fetch', 'lake', 'plan', 'reconcile', 'run', 'source', 'store'],
  ],
  check: ['concurrency.ts', 'config', 'fetch', 'lake', 'openid.ts', 'process', 'redis', 'source', 'store'],
  catalogue: ['concurrency.ts', 'decode', 'fetch', 'lake', 'source', 'store'],
  terminal: [
    'catalogue',
    'check',
    'estimate',
    'export',
    'fleet',
    'plan',
    'reconcile',
    'run',
    'sql',
    'status',
    'verify',
  ],
  commands: [
    ...[
      'app.ts',
      'version.ts',
      'catalogue',
      'check',
      'config',
      'concurrency.ts',
      'log.ts',
      'process',
      'terminal',
      'service',
      'web',
    ],
    ...['fleet', 'monitoring', 'notify', 'redis', 'run', 'reconcile', 'status', 'verify', 'estimate'],
    ...['export', 'source', 'plan', 'lake', 'store', 'fetch', 'views', 'sql', 'duckdb', 'sql-text.ts'],
  ],
};

/** Each outside library has its owners: folders, or single files of src. */
const LIBRARY_OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@aws-sdk/client-s3': ['store'],
  '@smithy/node-http-handler': ['store'],
  '@duckdb/node-api': ['duckdb'],
  hyparquet: ['encode', 'table', 'verify', 'service', 'web'],
  'hyparquet-writer': ['encode', 'table', 'verify', 'service'],
  '@opentelemetry/api': ['tracing'],
  '@opentelemetry/exporter-trace-otlp-proto': ['tracing'],
  '@opentelemetry/instrumentation-undici': ['tracing'],
  '@opentelemetry/resources': ['tracing'],
  '@opentelemetry/sdk-trace-node': ['tracing'],
  bullmq: ['queue', 'tracing'],
  'bullmq-otel': ['tracing'],
  commander: ['cli.ts', 'command-line.ts'],
  'cron-parser': ['plan'],
  fastify: ['service', 'monitoring', 'web'],
  fzstd: ['web'],
  ioredis: ['redis', 'queue'],
  jose: ['service'],
  'openid-client': ['openid.ts'],
  pino: ['log.ts'],
  'prom-client': ['monitoring'],
  undici: ['fetch'],
  uplot: ['web'],
  yaml: ['config'],
  zod: [
    'config',
    'queue',
    'redis/fleet-shapes.ts',
    'service',
    'web',
    'commands/result-terms.ts',
    'commands/results-days.ts',
    'commands/results.ts',
    'commands/service.ts',
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

/** The folder of src that a path below src lies in, or the file itself. */
function roomOf(path: string): string {
  return path.split('/')[0]!;
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

test('folders import only what stands below them', () => {
  const broken: string[] = [];
  for (const [path, target] of relativeImports()) {
    const from = roomOf(path);
    const to = roomOf(target);
    if (to === from || to === 'model' || to === 'errors.ts') continue;
    if (MAY_IMPORT[from]?.includes(to) === false) broken.push(`${path} → ${target}`);
  }
  expect(broken).toEqual([]);
});

test('only commands/ imports the query service, and model/ imports nothing', () => {
  const broken = relativeImports().filter(
    ([path, target]) =>
      (roomOf(target) === 'service' && !['service', 'commands'].includes(roomOf(path))) ||
      (roomOf(path) === 'model' && roomOf(target) !== 'model'),
  );
  expect(broken).toEqual([]);
});

test('neither folders nor files import each other in a circle', () => {
  const files = relativeImports();
  const rooms = files.map(([path, target]): [string, string] => [roomOf(path), roomOf(target)]);
  expect(circleIn(rooms.filter(([from, to]) => from !== to))).toBeUndefined();
  expect(circleIn(files)).toBeUndefined();
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

interface GuardedWay {
  readonly way: RegExp;
  readonly owners: readonly string[];
  /** The query service, a product of its own, is held to it too. */
  readonly isOfService?: boolean;
}
/** Ways by which foreign text could get out, or in, past the functions that clean and check it; and who may go them. */
const GUARDED_WAYS: Readonly<Record<string, GuardedWay>> = {
  'screens are written by the functions of terminal/screen.ts, which clean': {
    way: /\b(?:stdout|stderr|screen|stream)\.write\(/,
    owners: ['terminal/screen.ts', 'cli.ts'],
  },
  'nothing is written to a console': { way: /\bconsole\.\w+\(/, owners: [] },
  'the text of an error is asked of messageOf, which cleans': {
    way: /instanceof Error \? \w+\.message|\bas Error\)\.message|\bString\((?:error|cause|reason|thrown)\)/,
    owners: ['errors.ts'],
  },
  'the message of an error of ours is cleaned in its base class alone': {
    way: /\bsuper\(new\.target\.clean\(/,
    owners: ['errors.ts'],
  },
  'text becomes SQL by the tag and the spellings of sql-text.ts alone': {
    way: /\bas (?:unknown as )?Sql\b|<Sql>|\bisSql\b/,
    owners: ['sql-text.ts'],
    isOfService: true,
  },
  'what somebody typed becomes SQL once DuckDB has parsed it': {
    way: /\bcheckedByParser\(/,
    owners: ['sql-text.ts', 'sql/read-only.ts'],
    isOfService: true,
  },
  'DuckDB is handed statements in one place': {
    way: /\b\w*(?:[cC]onnection|prepared)\.(?:prepare|extractStatements|runAnd\w+|streamAnd\w+|start\w*)\(/,
    owners: ['duckdb/connection.ts'],
    isOfService: true,
  },
  'the tag of SQL is a tag, and no function that takes any text': {
    way: /\bsql\s*\(/,
    owners: ['sql-text.ts'],
    isOfService: true,
  },
  'what comes from lake, queue and Redis is parsed where it is checked': {
    way: /\bJSON\.parse\(/,
    owners: [
      ...[
        'lake/json.ts',
        'lake/index-columns.ts',
        'lake/index-forms.ts',
        'lake/index-forms.ts',
        'lake/index-lines.ts',
      ],
      'sql/read-only.ts',
      ...['queue/queued-day.ts', 'queue/hold.ts', 'tracing/queue-telemetry.ts'],
      ...['table/parse-actions.ts', 'table/schema.ts', 'table/table-log.ts'],
      ...['redis/shared-limit.ts', 'redis/shared-concurrency-limit.ts', 'redis/fleet-shapes.ts'],
    ],
  },
  'files of a lake are parsed with their shape': {
    way: /\bparseJson[<(]/,
    owners: ['lake/json.ts', 'lake/shapes.ts', 'lake/ledger.ts', 'lake/lake-file.ts'],
  },
  'jobs are read by queue/read-queue.ts and the worker, which check': {
    way: /\bgetJobs?\(|\bgetFailed\(|\bjob\.data\b/,
    // The second is handed what the first has read.
    owners: ['queue/vessel-day-worker.ts', 'queue/settle-job.ts'],
  },
};
/** Where foreign data comes in by other ways, each with checks of its own. */
const OTHER_WAYS_IN = [
  'decode',
  'fetch',
  'proof',
  'service',
  'verify',
  'version.ts',
  'log.ts',
  'commands/service.ts',
];

test.for(Object.entries(GUARDED_WAYS))('%s', ([, { way, owners, isOfService = false }]) => {
  const isParsing = way.source.includes('JSON');
  const others = isParsing ? OTHER_WAYS_IN : isOfService ? [] : ['service'];
  const strays = sources
    .map((path) => relative('src', path))
    .filter(
      (place) => ![...owners, ...others].some((owner) => place === owner || place.startsWith(`${owner}/`)),
    )
    .filter((place) => way.test(code(place)));
  expect(strays).toEqual([]);
  // A way that nobody goes any more is a rule about nothing.
  for (const owner of owners) if (owner !== 'cli.ts') expect(code(owner), owner).toMatch(way);
});

/** Where a text that begins like SQL is none that runs: what DuckDB's parser is asked about, and examples for people. */
const LIKE_SQL = ['sql/object-plan.ts', 'terminal/chart-svg.ts', 'commands/table-lake.ts', 'commands/sql.ts'];

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
