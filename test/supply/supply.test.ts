/** What comes with us: licences of the installed packages, and the list of components. */
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newTempFolder } from '../helpers/temp.ts';
import { ALLOWED, ALLOWED_FOR_DEVELOPMENT, dependenciesOf, licenceFault } from './licences.ts';
import { makeSbom } from './sbom.ts';

const ROOT = join(import.meta.dirname, '../..');
const dependencies = dependenciesOf(ROOT);

test('every dependency has a licence that is allowed', () => {
  expect(dependencies.flatMap((one) => licenceFault(one) ?? [])).toEqual([]);
  expect(dependencies.length).toBeGreaterThan(100);
});

test('every licence on the list is one that a dependency has', () => {
  const expressions = dependencies.map(({ licence }) => licence ?? '');
  const unused = [...Object.keys(ALLOWED), ...Object.keys(ALLOWED_FOR_DEVELOPMENT)].filter(
    (id) => !expressions.some((expression) => expression.split(/ OR | AND |[()]/).includes(id)),
  );
  expect(unused).toEqual([]);
});

const SHIPPED = { name: 'some', version: '1.2.3', isForDevelopment: false };
test.for([
  ['MIT', true],
  ['(MIT OR GPL-3.0-only)', true],
  ['MIT AND ISC', true],
  ['MIT AND GPL-3.0-only', false],
  ['MIT OR (ISC AND GPL-3.0-only)', true],
  ['(MIT OR ISC) AND GPL-3.0-only', false],
  ['Apache-2.0 WITH LLVM-exception', false],
  ['AGPL-3.0-only', false],
  ['SEE LICENSE IN EULA.txt', false],
  ['UNLICENSED', false],
  ['mit-like', false],
  ['', false],
] as const)("'%s' is allowed: %s", ([licence, isAllowed]) => {
  expect(licenceFault({ ...SHIPPED, licence }) === undefined).toBe(isAllowed);
});

test('a licence that is not allowed is said with the package, and what to do', () => {
  expect(licenceFault({ ...SHIPPED, licence: 'AGPL-3.0-only' })).toBe(
    "some 1.2.3 (handed on to users) has the licence 'AGPL-3.0-only', which test/supply/licences.ts does not allow: " +
      'take another package, or read the licence and add it there with the reason',
  );
  expect(licenceFault({ ...SHIPPED, licence: undefined })).toContain('names no licence');
  // What we use and do not hand on may be of the second list.
  expect(licenceFault({ ...SHIPPED, licence: 'MPL-2.0' })).toContain('handed on');
  expect(licenceFault({ ...SHIPPED, licence: 'MPL-2.0', isForDevelopment: true })).toBeUndefined();
});

test('the installed package counts, and the lock file for what is not installed here', async () => {
  await using folder = await newTempFolder();
  const packages = {
    '': { name: 'root', version: '1.0.0' },
    'node_modules/changed': { version: '1.0.0', license: 'MIT' },
    'node_modules/old/node_modules/inner': { version: '2.0.0', license: 'MIT', dev: true },
    'node_modules/elsewhere': { version: '3.0.0', license: 'ISC', optional: true },
    'node_modules/alias': { name: '@scope/real', version: '4.0.0', dev: true },
  };
  await writeFile(join(folder.path, 'package-lock.json'), JSON.stringify({ packages }));
  const install = async (path: string, manifest: object) => {
    await mkdir(join(folder.path, path), { recursive: true });
    await writeFile(join(folder.path, path, 'package.json'), JSON.stringify(manifest));
  };
  await install('node_modules/changed', { license: 'SSPL-1.0' });
  await install('node_modules/old/node_modules/inner', { licenses: [{ type: 'MIT' }, { type: 'GPL-2.0' }] });
  expect(dependenciesOf(folder.path)).toEqual([
    { name: 'changed', version: '1.0.0', isForDevelopment: false, licence: 'SSPL-1.0' },
    { name: 'inner', version: '2.0.0', isForDevelopment: true, licence: 'MIT OR GPL-2.0' },
    { name: 'elsewhere', version: '3.0.0', isForDevelopment: false, licence: 'ISC' },
    { name: '@scope/real', version: '4.0.0', isForDevelopment: true, licence: undefined },
  ]);
});

test('the bill of materials names what users get, each with licence and hash, and nothing of the moment', () => {
  const sbom = makeSbom();
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: expect.stringMatching(/^1\.\d$/) });
  const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(sbom.metadata.component).toMatchObject({ name, version, purl: `pkg:npm/${name}@${version}` });
  expect(sbom).not.toHaveProperty('serialNumber');
  expect(sbom.metadata).not.toHaveProperty('timestamp');
  const shipped = dependencies.filter(({ isForDevelopment }) => !isForDevelopment);
  const names = new Set(sbom.components.map((one) => `${one.name}@${one.version}`));
  expect([...names].sort()).toEqual(shipped.map((one) => `${one.name}@${one.version}`).sort());
  for (const direct of ['undici', 'yaml', 'bullmq', '@azure/storage-blob', '@azure/msal-node'])
    expect(sbom.components.map(({ name }) => name)).toContain(direct);
  const refs = new Set(sbom.components.map((one) => one['bom-ref']));
  for (const { dependsOn } of sbom.dependencies)
    expect(dependsOn.filter((ref) => !refs.has(ref))).toEqual([]);
  for (const { name, licenses, hashes } of sbom.components) {
    expect(licenses, name).toHaveLength(1);
    expect(hashes?.[0], name).toMatchObject({
      alg: 'SHA-512',
      content: expect.stringMatching(/^[0-9a-f]{128}$/),
    });
  }
});
