/** The page's own files, and those of its libraries: read, compressed and cached at the first request. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

export type Encoding = 'br' | 'gzip' | 'identity';

const deflate = promisify(gzip);
const squeeze = promisify<Buffer, { params: Record<number, number> }, Buffer>(brotliCompress);

/** Smaller files are not compressed. */
export const MIN_COMPRESSED_BYTES = 1_000;

/** Encodings, in our order of preference. */
export function encodingFor(accepted: string | undefined): Encoding {
  const names = (accepted ?? '')
    .split(',')
    .filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part))
    .map((part) => part.split(';', 1)[0]!.trim().toLowerCase());
  return (['br', 'gzip'] as const).find((name) => names.includes(name)) ?? 'identity';
}

/** Compresses in the thread pool. `isKept`: the result is cached, so it may take longer. */
export async function compress(bytes: Buffer, encoding: Encoding, isKept: boolean): Promise<Buffer> {
  if (encoding === 'gzip') return await deflate(bytes, { level: isKept ? 9 : 6 });
  if (encoding === 'identity') return bytes;
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  const params = { [BROTLI_PARAM_QUALITY]: isKept ? 9 : 5, [BROTLI_PARAM_SIZE_HINT]: bytes.byteLength };
  return await squeeze(bytes, { params });
}

const PAGE_FOLDER = join(import.meta.dirname, 'page');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Addresses of views; the page's own router does the rest. */
const VIEW_PATHS = ['/', '/coverage/:job', '/day/:job/:vessel/:date', '/fleet'] as const;

/** Serve `/page/…`, `/vendor/…` and the addresses of the views. */
export async function registerFiles(server: FastifyInstance): Promise<void> {
  const files = new Map([...(await pageFiles()), ...(await vendorFiles())]);
  for (const [address, path] of files) {
    const file = openFile(path);
    server.get(address, (request, reply) => file(request, reply));
  }
  const shell = openFile(join(PAGE_FOLDER, 'index.html'));
  for (const path of VIEW_PATHS) server.get(path, (request, reply) => shell(request, reply));
}

/** Address → path. Types and compiler settings in the same folder are not served. */
async function pageFiles(): Promise<[string, string][]> {
  const entries = await readdir(PAGE_FOLDER, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && extname(entry.name) in TYPES)
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [`/page/${relative(PAGE_FOLDER, path).split(sep).join('/')}`, path]);
}

/** Libraries at `/vendor/<package>/<path in it>`: only files that the page uses. */
async function vendorFiles(): Promise<[string, string][]> {
  const uplot = dirname(fileURLToPath(import.meta.resolve('uplot/dist/uPlot.esm.js')));
  const hyparquet = dirname(fileURLToPath(import.meta.resolve('hyparquet/src/index.js')));
  const fzstd = fileURLToPath(import.meta.resolve('fzstd'));
  const modules = (await readdir(hyparquet)).filter((name) => name.endsWith('.js') && name !== 'node.js');
  return [
    ['/vendor/uplot/dist/uPlot.esm.js', join(uplot, 'uPlot.esm.js')],
    ['/vendor/uplot/dist/uPlot.min.css', join(uplot, 'uPlot.min.css')],
    ['/vendor/fzstd/esm/index.mjs', fzstd],
    ...modules.map((name): [string, string] => [`/vendor/hyparquet/src/${name}`, join(hyparquet, name)]),
  ];
}

type Serve = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Cached in memory after the first request: all of them are less than 1 MB. */
function openFile(path: string): Serve {
  const kept = new Map<Encoding, Promise<{ readonly etag: string; readonly bytes: Buffer }>>();
  const read = async (encoding: Encoding) => {
    const plain = await readFile(path);
    const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}-${encoding}"`;
    return { etag, bytes: await compress(plain, encoding, true) };
  };
  return async (request, reply) => {
    const encoding = encodingFor(request.headers['accept-encoding']);
    const reading = kept.get(encoding) ?? read(encoding);
    kept.set(encoding, reading);
    const { etag, bytes } = await reading.catch((error: unknown) => {
      kept.delete(encoding);
      throw error;
    });
    // Browsers ask again each time and get a few bytes, so a new version shows at once.
    reply.headers({ 'cache-control': 'no-cache', etag, vary: 'accept-encoding' });
    const known = (request.headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim());
    if (known.includes(etag)) return reply.code(304).send();
    if (encoding !== 'identity') reply.header('content-encoding', encoding);
    return reply.type(TYPES[extname(path)]!).send(bytes);
  };
}
