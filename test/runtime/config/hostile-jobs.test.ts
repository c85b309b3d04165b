/** What may lie in JOBS_DIR in the place of a job file: each is a fault among the others, none a stack trace or a hang. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ConfigError } from '../../../src/core/errors.ts';
import { loadConfig, showSettings } from '../../../src/runtime/config/config.ts';
import { hostileNames, unseenIn } from '../../helpers/hostile-text.ts';
import { newTempFolder } from '../../helpers/temp.ts';

const JOB = 'dataset: measurements\nvessels: [IMO9321483]\nselect: ["flat/{vessel}/*"]\n';

function environment(jobsDir: string) {
  return {
    QUERY_BASE_URL: 'https://api.example.com/tenant/',
    QUERY_AUTH_URL: 'https://auth.example.com',
    QUERY_CLIENT_ID: 'reader',
    QUERY_CLIENT_SECRET: 'very-secret',
    LAKE_URL: 'file:///data/lake',
    JOBS_DIR: jobsDir,
  };
}

/** A billion in nine lines: each stands for nine of the one before. */
const ALIAS_BOMB = [
  'a: &a ["x","x","x","x","x","x","x","x","x"]',
  ...[...'bcdefghi'].map((name, at) => {
    const before = 'abcdefgh'[at];
    return `${name}: &${name} [${Array(9).fill(`*${before}`).join(',')}]`;
  }),
  JOB,
].join('\n');

type Put = (path: string) => void;
const text =
  (content: string | Buffer): Put =>
  (path) =>
    writeFileSync(path, content);

/** What lies there, and what is said of it. */
const HOSTILE: readonly (readonly [what: string, put: Put, fault: RegExp])[] = [
  ['a folder', (path) => mkdirSync(path), /it is a folder, expected a file/],
  ['a link that leads nowhere', (path) => symlinkSync('/nowhere/at-all', path), /cannot be read: ENOENT/],
  ['a link to itself', (path) => symlinkSync(path, path), /cannot be read: ELOOP/],
  ['a pipe that nobody writes to', (path) => execFileSync('mkfifo', [path]), /it is a pipe, expected a file/],
  ['a device without end', (path) => symlinkSync('/dev/zero', path), /it is a device or a socket/],
  ['bytes that are no UTF-8', text(Buffer.from([0x64, 0xff, 0xfe, 0x0a])), /it is not valid UTF-8/],
  [
    '100 MB',
    (path) => {
      writeFileSync(path, JOB);
      truncateSync(path, 100_000_000);
    },
    /it is longer than 131072 bytes/,
  ],
  ['aliases of aliases', text(ALIAS_BOMB), /cannot be read as YAML: Excessive alias count/],
  [
    'very many aliases',
    text(`a: &a x\nb: [${'*a,'.repeat(4_000)}]\n`),
    /got 4000 aliases, expected at most 100/,
  ],
  ['an alias of nothing', text(`${JOB}since: *nobody\n`), /nobody/],
  ['an alias of itself', text('a: &a [*a]\n'), /faulty.yaml: /],
  ['brackets without end', text('['.repeat(120_000)), /got 120000 brackets, expected at most 4000/],
  // Whether the stack has room for them is Node's to know.
  [
    'mappings without end',
    text('{a: '.repeat(1_100)),
    /faulty.yaml: (?:Maximum call stack size exceeded|Flow map)/,
  ],
  ['very many keys', text(Array.from({ length: 1_500 }, (_, n) => `k${n}:`).join('\n')), /unknown key 'k0'/],
  ['lists in each other', text('- '.repeat(60_000)), /a line of 50 lists in each other/],
  ['a key twice', text(`${JOB}dataset: metadata\n`), /the key "dataset" occurs twice at line 4, column 1/],
  ['very many faults', text(`${JOB}aggregations: [${'x,'.repeat(2_000)}]\n`), /and \d{4} more faults/],
  ['control characters', text('dataset: "\\e[2J\\a"\nvessels: ["\u202eIMO"]\n'), /faulty.yaml: dataset: got/],
  ['a scalar', text('5'), /the whole file/],
  ['nothing', text(''), /the whole file/],
  ['two documents', text(`${JOB}---\n${JOB}`), /multiple documents/],
  ['a tag of a program', text('!!js/function "x"'), /faulty.yaml: /],
];

test.for(HOSTILE)('%s is a fault beside all others', async ([, put, fault]) => {
  await using folder = await newTempFolder();
  put(join(folder.path, 'faulty.yaml'));
  writeFileSync(join(folder.path, 'good.yaml'), JOB);
  writeFileSync(join(folder.path, 'other.yaml'), `${JOB}verify: perhaps\n`);
  const { jobs, faults } = showSettings(environment(folder.path));
  expect(jobs.map(({ name }) => name)).toEqual(['good']);
  expect(faults.filter((one) => one.includes('faulty.yaml')).join('\n')).toMatch(fault);
  expect(faults.join('\n')).toContain('other.yaml: verify: got "perhaps"');
  for (const one of faults) {
    expect(unseenIn(one)).toEqual([]);
    expect(one.length).toBeLessThanOrEqual(2_000);
  }
  expect(() => loadConfig(environment(folder.path))).toThrow(ConfigError);
});

test('a socket, and names that steer a terminal, are faults too', async () => {
  await using folder = await newTempFolder();
  const server = createServer();
  await new Promise<void>((ready) => server.listen(join(folder.path, 'socket.yaml'), ready));
  writeFileSync(join(folder.path, `${hostileNames.link.replaceAll('/', '')}.yaml`), JOB);
  const { faults } = showSettings(environment(folder.path));
  server.close();
  expect(faults).toHaveLength(2);
  expect(faults.join()).toMatch(/becomes a folder; .*it is a device or a socket/);
  expect(unseenIn(faults.join())).toEqual([]);
});
