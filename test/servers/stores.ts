/**
 * `npm run stores`: S3 servers of others (`bash .ci/install-stores`), each asked what it keeps, held against the suite of the
 * object store port, killed exports, and nights. Ends with 1 where a server does otherwise than written below. `--write` puts
 * what was found into the table of docs/operating.md; `--only NAME` runs one.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createS3Store } from '../../src/store/s3/s3.ts';
import { bucketOn } from '../helpers/new-bucket.ts';
import type { S3Address } from '../helpers/radosgw.ts';
import { awsEnv } from '../helpers/s3-client.ts';
import { newTempFolder } from '../helpers/temp.ts';
import { askFacts } from './facts.ts';
import { runTests } from './run-tests.ts';
import { SERVERS } from './servers.ts';

export const FOUND_FILE = join(import.meta.dirname, 'found.json');

/** Tests, by the groups that the table has. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'the suite of the object store port': ['test/store/s3/s3.test.ts'],
  'killed exports, `gc`, `verify`, late writes': [
    'test/crash/crash-buckets.test.ts',
    ...['gc', 'verify-s3', 'late-writes'].map((name) => `test/integration/${name}.test.ts`),
  ],
  'two nights, plain and as tables': ['test/long/nights-on-s3.test.ts'],
};

/** Of each server the tests that fail, which is known and harmless: docs/operating.md says why. */
const DEVIATIONS: Readonly<Record<string, readonly RegExp[]>> = {
  ceph: [],
  minio: [
    /lists open uploads, apart from objects/,
    // Open uploads are not found there, so that they are neither shown nor removed.
    /on S3 an abandoned claim and its upload/,
    /on S3 a claim that was given back today keeps/,
    /on S3 a live claim is not touched/,
    /on S3 an upload of today stays/,
    /on S3 what a process left that was killed while it tried the store/,
    /on S3 what somebody takes up meanwhile/,
    /on S3 an upload under way is a warning/,
  ],
  seaweedfs: [
    /lists in the order of the UTF-8 bytes/,
    // Nothing is taken over there.
    /refuses to complete with a part that was replaced/,
    /adopted uploads/,
  ],
  versitygw: [/knows an object that another upload made/],
  moto: [/lists open uploads, apart from objects/, /says that an? (aborted|completed) upload is gone/],
};

export interface FoundServer {
  readonly title: string;
  readonly rows: Readonly<Record<string, string>>;
}

async function capabilitiesOn(address: S3Address, bucket: string): Promise<string> {
  const { endpoint, region, accessKeyId, secretAccessKey } = address;
  const credentials = { accessKeyId, secretAccessKey };
  const store = createS3Store({ bucket, endpoint, region, credentials, prefix: 'lake' });
  const { conditionalPut } = await store.capabilities();
  await store.close();
  return conditionalPut ? 'plain lakes, tables and fleets' : 'one process on a plain lake (`unfit-store`)';
}

/** What one server does; `unexpected` is what it should not, or should and does not. */
async function tryServer(name: string): Promise<{ found: FoundServer; unexpected: string[] }> {
  await using folder = await newTempFolder();
  const { title, start } = SERVERS[name]!;
  await using server = await start(folder.path);
  const { bucket, drop } = await bucketOn(server.address);
  const rows: Record<string, string> = await askFacts(server.address, bucket);
  const allowed = await capabilitiesOn(server.address, bucket);
  await drop();
  const env = { ...process.env, ...awsEnv(server.address), S3_TEST_ENDPOINT: server.address.endpoint };
  const unexpected: string[] = [];
  const unseen = new Set(DEVIATIONS[name]);
  for (const [group, files] of Object.entries(GROUPS)) {
    console.error(`${name}: ${group}`);
    const { passed, failed } = await runTests(files, env, join(folder.path, 'result.json'));
    for (const { name: test, message } of failed) {
      const known = DEVIATIONS[name]!.find((shape) => shape.test(test));
      if (known === undefined) unexpected.push(`${title}: ${test}\n${message}`);
      else unseen.delete(known);
    }
    rows[group] = failed.length === 0 ? `${passed} pass` : `${passed} pass, ${failed.length} do not (below)`;
    if (passed === 0) unexpected.push(`${title}: no test of '${group}' has passed`);
  }
  for (const shape of unseen) unexpected.push(`${title}: ${shape} passes now: take it out of the deviations`);
  rows['what vessel-export does there'] = allowed;
  return { found: { title, rows }, unexpected };
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    write: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});
const names = values.only ?? Object.keys(SERVERS);
const unknown = names.filter((name) => SERVERS[name] === undefined);
if (values.help || unknown.length > 0) {
  console.error(
    `usage: npm run stores -- [--only NAME]… [--write]\nNAME: ${Object.keys(SERVERS).join(', ')}`,
  );
  process.exitCode = values.help ? 0 : 2;
} else {
  const before: Record<string, FoundServer> = JSON.parse(
    await readFile(FOUND_FILE, 'utf8').catch(() => '{}'),
  );
  const found = { ...before };
  for (const name of names) {
    const tried = await tryServer(name);
    found[name] = tried.found;
    console.log(`\n${tried.found.title}`);
    for (const [row, answer] of Object.entries(tried.found.rows)) console.log(`  ${row}: ${answer}`);
    for (const text of tried.unexpected) console.log(`  UNEXPECTED ${text}`);
    if (tried.unexpected.length > 0) process.exitCode = 1;
  }
  const ordered = Object.fromEntries(
    Object.keys(SERVERS).flatMap((name) => (found[name] ? [[name, found[name]]] : [])),
  );
  if (values.write) await writeFile(FOUND_FILE, `${JSON.stringify(ordered, null, 2)}\n`);
  else if (JSON.stringify(ordered) !== JSON.stringify(before))
    console.log('\nThe table differs: --write puts it there.');
}
