import { cleanForeignText, DataError, HttpStatusError, RetriableError } from '../core/errors.ts';
import { type QueryRequest, type QueryResponse, vesselOf, wireShape } from '../core/model/index.ts';
import { answerFault } from './answer-faults.ts';
import type { Asker, SourcePorts } from './context.ts';
import { createMetadataDecoder, type MetadataElement } from './decode/metadata.ts';
import { describeRequest, splitExpressions } from './fetch/address.ts';
import type { RequestStats } from './fetch/exchange.ts';

/** Series that one answer may list: the largest fleets have 20,000 vessels of some hundred. */
const MAX_ELEMENTS = 10_000_000;
/** Bytes of the series that are kept of an expression, as they came: MAX_SERIES of a vessel with 1.3 kB each. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;
/** An answer is decoded as it comes, so this bounds its time and not memory: 4 kB for each of four million series. */
const MAX_BODY_BYTES = 16 * 1024 * 1024 * 1024;

/** What to do about 404 and an answer without any series: take it, throw RetriableError `nothing-found`, or ask again before that. */
type OnNothing = 'take' | 'throw' | 'ask-again';

interface Matched<T> {
  /** Series that the answers list and that were meant. */
  readonly listed: number;
  readonly kept: readonly T[];
}

/**
 * Ask which series an expression matches. Only what `keep` returns of each is held, for a fleet has millions; it sees those of a try that broke off too.
 * Throws DataError `too-many-series`; else as the client, the decoder, and `onNothing` says.
 */
export async function askMetadata<T>(
  context: Asker,
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

interface DiscoveredVessels {
  /** Sorted; at least one. */
  readonly vessels: readonly string[];
  /** What stands in the place of an IMO number and is none: cleaned, sorted; the first thousand. */
  readonly malformed: readonly string[];
}

const SHOWN_CHARS = 60;
/** Vessels that a discovery may find; those that are no vessels are counted apart, and never more are held. */
const MAX_VESSELS = 50_000;
const MAX_MALFORMED = 1_000;

/**
 * Ask which vessels there are. Nobody can tell a fleet without vessels from a service that is ill, so 404 and no vessel are asked again a
 * few times, and then are RetriableError `no-vessels`. Of each vessel only its number is held; throws DataError `too-many-vessels`.
 */
export async function discoverVessels(
  { client }: Pick<SourcePorts, 'client'>,
  expression: string,
  signal: AbortSignal,
  stats: RequestStats,
): Promise<DiscoveredVessels> {
  const vessels = new Set<string>();
  const malformed = new Set<string>();
  let lastImo: string | null = null;
  const keep = (element: MetadataElement): undefined => {
    const imo = element.vesselImo();
    // The series of a vessel mostly follow each other.
    if (imo === null || imo === lastImo) return;
    lastImo = imo;
    const vessel = vesselOf(imo);
    if (vessel === undefined) {
      if (malformed.size < MAX_MALFORMED) malformed.add(cleanForeignText(imo, [], SHOWN_CHARS));
    } else if (vessels.add(vessel).size > MAX_VESSELS) {
      throw new DataError(
        'too-many-vessels',
        `metadata ${expression}: got more than ${MAX_VESSELS} different vessels, expected at most so many; let the job's 'vessels.discover' name fewer, in several jobs if need be, or report it to the operator of the query service`,
      );
    }
  };
  await askMetadata({ client, signal, stats }, expression, keep, 'ask-again').catch((error) => {
    if (!(error instanceof RetriableError && error.code === 'nothing-found')) throw error;
    throw noVessels(error.message, error);
  });
  if (vessels.size > 0) return { vessels: [...vessels].sort(), malformed: [...malformed].sort() };
  const found = malformed.size === 0 ? 'series of no vessel' : `no IMO number but '${[...malformed][0]}'`;
  throw noVessels(`metadata ${expression}: found ${found}`);
}

function noVessels(found: string, cause?: unknown): RetriableError {
  const advice = "check the job's 'vessels.discover', and what the credentials may read";
  return new RetriableError('no-vessels', `${found}: no vessel was discovered; ${advice}`, { cause });
}
