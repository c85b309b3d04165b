/** Which vessels a metadata query names. */
import { cleanForeignText, RetriableError } from '../errors.ts';
import type { RequestStats } from '../fetch/exchange.ts';
import { vesselOf } from '../model/index.ts';
import type { SourcePorts } from './context.ts';
import { askMetadata } from './metadata.ts';

interface DiscoveredVessels {
  /** Sorted; at least one. */
  readonly vessels: readonly string[];
  /** What stands in the place of an IMO number and is none: cleaned, sorted. */
  readonly malformed: readonly string[];
}

/** Longest text shown of what is no IMO number. */
const SHOWN_CHARS = 60;

/**
 * Ask which vessels there are. Nobody can tell a fleet without vessels from a service that is ill, so 404 and an
 * answer without any vessel are asked again a few times, and then are RetriableError `no-vessels`.
 */
export async function discoverVessels(
  { client }: Pick<SourcePorts, 'client'>,
  expression: string,
  signal: AbortSignal,
  stats: RequestStats,
): Promise<DiscoveredVessels> {
  const vessels = new Set<string>();
  const malformed = new Set<string>();
  const keep = ({ vesselImo }: { readonly vesselImo: string | null }) => {
    if (vesselImo === null) return;
    const vessel = vesselOf(vesselImo);
    if (vessel !== undefined) vessels.add(vessel);
    else malformed.add(cleanForeignText(vesselImo, [], SHOWN_CHARS));
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
