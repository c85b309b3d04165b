/** Which series an expression means, asked of metadata. */
import { DataError, HttpStatusError, RetriableError } from '../core/errors.ts';
import { type QueryRequest, type QueryResponse, wireShape } from '../core/model/index.ts';
import { answerFault } from './answer-faults.ts';
import type { SourceContext } from './context.ts';
import { createMetadataDecoder, type MetadataElement } from './decode/index.ts';
import { describeRequest, splitExpressions } from './fetch/address.ts';

/** Series that one answer may list: the largest fleets have 20,000 vessels of some hundred. */
const MAX_ELEMENTS = 10_000_000;
/** Bytes of the series that are kept of an expression, as they came: MAX_SERIES of a vessel with 1.3 kB each. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;
/** An answer is decoded as it comes, so this bounds its time and not memory: 4 kB for each of four million series. */
const MAX_BODY_BYTES = 16 * 1024 * 1024 * 1024;

/** What to do about 404 and an answer without any series: take it, throw RetriableError `nothing-found`, or ask again before that. */
type OnNothing = 'take' | 'throw' | 'ask-again';

/** What an expression matches. */
interface Matched<T> {
  /** Series that the answers list and that were meant. */
  readonly listed: number;
  /** Those that were kept. */
  readonly kept: readonly T[];
}

/**
 * Ask which series a metadata expression matches. `keep` sees each, of a try that broke off too; only what it returns is held, for a
 * fleet has millions of series. Throws DataError `too-many-series`; else as the client, the decoder, and `onNothing` says.
 */
export async function askMetadata<T>(
  context: Pick<SourceContext, 'client' | 'signal' | 'stats'>,
  expression: string,
  keep: (element: MetadataElement) => T | undefined,
  onNothing: OnNothing,
): Promise<Matched<T>> {
  const { client, signal, stats } = context;
  const matched = { listed: 0, kept: [] as T[] };
  const { asked, isMeant } = metadataQuestion(expression);
  const request: QueryRequest = { family: 'metadata', expressions: [asked], format: 'json' };
  for (const part of splitExpressions(request, client.baseUrlBytes)) {
    try {
      const answer = await client.exchange(
        () => part,
        async (response) => {
          const ofTry = await readAnswer(response, part, isMeant, keep);
          if (ofTry.listed === 0 && onNothing === 'ask-again') throw nothingFound(part, 'lists no series');
          return ofTry;
        },
        {
          ...{ signal, stats, maxBodyBytes: MAX_BODY_BYTES },
          isDoubted: (status) => onNothing === 'ask-again' && status === 404,
        },
      );
      if (answer.listed === 0 && onNothing !== 'take') throw nothingFound(part, 'lists no series');
      matched.listed += answer.listed;
      for (const one of answer.kept) matched.kept.push(one);
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

async function readAnswer<T>(
  response: QueryResponse,
  request: QueryRequest,
  isMeant: ((id: string) => boolean) | undefined,
  keep: (element: MetadataElement) => T | undefined,
): Promise<Matched<T>> {
  const kept: T[] = [];
  let [elements, listed, keptBytes] = [0, 0, 0];
  const decoder = createMetadataDecoder(wireShape(response.apiVersion), (element) => {
    if (++elements > MAX_ELEMENTS) throw tooMany(`more than ${MAX_ELEMENTS} series in one answer`);
    if (isMeant?.(element.id()) === false) return;
    listed++;
    const one = keep(element);
    if (one === undefined) return;
    kept.push(one);
    keptBytes += element.bytes;
    if (keptBytes > MAX_KEPT_BYTES)
      throw tooMany(`more than ${MAX_KEPT_BYTES} bytes about ${kept.length} series that are kept`);
  });
  try {
    for await (const chunk of response.body) decoder.push(chunk);
    decoder.end();
    return { listed, kept };
  } catch (error) {
    throw answerFault(error, request, response);
  }
}

function tooMany(found: string): DataError {
  return new DataError(
    'too-many-series',
    `got ${found}, expected at most so many; select fewer series or vessels, in several jobs if need be, or report it to the operator of the query service`,
  );
}

/** A GET cannot carry the empty levels of a jsmea id: `*` is asked for, and ids tell the series that were not meant. */
function metadataQuestion(expression: string): { asked: string; isMeant?: (id: string) => boolean } {
  const [domain, ...levels] = expression.split('/');
  if (domain !== 'jsmea' || !levels.includes('')) return { asked: expression };
  return {
    asked: [domain, ...levels.map((level) => level || '*')].join('/'),
    isMeant: (id) => {
      const idLevels = id.split('/');
      return levels.every((level, index) => level !== '' || (idLevels[index] ?? '') === '');
    },
  };
}
