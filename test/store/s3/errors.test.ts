import { describe, expect, test } from 'vitest';
import { FatalError, RetriableError } from '../../../src/core/errors.ts';
import { s3Error } from '../../../src/store/s3/errors.ts';
import { createS3Store } from '../../../src/store/s3/s3.ts';
import { expectFault } from '../store-suite.ts';

/** An error as the SDK throws it. */
function sdkError(name: string, status?: number, code?: string, message = name): Error {
  return Object.assign(new Error(message), { name, code, $metadata: { httpStatusCode: status } });
}

describe('S3 errors by consequence', () => {
  test.each([
    ['NoSuchBucket', 404, 'no-bucket'],
    ['AccessDenied', 403, 'no-permission'],
    ['Forbidden', 403, 'no-permission'],
    ['ExpiredToken', 400, 'bad-credentials'],
    ['CredentialsProviderError', undefined, 'bad-credentials'],
    ['RequestTimeTooSkewed', 403, 'clock-skew'],
    ['PermanentRedirect', 301, 'wrong-region'],
    ['Unknown', 301, 'wrong-region'],
    ['QuotaExceeded', 403, 'disk-full'],
    ['Unknown', 507, 'disk-full'],
    ['NotImplemented', 501, 'unsupported-store'],
    ['MalformedXML', 400, 's3-refused'],
    ['toString', 400, 's3-refused'],
  ] as const)('%s %s is fatal: %s', (name, status, code) => {
    const error = s3Error(sdkError(name, status), 'read', 's3://bucket/key', []);
    expect(error).toBeInstanceOf(FatalError);
    expect(error.code).toBe(code);
    expect(error.message).toContain('cannot read s3://bucket/key');
  });

  test.each([
    ['SlowDown', 503, 's3-overloaded'],
    ['Unknown', 429, 's3-overloaded'],
    ['InternalError', 500, 's3-unavailable'],
    ['BadDigest', 400, 's3-unavailable'],
    ['RequestTimeout', 400, 's3-unavailable'],
    ['OperationAborted', 409, 's3-unavailable'],
    ['TimeoutError', undefined, 's3-unavailable'],
  ] as const)('%s %s may pass: %s', (name, status, code) => {
    const error = s3Error(sdkError(name, status), 'read', 's3://bucket/key', []);
    expect(error).toBeInstanceOf(RetriableError);
    expect(error.code).toBe(code);
  });

  test('a certificate that cannot be trusted is fatal, a connection refused is not', () => {
    for (const code of [
      'CERT_HAS_EXPIRED',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ]) {
      expect(s3Error(sdkError('Error', undefined, code), 'read', 'x', []).code).toBe('bad-certificate');
    }
    const refused = s3Error(sdkError('Error', undefined, 'ECONNREFUSED', ''), 'read', 'x', []);
    expect(refused.code).toBe('s3-unavailable');
    expect(refused.message).toContain('ECONNREFUSED');
  });

  test('text from the store is shown without secrets, control characters and beyond measure', () => {
    const message = `key hush-hush-hush\u001b[31m\n${'x'.repeat(5000)}`;
    const shown = s3Error(sdkError('Strange', 400, undefined, message), 'read', 's3://bucket', [
      'hush-hush-hush',
    ]).message;
    expect(shown).toContain('***');
    expect(shown).not.toMatch(/hush|\u001b|\n/);
    expect(shown.length).toBeLessThan(500);
  });

  test('a region that is nowhere set is asked for by name', async () => {
    const { AWS_REGION, AWS_CONFIG_FILE } = process.env;
    delete process.env.AWS_REGION;
    process.env.AWS_CONFIG_FILE = '/dev/null';
    const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
    const store = createS3Store({ bucket: 'bucket', prefix: '', credentials });
    try {
      const fault = await expectFault(() => store.get('key'), FatalError, 'no-region');
      expect(fault.message).toContain('AWS_REGION');
    } finally {
      await store.close();
      if (AWS_REGION !== undefined) process.env.AWS_REGION = AWS_REGION;
      if (AWS_CONFIG_FILE === undefined) delete process.env.AWS_CONFIG_FILE;
      else process.env.AWS_CONFIG_FILE = AWS_CONFIG_FILE;
    }
  });
});
