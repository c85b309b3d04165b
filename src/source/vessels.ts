/** Which vessels a metadata query names. */
import { cleanForeignText, DataError, RetriableError } from '../core/errors.ts';
import { vesselOf } from '../core/model/index.ts';
import type { SourcePorts } from './context.ts';
import type { MetadataElement } from './decode/index.ts';
import type { RequestStats } from './fetch/exchange.ts';
import { askMetadata } from './metadata.ts';

interface DiscoveredVessels {
  /** Sorted; at least one. */
  readonly vessels: readonly string[];
  /** What stands in the place of an IMO number and is none: cleaned, sorted; the first thousand. */
  readonly malformed: readonly string[];
}

/** Longest text shown of what is no IMO number. */
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
