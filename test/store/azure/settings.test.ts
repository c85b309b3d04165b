/** How an account of Azure is named and opened, and what is said where that cannot be. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../../src/core/errors.ts';
import { readEnvironment } from '../../../src/runtime/config/environment.ts';
import { azureSettingsFromEnv } from '../../../src/store/azure/settings.ts';
import { openStore, parseLakeUrl } from '../../../src/store/open-store.ts';
import { newTempFolder } from '../../helpers/temp.ts';
import { expectFault } from '../store-suite.ts';

const KEY = Buffer.from('a key of an account').toString('base64');
const SAS = 'sv=2026-01-01&sr=c&sp=rwdl&sig=hush%2Bhush%3D';
const ABFSS = 'abfss://lake@fleet1.dfs.core.windows.net/vessels';

describe('LAKE_URL of Azure', () => {
  test.each([
    ['az://lake', { container: 'lake', prefix: '' }],
    ['az://my-lake/of ships/', { container: 'my-lake', prefix: 'of ships' }],
    [
      ABFSS,
      {
        ...{ container: 'lake', prefix: 'vessels' },
        named: { account: 'fleet1', endpoint: 'https://fleet1.blob.core.windows.net' },
      },
    ],
    [
      'abfss://lake@fleet1.dfs.core.chinacloudapi.cn',
      {
        ...{ container: 'lake', prefix: '' },
        named: { account: 'fleet1', endpoint: 'https://fleet1.blob.core.chinacloudapi.cn' },
      },
    ],
  ])('%s is understood', (url, location) => {
    expect(parseLakeUrl(url)).toEqual({ kind: 'azure', ...location });
  });

  test.each([
    ...['az:lake', 'az://', 'az://La', 'az://lake//x', 'az://lake/../x', 'az://a--b', 'az://user:pass@lake'],
    ...['abfss://lake', 'abfss://lake@host/x', 'abfs://lake@fleet1.dfs.core.windows.net'],
    'abfss://lake@fleet1.blob.core.windows.net/x',
    `az://lake/x?${SAS}`,
  ])('%s is refused, and shows no secret', async (url) => {
    const env = { AZURE_STORAGE_ACCOUNT: 'fleet1', AZURE_STORAGE_KEY: KEY };
    const { message } = await expectFault(() => openStore(url, env), ConfigError, 'lake-url');
    expect(message).toContain('abfss://container@account.dfs.core.windows.net/prefix');
    expect(message).not.toMatch(/hush|pass@/);
  });

  test('its container is shown, for it is no secret', () => {
    const { faults } = readEnvironment({ LAKE_URL: 'abfss://Lake@fleet1.dfs.core.windows.net' });
    expect(faults.join()).toContain('is not a name of a container');
  });
});

describe('settings of Azure', () => {
  const base = { account: 'fleet1', endpoint: 'https://fleet1.blob.core.windows.net' };
  const named = { AZURE_STORAGE_ACCOUNT: 'fleet1' };

  test('come from the environment, in each of the ways that open an account', () => {
    const read = (env: Record<string, string>) => azureSettingsFromEnv(env, undefined);
    expect(read({ ...named, AZURE_STORAGE_KEY: KEY })).toEqual({ ...base, secret: { key: KEY } });
    expect(read({ ...named, AZURE_STORAGE_SAS_TOKEN: `?${SAS}` })).toEqual({ ...base, secret: { sas: SAS } });
    expect(read(named)).toEqual(base);
    const whole = `DefaultEndpointsProtocol=https;AccountName=fleet1;AccountKey=${KEY};EndpointSuffix=core.windows.net`;
    expect(read({ AZURE_STORAGE_CONNECTION_STRING: whole })).toEqual({ ...base, secret: { key: KEY } });
    const signed = `BlobEndpoint=https://fleet1.blob.core.windows.net/;SharedAccessSignature=${SAS}`;
    expect(read({ AZURE_STORAGE_CONNECTION_STRING: signed })).toEqual({ ...base, secret: { sas: SAS } });
    const endpoint = 'http://127.0.0.1:10000/fleet1';
    expect(
      read({ ...named, AZURE_STORAGE_ENDPOINT: endpoint, AZURE_STORAGE_ENCRYPTION_SCOPE: 'ours' }),
    ).toEqual({
      ...{ account: 'fleet1', endpoint, encryptionScope: 'ours' },
    });
  });

  test.each([
    [{}, 'names no storage account: set AZURE_STORAGE_ACCOUNT'],
    [{ AZURE_STORAGE_ACCOUNT: 'Fleet-1' }, "'Fleet-1' is no name of a storage account"],
    [{ ...named, AZURE_STORAGE_KEY: 'hush' + '-hush' }, 'AZURE_STORAGE_KEY: its 9 characters are no key'],
    [
      { ...named, AZURE_STORAGE_SAS_TOKEN: 'hush' },
      'AZURE_STORAGE_SAS_TOKEN: its 4 characters are no shared',
    ],
    [
      { ...named, AZURE_STORAGE_KEY: KEY, AZURE_STORAGE_SAS_TOKEN: SAS },
      'are both set, expected one of them',
    ],
    [{ AZURE_STORAGE_CONNECTION_STRING: 'hush' }, 'AZURE_STORAGE_CONNECTION_STRING names no account'],
    [
      { AZURE_STORAGE_CONNECTION_STRING: 'AccountName=fleet1' },
      'neither AccountKey nor SharedAccessSignature',
    ],
    [
      {
        AZURE_STORAGE_ACCOUNT: 'other',
        AZURE_STORAGE_CONNECTION_STRING: `AccountName=fleet1;AccountKey=${KEY}`,
      },
      "AZURE_STORAGE_ACCOUNT names the account 'other', expected 'fleet1'",
    ],
    [{ ...named, AZURE_STORAGE_ENDPOINT: 'https://a:hush@b' }, 'AZURE_STORAGE_ENDPOINT is "https://***@b"'],
    [{ ...named, AZURE_STORAGE_ENDPOINT: `https://b?${SAS}` }, 'without credentials'],
  ])('%j are refused by name, without showing a secret', async (env, found) => {
    const { message } = await expectFault(() => openStore('az://lake', env), ConfigError, 'azure-settings');
    expect(message).toContain(found);
    expect(message).not.toMatch(/hush/);
  });

  test('a secret is read again when its file has changed', async () => {
    await using folder = await newTempFolder();
    const path = join(folder.path, 'key');
    writeFileSync(path, `${KEY}\n`);
    const { secret } = azureSettingsFromEnv({ ...named, AZURE_STORAGE_KEY_FILE: path }, undefined);
    expect(secret).toBeTypeOf('function');
    expect((secret as () => unknown)()).toEqual({ key: KEY });
  });

  test('a signature or a token is not sent in clear, a key only signs', () => {
    const env = { ...named, LAKE_URL: 'az://lake', AZURE_STORAGE_ENDPOINT: 'http://store.example/fleet1' };
    const faultsOf = (more: object) =>
      readEnvironment({ ...env, ...more }).faults.filter((fault) =>
        fault.startsWith('AZURE_STORAGE_ENDPOINT'),
      );
    expect(faultsOf({ AZURE_STORAGE_KEY: KEY })).toEqual([]);
    expect(faultsOf({ AZURE_STORAGE_SAS_TOKEN: SAS })).toEqual([expect.stringContaining('plain http')]);
    expect(faultsOf({})).toEqual([expect.stringContaining('plain http')]);
  });
});

test("other lakes load nothing of Azure's, and without its packages a lake there says what to install", () => {
  const openStoreUrl = new URL('../../../src/store/open-store.ts', import.meta.url).href;
  const script = `
    import { registerHooks } from 'node:module';
    const asked = [];
    registerHooks({ resolve(name, context, next) {
      if (!name.startsWith('@azure/')) return next(name, context);
      asked.push(name);
      throw Object.assign(new Error("Cannot find package '" + name + "' imported from x"), { code: 'ERR_MODULE_NOT_FOUND' });
    } });
    const { openStore } = await import(${JSON.stringify(openStoreUrl)});
    await openStore('file:///none', {});
    await openStore('s3://bucket', { AWS_REGION: 'eu-north-1' });
    const others = asked.length;
    const fault = await openStore('az://lake', { AZURE_STORAGE_ACCOUNT: 'fleet1' }).catch((error) => error);
    console.log(JSON.stringify({ others, code: fault.code, message: fault.message }));`;
  const cwd = fileURLToPath(new URL('../../..', import.meta.url));
  const told = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd,
    encoding: 'utf8',
  });
  expect(JSON.parse(told)).toEqual({
    ...{ others: 0, code: 'missing-package' },
    message: expect.stringContaining('npm install @azure/storage-blob@12 @azure/identity@4'),
  });
});
