/** Which series an expression means, asked of metadata. */
import { createMetadataDecoder } from '../decode/index.ts';
import { DataError, HttpStatusError } from '../errors.ts';
import { splitExpressions } from '../fetch/address.ts';
import type { QueryRequest, QueryResponse, SeriesMetadata } from '../model/index.ts';
import { wireShape } from '../model/index.ts';
import { answerFault } from './answer-fault.ts';
import type { SourceContext } from './source-context.ts';

/** Upper bound of one metadata body, in bytes decompressed. */
const MAX_METADATA_BYTES = 256 * 1024 * 1024;

/**
 * What `keep` takes of each series that one metadata expression matches; nothing where the service answers 404. Only
 * that is held: a fleet has hundreds of thousands of series.
 */
export async function askMetadata<T>(
  context: Pick<SourceContext, 'client' | 'signal' | 'stats'>,
  expression: string,
  keep: (series: SeriesMetadata) => T,
): Promise<T[]> {
  const { client, signal, stats } = context;
  const found: T[] = [];
  const { asked, isMeant } = metadataQuestion(expression);
  const request: QueryRequest = { family: 'metadata', expressions: [asked], format: 'json' };
  for (const part of splitExpressions(request, client.baseUrlBytes)) {
    try {
      const kept = await client.exchange(
        () => part,
        async (response) => {
          const ofAttempt: T[] = [];
          await readMetadata(response, part, (series) => {
            if (isMeant(series.id)) ofAttempt.push(keep(series));
          });
          return ofAttempt;
        },
        { signal, stats },
      );
      for (const one of kept) found.push(one);
    } catch (error) {
      if (!(error instanceof HttpStatusError && error.status === 404)) throw error;
    }
  }
  return found;
}

async function readMetadata(
  response: QueryResponse,
  request: QueryRequest,
  onSeries: (series: SeriesMetadata) => void,
): Promise<void> {
  const decoder = createMetadataDecoder(wireShape(response.apiVersion), onSeries);
  let bytes = 0;
  try {
    for await (const chunk of response.body) {
      bytes += chunk.length;
      if (bytes > MAX_METADATA_BYTES)
        throw new DataError('page-too-large', `got more than ${MAX_METADATA_BYTES} bytes of metadata`);
      decoder.push(chunk);
    }
    decoder.end();
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
