/** Which series an expression means, asked of metadata. */
import { createMetadataDecoder } from '../decode/index.ts';
import { DataError, HttpStatusError, RetriableError } from '../errors.ts';
import { describeRequest, splitExpressions } from '../fetch/address.ts';
import type { QueryRequest, QueryResponse, SeriesMetadata } from '../model/index.ts';
import { wireShape } from '../model/index.ts';
import { answerFault } from './answer-faults.ts';
import type { SourceContext } from './context.ts';

/** Upper bound of one metadata body, in bytes decompressed. */
const MAX_METADATA_BYTES = 256 * 1024 * 1024;

/**
 * What to do about 404, and about an answer without any series that was meant, which nobody can tell from a service
 * that is ill: take it as it is; throw RetriableError `nothing-found`; or do so only once it has been asked again.
 */
type OnNothing = 'take' | 'throw' | 'ask-again';

/**
 * What `keep` takes of each series that one metadata expression matches; `keep` sees those of a try that broke off
 * too. Only that is held: a fleet has hundreds of thousands of series.
 */
export async function askMetadata<T>(
  context: Pick<SourceContext, 'client' | 'signal' | 'stats'>,
  expression: string,
  keep: (series: SeriesMetadata) => T,
  onNothing: OnNothing,
): Promise<T[]> {
  const { client, signal, stats } = context;
  const matched: T[] = [];
  const { asked, isMeant } = metadataQuestion(expression);
  const request: QueryRequest = { family: 'metadata', expressions: [asked], format: 'json' };
  for (const part of splitExpressions(request, client.baseUrlBytes)) {
    try {
      const kept = await client.exchange(
        () => part,
        async (response) => {
          const ofTry: T[] = [];
          await readAnswer(response, part, (series) => {
            if (isMeant(series.id)) ofTry.push(keep(series));
          });
          if (ofTry.length === 0 && onNothing === 'ask-again') throw nothingFound(part, 'lists no series');
          return ofTry;
        },
        { signal, stats, isDoubted: (status) => onNothing === 'ask-again' && status === 404 },
      );
      if (kept.length === 0 && onNothing !== 'take') throw nothingFound(part, 'lists no series');
      for (const series of kept) matched.push(series);
    } catch (error) {
      if (!(error instanceof HttpStatusError && error.status === 404)) throw error;
      if (onNothing !== 'take') throw nothingFound(part, 'answers 404');
    }
  }
  return matched;
}

function nothingFound(part: QueryRequest, found: string): RetriableError {
  return new RetriableError('nothing-found', `${describeRequest(part)}: the service ${found}`);
}

async function readAnswer(
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
    throw answerFault(error, request, response);
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
      const idLevels = id.split('/');
      return levels.every((level, index) => level !== '' || (idLevels[index] ?? '') === '');
    },
  };
}
