/** Answers in fewer bytes: brotli where the browser takes it, else gzip, which it takes without https too. */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export type Encoding = 'br' | 'gzip' | 'identity';

const deflate = promisify(gzip);
const squeeze = promisify<Buffer, { params: Record<number, number> }, Buffer>(brotliCompress);

/** Less is not worth the time. */
export const MIN_COMPRESSED_BYTES = 1_000;

/** What an `Accept-Encoding` header takes, by our preference. */
export function encodingFor(accepted: string | undefined): Encoding {
  const names = (accepted ?? '')
    .split(',')
    .filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part))
    .map((part) => part.split(';', 1)[0]!.trim().toLowerCase());
  return (['br', 'gzip'] as const).find((name) => names.includes(name)) ?? 'identity';
}

/** In the threads of the system. `isKept`: once for all who ask, so it may take longer. */
export async function compress(bytes: Buffer, encoding: Encoding, isKept: boolean): Promise<Buffer> {
  if (encoding === 'gzip') return await deflate(bytes, { level: isKept ? 9 : 6 });
  if (encoding === 'identity') return bytes;
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  const params = { [BROTLI_PARAM_QUALITY]: isKept ? 9 : 5, [BROTLI_PARAM_SIZE_HINT]: bytes.byteLength };
  return await squeeze(bytes, { params });
}
