import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/core/errors.ts';
import { openStore, parseLakeUrl } from '../../src/store/open-store.ts';
import { s3SettingsFromEnv } from '../../src/store/s3/settings.ts';
import { newTempFolder } from '../helpers/temp.ts';
import { expectFault } from './store-suite.ts';

describe('LAKE_URL', () => {
  test.each([
    ['file:///data/lake', { kind: 'local', rootDir: '/data/lake' }],
    ['file:///data/my%20lake', { kind: 'local', rootDir: '/data/my lake' }],
    ['s3://bucket', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://bucket/', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://my.bucket-1/lake/of ships', { kind: 's3', bucket: 'my.bucket-1', prefix: 'lake/of ships' }],
    ['s3://bucket/lake/', { kind: 's3', bucket: 'bucket', prefix: 'lake' }],
  ])('%s is understood', (url, location) => {
    expect(parseLakeUrl(url)).toEqual(location);
  });

  test.each([
    '',
    'lake',
    '/data/lake',
    'file:lake',
    'file://data/lake',
    'file:///lake?x=1',
    'http://bucket/lake',
    's3:bucket/lake',
    's3:///lake',
    's3://b/lake',
    's3://bucket//lake',
    's3://bucket/../lake',
    's3://bucket/lake?region=x',
  ])('%j is refused by name', async (url) => {
    const fault = await expectFault(() => openStore(url, {}), ConfigError, 'lake-url');
    expect(fault.message).toContain(`LAKE_URL is ${JSON.stringify(url)}`);
    expect(fault.message).toContain('file:///');
  });

  test('credentials in it are refused and not shown', async () => {
    const fault = await expectFault(
      () => openStore('s3://AKIAKEY:se/cret@bucket/lake', {}),
      ConfigError,
      'lake-url',
    );
    expect(fault.message).not.toMatch(/AKIAKEY|se\/cret/);
    expect(fault.message).toContain('AWS_SECRET_ACCESS_KEY');
  });
});

describe('AWS settings', () => {
  test('come from the environment', () => {
    const env = {
      AWS_ENDPOINT_URL: 'http://other:1',
      AWS_ENDPOINT_URL_S3: 'https://s3.example:9000',
      AWS_REGION: 'eu-north-1',
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_SESSION_TOKEN: 'token',
      AWS_MAX_ATTEMPTS: '3',
    };
    expect(s3SettingsFromEnv(env)).toEqual({
      endpoint: 'https://s3.example:9000',
      region: 'eu-north-1',
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: 'token' },
      maxAttempts: 3,
    });
  });

  test('that are secret come from files, too', async () => {
    await using folder = await newTempFolder();
    const file = (name: string, text: string) => {
      writeFileSync(join(folder.path, name), text);
      return join(folder.path, name);
    };
    const env = {
      AWS_ACCESS_KEY_ID_FILE: file('id', 'id\n'),
      AWS_SECRET_ACCESS_KEY_FILE: file('secret', 'hush-hush\n'),
    };
    const credentials = { accessKeyId: 'id', secretAccessKey: 'hush-hush' };
    const read = (more: object) => {
      const found = s3SettingsFromEnv({ ...env, ...more }).credentials;
      return typeof found === 'function' ? found() : found;
    };
    expect(read({})).toEqual(credentials);
    expect(read({ AWS_SESSION_TOKEN_FILE: file('token', '') })).toEqual(credentials);
    // Empty files: as the SDK finds them.
    expect(s3SettingsFromEnv({ ...env, AWS_SECRET_ACCESS_KEY_FILE: file('none', '') })).toEqual({});

    const wrong = { ...env, AWS_SECRET_ACCESS_KEY_FILE: join(folder.path, 'nowhere') };
    const fault = await expectFault(() => openStore('s3://bucket', wrong), ConfigError, 'aws-credentials');
    expect(fault.message).toContain('AWS_SECRET_ACCESS_KEY_FILE: cannot read');
    const both = { ...env, AWS_SECRET_ACCESS_KEY: 'other' };
    const twice = await expectFault(() => openStore('s3://bucket', both), ConfigError, 'aws-credentials');
    expect(twice.message).toContain('AWS_SECRET_ACCESS_KEY and AWS_SECRET_ACCESS_KEY_FILE: both are set');
    expect(twice.message).not.toMatch(/hush|other/);
  });

  test('are left to the SDK where the environment has none', () => {
    expect(s3SettingsFromEnv({})).toEqual({});
    expect(
      s3SettingsFromEnv({ AWS_PROFILE: 'p', AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 's' }),
    ).toEqual({});
    expect(s3SettingsFromEnv({ AWS_ENDPOINT_URL: 'http://x:1' })).toEqual({
      endpoint: 'http://x:1',
      region: 'us-east-1',
    });
  });

  test('are refused by name when they are wrong, without showing a secret', async () => {
    const env = { AWS_ENDPOINT_URL_S3: 'https://key:hush@s3.example' };
    const fault = await expectFault(() => openStore('s3://bucket', env), ConfigError, 'aws-endpoint');
    expect(fault.message).toContain('AWS_ENDPOINT_URL_S3');
    expect(fault.message).not.toContain('hush');
    await expectFault(
      () => openStore('s3://bucket', { AWS_ENDPOINT_URL: 's3.example' }),
      ConfigError,
      'aws-endpoint',
    );
    await expectFault(
      () => openStore('s3://bucket', { AWS_MAX_ATTEMPTS: 'many' }),
      ConfigError,
      'aws-max-attempts',
    );
  });
});

test('a local lake does not load the AWS SDK', () => {
  const openStoreUrl = new URL('../../src/store/open-store.ts', import.meta.url).href;
  const script = `
    import { createRequire } from 'node:module';
    const { openStore } = await import(${JSON.stringify(openStoreUrl)});
    const awsModules = () => Object.keys(createRequire(import.meta.url).cache).filter((path) => /@aws-sdk|@smithy/.test(path)).length;
    await openStore('file:///none', {});
    const local = awsModules();
    await openStore('s3://bucket', { AWS_REGION: 'eu-north-1' });
    console.log(JSON.stringify({ local, s3: awsModules() > 0 }));`;
  const args = ['--input-type=module', '--eval', script];
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  expect(JSON.parse(execFileSync(process.execPath, args, { cwd, encoding: 'utf8' }))).toEqual({
    local: 0,
    s3: true,
  });
});
