import { readdirSync } from 'node:fs';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Job } from '../../src/core/model/index.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';
import { askAsGiven, type ServedPage, servePage } from '../helpers/web.ts';

let page: ServedPage;
beforeAll(async () => {
  const jobs = Array.from({ length: 100 }, (_, at) => ({ name: `job-${at}`, dataset: 'measurements' }));
  page = await servePage({ store: createMemoryStore(), jobs: jobs as unknown as Job[] });
});
afterAll(() => page?.close());

const get = (path: string, headers = {}, method = 'GET') => askAsGiven(page.url + path, { headers, method });

test('every view has an address, and what is none is not found', async () => {
  for (const path of ['/', '/coverage/a%2Fb?from=2026-01-01', '/day/j/IMO9321483/2026-01-05', '/fleet']) {
    const { status, headers, bytes } = await get(path);
    expect([status, headers['content-type']], path).toEqual([200, 'text/html; charset=utf-8']);
    expect(bytes.toString('utf8')).toContain('src="/page/app.js"');
  }
  for (const path of ['/coverage', '/fleet/x', '/queue', '/favicon.ico', '/page', '/page/', '/vendor/'])
    expect((await get(path)).status, path).toBe(404);
});

test('files that are not for browsers, and those of elsewhere, are not served', async () => {
  const paths = [
    ...['/page/tsconfig.json', '/page/view.d.ts', '/page/../answers.ts', '/page/%2e%2e/answers.ts'],
    ...['/page/..%2fanswers.ts', '/../../package.json', '/page/..\\answers.ts', '/page//app.js'],
    ...['/vendor/hyparquet/src/node.js', '/vendor/hyparquet/package.json', '/vendor/uplot/package.json'],
    ...['/vendor/fastify/fastify.js', '/vendor/../package.json', '/page/app.js%00', '/etc/passwd'],
  ];
  for (const path of paths) expect((await get(path)).status, path).toBe(404);
  for (const path of ['/page/%ff', '/coverage/%ff']) expect((await get(path)).status, path).toBe(400);
});

test('every file of the page and the libraries it names are served as what they are', async () => {
  const names = readdirSync('src/web/page', { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => /\.(js|css|html|svg)$/.test(name)).map((name) => `/page/${name}`);
  const vendored = [
    ...['/vendor/uplot/dist/uPlot.esm.js', '/vendor/uplot/dist/uPlot.min.css'],
    ...['/vendor/hyparquet/src/index.js', '/vendor/hyparquet/src/snappy.js', '/vendor/fzstd/esm/index.mjs'],
  ];
  const types = {
    js: 'text/javascript',
    mjs: 'text/javascript',
    css: 'text/css',
    html: 'text/html',
    svg: 'image/svg+xml',
  };
  for (const path of [...files, ...vendored]) {
    const { status, headers, bytes } = await get(path);
    expect(status, path).toBe(200);
    const ending = path.split('.').at(-1) as keyof typeof types;
    expect(String(headers['content-type']).split(';')[0], path).toBe(types[ending]);
    expect(bytes.byteLength).toBeGreaterThan(50);
  }
  expect(files.length).toBeGreaterThan(8);
});

test('files are compressed as the browser takes it, and asked again in a few bytes', async () => {
  const path = '/vendor/uplot/dist/uPlot.esm.js';
  const plain = await get(path);
  expect(plain.headers['content-encoding']).toBeUndefined();
  for (const [accepted, encoding, read] of [
    ['gzip, deflate', 'gzip', gunzipSync],
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
  ] as const) {
    const packed = await get(path, { 'accept-encoding': accepted });
    expect(packed.headers).toMatchObject({
      ...{ 'content-encoding': encoding, vary: 'accept-encoding', 'cache-control': 'no-cache' },
      'content-length': String(packed.bytes.byteLength),
    });
    expect(read(packed.bytes)).toEqual(plain.bytes);
    expect(packed.bytes.byteLength).toBeLessThan(plain.bytes.byteLength / 2);
    const { etag } = packed.headers;
    const again = await get(path, { 'accept-encoding': accepted, 'if-none-match': `"x", ${etag}` });
    expect([again.status, again.bytes.byteLength, again.headers.etag]).toEqual([304, 0, etag]);
    const other = await get(path, { 'accept-encoding': 'identity', 'if-none-match': etag });
    expect(other.status).toBe(200);
  }
});

test('answers are compressed from 1 kB on, and never kept', async () => {
  const short = await get('/api/session', { 'accept-encoding': 'gzip' });
  expect(short.headers['content-encoding']).toBeUndefined();
  const plain = await get('/api/about');
  for (const [encoding, read] of [
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ] as const) {
    const { headers, bytes } = await get('/api/about', { 'accept-encoding': encoding });
    expect(headers).toMatchObject({ 'content-encoding': encoding, vary: 'accept-encoding' });
    expect(headers['cache-control']).toBe('no-store');
    expect(JSON.parse(read(bytes).toString('utf8')).jobs).toEqual(
      JSON.parse(plain.bytes.toString('utf8')).jobs,
    );
    expect(bytes.byteLength).toBeLessThan(1_000);
  }
  const head = await get('/api/about', { 'accept-encoding': 'gzip' }, 'HEAD');
  expect([head.status, head.bytes.byteLength]).toEqual([200, 0]);
});

test('every answer says that nothing of elsewhere may be loaded, and that nobody may frame it', async () => {
  const paths = [
    '/',
    '/page/app.js',
    '/nothing',
    '/coverage/%ff',
    '/api/session',
    '/api/about',
    '/api/nothing',
  ];
  for (const path of paths) {
    const { headers } = await get(path);
    expect(headers, path).toMatchObject({
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    });
    expect(headers['x-powered-by'] ?? headers.server).toBeUndefined();
    if (path.startsWith('/api')) expect(headers['cache-control']).toBe('no-store');
  }
});
