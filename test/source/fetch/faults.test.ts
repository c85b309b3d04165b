import { describe, expect, it } from 'vitest';
import { DataError, FatalError, RetriableError } from '../../../src/core/errors.ts';
import { faultOf } from '../../../src/source/fetch/faults.ts';

const withCode = (code: string) => Object.assign(new Error(`it was ${code}`), { code });

describe('faultOf', () => {
  it.each([
    ...'ECONNRESET ECONNREFUSED EPIPE ETIMEDOUT EAI_AGAIN EHOSTUNREACH ENETUNREACH EPROTO'.split(' '),
    ...'UND_ERR_SOCKET UND_ERR_CONNECT_TIMEOUT UND_ERR_CLOSED UND_ERR_DESTROYED'.split(' '),
    ...'HPE_INVALID_CONSTANT ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR'.split(' '),
    ...'E_NEVER_HEARD_OF'.split(' '),
  ])('retries %s as a failed connection before headers, as a broken body after', (code) => {
    const before = faultOf(withCode(code), 'headers', 'page');
    expect(before).toBeInstanceOf(RetriableError);
    expect(before).toMatchObject({ code: 'connection-failed', message: expect.stringContaining(code) });
    expect(faultOf(withCode(code), 'body', 'page')).toMatchObject({ code: 'body-broken' });
  });

  it.each(['Z_BUF_ERROR', 'Z_DATA_ERROR', 'Z_MEM_ERROR'])(
    'retries a gzip body that breaks off with %s',
    (code) => {
      expect(faultOf(withCode(code), 'body', 'page')).toMatchObject({ code: 'body-broken' });
    },
  );

  it.each([
    ...'CERT_HAS_EXPIRED CERT_NOT_YET_VALID CERT_REVOKED DEPTH_ZERO_SELF_SIGNED_CERT'.split(' '),
    ...'SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE'.split(' '),
    ...'UNABLE_TO_GET_ISSUER_CERT_LOCALLY ERR_TLS_CERT_ALTNAME_INVALID HOSTNAME_MISMATCH'.split(' '),
  ])('takes %s for good', (code) => {
    const fault = faultOf(withCode(code), 'headers', 'page');
    expect(fault).toBeInstanceOf(FatalError);
    expect(fault).toMatchObject({
      code: 'certificate-refused',
      message: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
  });

  it('looks into what other errors wrap', () => {
    const wrapped = new Error('outer', { cause: new AggregateError([withCode('CERT_HAS_EXPIRED')]) });
    expect(faultOf(wrapped, 'headers', 'page')).toMatchObject({ code: 'certificate-refused' });
  });

  it('tells an unknown host apart', () => {
    expect(faultOf(withCode('ENOTFOUND'), 'headers', 'page')).toMatchObject({ code: 'host-unknown' });
  });

  it('never retries a request that undici finds invalid', () => {
    expect(faultOf(withCode('UND_ERR_INVALID_ARG'), 'headers', 'page')).toMatchObject({
      code: 'request-invalid',
    });
  });

  it('passes our own errors', () => {
    const error = new DataError('page-too-large', 'big');
    expect(faultOf(error, 'body', 'page')).toBe(error);
  });
});
