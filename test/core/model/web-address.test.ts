import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConfigError } from '../../../src/core/errors.ts';
import { isInClear, maskUrl, readWebAddress } from '../../../src/core/model/web-address.ts';
import { loadConfig } from '../../../src/runtime/config/config.ts';

const SETTINGS = {
  QUERY_BASE_URL: 'https://api.example.com/t',
  QUERY_AUTH_URL: 'https://auth.example.com',
  QUERY_CLIENT_ID: 'reader',
  QUERY_CLIENT_SECRET: 'very-secret',
  LAKE_URL: 'file:///data/lake',
};

/** The address as the client will connect to it, or the fault. */
function accept(name: 'QUERY_BASE_URL' | 'QUERY_AUTH_URL', text: string): { url: URL } | { fault: string } {
  try {
    return { url: new URL(loadConfig({ ...SETTINGS, [name]: text }, {}).settings[name]) };
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return { fault: (error as ConfigError).message };
  }
}

const AWAY = [
  ...'api.example.com localhost.evil.example 127.0.0.1.evil.example evil.localhost localhost.'.split(' '),
  ...'128.0.0.1 0x80.1 2130706434000 10.0.0.7 0.0.0.0 [::] [::ffff:10.0.0.7] [::ffff:a00:7]'.split(' '),
  ...'[fe80::1] ⅼocalhost.evil.example'.split(' '),
];
const HERE = [
  ...'localhost LOCALHOST 127.0.0.1 127.0.0.1. 127.1 0x7f.1 2130706433 0177.0.0.1'.split(' '),
  ...'127.255.255.254 [::1] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] １27.0.0.1'.split(' '),
];

/** One spelling of `<scheme>://<host>`: cases, slashes, blanks and what the parser takes out. */
const spelling = (scheme: string, host: string) =>
  fc
    .record({
      upper: fc.array(fc.boolean(), { minLength: scheme.length, maxLength: scheme.length }),
      before: fc.stringMatching(/^[ \t\r\n\u0001]{0,3}$/),
      inside: fc.constantFrom('', '\t', '\n', '\r'),
      slashes: fc.stringMatching(/^[/\\]{0,4}$/),
      port: fc.constantFrom('', ':80', ':8080'),
      path: fc.constantFrom('', '/', '/tenant', '\\tenant', '/a/../b'),
    })
    .map(({ upper, before, inside, slashes, port, path }) => {
      const cased = [...scheme].map((char, at) => (upper[at] ? char.toUpperCase() : char));
      return `${before}${cased.slice(0, 2).join('')}${inside}${cased.slice(2).join('')}:${slashes}${host}${port}${path}`;
    });

test('plain http to another host is refused in every spelling, and to this one accepted', () => {
  const cases = fc.oneof(
    fc.constantFrom(...AWAY).chain((host) => spelling('http', host).map((text) => ({ text, here: false }))),
    fc.constantFrom(...HERE).chain((host) => spelling('http', host).map((text) => ({ text, here: true }))),
  );
  const names = fc.constantFrom('QUERY_BASE_URL' as const, 'QUERY_AUTH_URL' as const);
  fc.assert(
    fc.property(cases, names, ({ text, here }, name) => {
      const got = accept(name, text);
      if (here) expect(got).toHaveProperty('url');
      else expect(got).toHaveProperty('fault');
    }),
    { numRuns: 600 },
  );
});

test('whatever is accepted is https or this machine, as it is connected to', () => {
  const noise = fc.string({ unit: fc.constantFrom(...'hHtTpPsS:/\\@.127localhost[]x \t#?%') });
  const start = fc.constantFrom('', 'http:', 'HTTP:', 'https:', '//', '\\\\', 'http://localhost');
  fc.assert(
    fc.property(start, noise, (head, tail) => {
      const got = accept('QUERY_BASE_URL', head + tail);
      if ('url' in got) expect(isInClear(got.url)).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});

test.each(['//api.example.com', 'api.example.com', 'ws://api.example.com', 'file:///x', 'http://', 'http:'])(
  '%s is no address of a service',
  (text) => {
    expect(readWebAddress(text)).toBeUndefined();
    expect(accept('QUERY_BASE_URL', text)).toHaveProperty('fault');
  },
);

test.each(['HTTP://reader:hush-hush@api.example.com', 'http:\\\\reader:hush-hush@api.example.com'])(
  'the password in %s is not shown',
  (text) => {
    const got = accept('QUERY_AUTH_URL', text);
    expect(got).toEqual({ fault: expect.stringContaining('reader:***@') });
    expect(JSON.stringify(got)).not.toContain('hush');
  },
);

test.each([
  ['https://hush@host', 'https://***@host'],
  ['redis://user:secret@host:6379/0', 'redis://user:***@host:6379/0'],
  ['redis://:sec/r@et@host', 'redis://:***@host'],
  ['rediss://host:6379', 'rediss://host:6379'],
  ['http:\\\\user:hu@sh@host/path', 'http:\\\\user:***@host/path'],
  ['user:hush@host', 'user:***@host'],
  ['reader@example.com', 'reader@example.com'],
  ['https://host/path@2', 'https://host/path@2'],
])('%s is shown as %s', (text, shown) => {
  expect(maskUrl(text)).toBe(shown);
});
