/** The vessels of a job: listed or discovered ones, and those that the ledger has, so that none is lost. */

import { addDays, type Job, microsToDate } from '../core/model/index.ts';
import { knownDays, knownVessels, lastListedDate } from '../lake/ledger/newest-days.ts';
import { createRequestStats, type RequestStats } from '../source/fetch/exchange.ts';
import { discoverVessels } from '../source/metadata.ts';
import type { VesselTrouble } from './events.ts';
import type { ExportPorts } from './ports.ts';

export interface JobVessels {
  /** Sorted if they were discovered. */
  readonly vessels: readonly string[];
  /** Vessels that discovery left out. */
  readonly unlisted: ReadonlySet<string>;
  readonly troubles: readonly VesselTrouble[];
}

/** Maximum of troubles that are logged one by one; the rest is counted. */
const SAID_AT_MOST = 20;

/** The given vessels, by default the job's own for days up to `to`. Throws RetriableError `no-vessels`. */
export async function findVessels(
  ports: Pick<ExportPorts, 'client' | 'store' | 'clock' | 'log'>,
  job: Job,
  { vessels: asked, to }: { readonly vessels: readonly string[]; readonly to: string },
  signal: AbortSignal,
  stats: RequestStats = createRequestStats(),
): Promise<JobVessels> {
  const allOf = (vessels: readonly string[]) => ({ vessels, unlisted: new Set<string>(), troubles: [] });
  if (asked.length > 0) return allOf(asked);
  if (!('discover' in job.vessels)) return allOf(job.vessels);
  const { vessels, malformed } = await discoverVessels(ports, job.vessels.discover, signal, stats);
  const tomorrow = addDays(microsToDate(ports.clock.nowMs() * 1_000), 1);
  const ends = [...new Set([to < tomorrow ? to : tomorrow, tomorrow])];
  const known = await knownVessels(ports.store, job, ends);
  const unlisted = new Map<string, string>();
  for (const vessel of vessels) known.delete(vessel);
  for (const [vessel, dates] of [...known].sort()) {
    const date = await lastListedDate(ports.store, job.name, vessel, dates);
    if (date !== undefined) unlisted.set(vessel, date);
  }
  const troubles = [...[...unlisted].map((one) => notListed(job, ...one)), ...malformed.map(malformedImo)];
  for (const { vessel, code, message } of troubles.slice(0, SAID_AT_MOST))
    ports.log.warn({ job: job.name, vessel, code }, message);
  const more = troubles.length - SAID_AT_MOST;
  if (more > 0) ports.log.warn({ job: job.name, more }, 'more vessels like these');
  return { vessels: [...vessels, ...unlisted.keys()].sort(), unlisted: new Set(unlisted.keys()), troubles };
}

function notListed({ dataset }: Job, vessel: string, lastDate: string): VesselTrouble {
  const until = addDays(lastDate, knownDays(dataset));
  const message = `published for ${lastDate}, but not discovered now; its days stay due until ${until}, and then it counts as having left; if it has not left, ask the operator of the service what the credentials may read`;
  return { vessel, code: 'unlisted', message };
}

function malformedImo(vessel: string): VesselTrouble {
  const message = `found '${vessel}' as the IMO number of a vessel, expected seven digits: its days cannot be exported; report it to the operator of the query service`;
  return { vessel, code: 'malformed-imo', message };
}
