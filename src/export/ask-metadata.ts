/** Which series an expression means, asked of metadata. */
import { decodeMetadata } from '../decode/index.ts';
import { DataError, HttpStatusError } from '../errors.ts';
import { splitExpressions } from '../fetch/address.ts';
import type { QueryRequest, QueryResponse, SeriesMetadata } from '../model/index.ts';
import { wireShape } from '../model/index.ts';
import { answerFault } from './answer-fault.ts';
import type { SourceContext } from './source.ts';

/** Upper bound of one metadata body, in bytes decompressed. */
const MAX_METADATA_BYTES = 256 * 1024 * 1024;

/** Series that one metadata expression matches; none where the service answers 404. */
export async function askMetadata(
  context: Pick<SourceContext, 'client' | 'signal' | 'stats'>,
  expression: string,
): Promise<SeriesMetadata[]> {
  const { client, signal, stats } = context;
  const found: SeriesMetadata[] = [];
  const { asked, isMeant } = metadataQuestion(expression);
  const request: QueryRequest = { family: 'metadata', expressions: [asked], format: 'json' };
  for (const part of splitExpressions(request, client.baseUrlBytes)) {
    try {
      const series = await client.exchange(
        () => part,
        (response) => readMetadata(response, part),
        {
          signal,
          stats,
        },
      );
      for (const one of series) if (isMeant(one.id)) found.push(one);
    } catch (error) {
      if (!(error instanceof HttpStatusError && error.status === 404)) throw error;
    }
  }
  return found;
}

async function readMetadata(response: QueryResponse, request: QueryRequest): Promise<SeriesMetadata[]> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > MAX_METADATA_BYTES)
      throw new DataError('page-too-large', `got more than ${MAX_METADATA_BYTES} bytes of metadata`);
    chunks.push(chunk);
  }
  try {
    return decodeMetadata(Buffer.concat(chunks, bytes), wireShape(response.apiVersion));
  } catch (error) {
    throw answerFault(error, request);
  }
}

/**
 * Metadata has no POST, and a GET cannot carry the empty levels of a jsmea id: `*` is asked for in their place,
 * and the series that were not meant are told by their ids.
 */
function metadataQuestion(expression: string): { asked: string; isMeant: (id: string) => boolean } {
  const [domain, ...levels] = expression.split('/');
  if (domain !== 'jsmea' || !levels.includes('')) return { asked: expression, isMeant: () => true };
  return {
    asked: [domain, ...levels.map((level) => level || '*')].join('/'),
    isMeant: (id) => {
      const found = id.split('/');
      return levels.every((level, index) => level !== '' || (found[index] ?? '') === '');
    },
  };
}
