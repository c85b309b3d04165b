import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../../../src/core/errors.ts';
import { loadConfig, showSettings, surveyConfig } from '../../../src/runtime/config/config.ts';
import { newTempFolder } from '../../helpers/temp.ts';

const SETTINGS = {
  QUERY_BASE_URL: 'https://api.example.com/t',
  QUERY_AUTH_URL: 'https://auth.example.com',
  QUERY_CLIENT_ID: 'reader',
  QUERY_CLIENT_SECRET: 'very-secret',
  LAKE_URL: 'file:///data/lake',
};

function faultsOf(env: Readonly<Record<string, string>>): string {
  try {
    loadConfig({ ...SETTINGS, ...env }, {});
    return '';
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message;
  }
}

const S3 = { LAKE_URL: 's3://bucket', AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hush' };
const OTLP = 'OTEL_EXPORTER_OTLP_ENDPOINT';

/** What sends a secret, and to where; `remote` is a host that is not this machine. */
const SENT: readonly [name: string, (remote: string) => Readonly<Record<string, string>>][] = [
  ['QUERY_BASE_URL', (host) => ({ QUERY_BASE_URL: `http://${host}/t` })],
  ['QUERY_AUTH_URL', (host) => ({ QUERY_AUTH_URL: `http://${host}` })],
  ['NOTIFY_URL', (host) => ({ NOTIFY_URL: `http://${host}/hooks/hush` })],
  ['REDIS_URL', (host) => ({ REDIS_URL: `redis://:hush@${host}:6379` })],
  ['REDIS_URL', (host) => ({ REDIS_URL: `redis://${host}`, REDIS_PASSWORD: 'hush' })],
  [OTLP, (host) => ({ [OTLP]: `http://${host}:4318`, OTEL_EXPORTER_OTLP_HEADERS: 'key=hush' })],
  [OTLP, (host) => ({ [OTLP]: `http://${host}:4318`, OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'key=hush' })],
  [
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    (host) => ({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://me:hush@${host}` }),
  ],
  ['OPENLINEAGE_URL', (host) => ({ OPENLINEAGE_URL: `http://${host}`, OPENLINEAGE_API_KEY: 'hush' })],
  ['OPENLINEAGE_URL', (host) => ({ OPENLINEAGE_URL: `http://me:hush@${host}/x` })],
  [
    'AWS_ENDPOINT_URL_S3',
    (host) => ({ ...S3, AWS_ENDPOINT_URL_S3: `http://${host}`, AWS_SESSION_TOKEN: 'hush' }),
  ],
  [
    'AWS_ENDPOINT_URL_S3',
    (host) => ({
      ...{ LAKE_URL: 's3://bucket', AWS_ENDPOINT_URL_S3: `http://${host}` },
      AWS_WEB_IDENTITY_TOKEN_FILE: '/run/secrets/of-a-role',
    }),
  ],
  ['AWS_ENDPOINT_URL', (host) => ({ ...S3, AWS_ENDPOINT_URL: `http://${host}`, AWS_SESSION_TOKEN: 'hush' })],
];

test('a session token from a pipe is left to the store', async () => {
  const folder = await newTempFolder();
  onTestFinished(() => folder.remove());
  const path = join(folder.path, 'token');
  execFileSync('mkfifo', [path]);
  // Whoever opens it waits for somebody to write, for ever here.
  const env = { ...S3, AWS_SESSION_TOKEN_FILE: path };
  expect(faultsOf(env)).toBe('');
  expect(faultsOf({ ...env, AWS_ENDPOINT_URL_S3: 'http://elsewhere.example' })).toContain('got plain http');
});

describe.each(SENT)('a secret to %s', (name, settings) => {
  test('goes over no network in clear, unless its host is named', () => {
    const fault = faultsOf(settings('elsewhere.example'));
    expect(fault).toContain(`- ${name}: got plain `);
    expect(fault).toContain('set QUERY_ALLOW_HTTP=elsewhere.example');
    expect(fault).not.toContain('hush');
    for (const host of ['localhost', '127.0.0.1', '[::1]', 'LOCALHOST'])
      expect(faultsOf(settings(host))).toBe('');
    for (const allowed of ['1', 'true', 'other,elsewhere.example', 'ELSEWHERE.example'])
      expect(faultsOf({ ...settings('elsewhere.example'), QUERY_ALLOW_HTTP: allowed })).toBe('');
    expect(faultsOf({ ...settings('Elsewhere.Example'), QUERY_ALLOW_HTTP: 'elsewhere.example' })).toBe('');
    for (const allowed of ['0', 'false', 'example', 'other'])
      expect(faultsOf({ ...settings('elsewhere.example'), QUERY_ALLOW_HTTP: allowed })).toContain(name);
  });

  test('is given to nobody by who goes on in spite of the fault', () => {
    const { settings: used } = surveyConfig({ ...SETTINGS, ...settings('elsewhere.example') });
    expect(JSON.stringify(used)).not.toContain('elsewhere.example');
    if (name.startsWith('AWS_')) expect(used).not.toHaveProperty('LAKE_URL');
    const shown = JSON.stringify(showSettings({ ...SETTINGS, ...settings('elsewhere.example') }));
    expect(shown).not.toContain('hush');
  });
});

test('what is sent no secret may be sent in clear', () => {
  for (const env of [
    { REDIS_URL: 'redis://elsewhere.example' },
    { [OTLP]: 'http://elsewhere.example:4318' },
    { [OTLP]: 'http://e.example', OTEL_EXPORTER_OTLP_HEADERS: 'key=hush', OTEL_SDK_DISABLED: 'true' },
    { ...S3, AWS_ENDPOINT_URL_S3: 'http://elsewhere.example' },
    { AWS_ENDPOINT_URL_S3: 'http://elsewhere.example', AWS_SESSION_TOKEN: 'hush' },
  ])
    expect(faultsOf(env)).toBe('');
});

test('TLS of which no certificate is checked is no better than none', () => {
  const unchecked = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const fault = faultsOf({
    ...{ ...unchecked, ...S3, AWS_SESSION_TOKEN: 'hush', NOTIFY_URL: 'https://hooks.example/hush' },
    REDIS_URL: 'rediss://:hush@redis.example',
  });
  for (const name of ['QUERY_BASE_URL', 'QUERY_AUTH_URL', 'NOTIFY_URL', 'REDIS_URL', 'LAKE_URL'])
    expect(fault).toContain(`- ${name}: got no check of the certificate of '`);
  expect(fault).toContain('NODE_EXTRA_CA_CERTS');
  expect(fault).not.toContain('hush');
  const here = { QUERY_BASE_URL: 'https://localhost/t', QUERY_AUTH_URL: 'https://127.0.0.1' };
  expect(faultsOf({ ...unchecked, ...here })).toBe('');
  expect(faultsOf({ ...unchecked, QUERY_ALLOW_HTTP: '1' })).toBe('');
  expect(faultsOf({ ...unchecked, QUERY_ALLOW_HTTP: 'api.example.com,auth.example.com' })).toBe('');
});

test('a file that a setting or a link names by mistake is not shown', async () => {
  await using folder = await newTempFolder();
  const path = join(folder.path, 'shadow.yaml');
  writeFileSync(path, 'root:$6$hush:19000\n');
  const fault = faultsOf({ REDIS_URL_FILE: path, NOTIFY_URL_FILE: path });
  expect(fault).toContain(`REDIS_URL (file ${path}): got 18 characters, expected redis://`);
  expect(fault).not.toContain('hush');
  for (const text of [
    'hush of somebody',
    '"hush\\q"',
    '- hush',
    '@hush',
    'hush: [',
    '\thush',
    '%hush\n---\n',
    '"a" hush',
    '&a &hush',
    'a: >hush',
  ]) {
    writeFileSync(path, text);
    const { faults } = surveyConfig({ ...SETTINGS, JOBS_DIR: folder.path });
    expect(faults.length, text).toBeGreaterThan(0);
    expect(faults.filter((one) => !one.includes("unknown key 'hush'")).join('\n'), text).not.toContain(
      'hush',
    );
  }
});
