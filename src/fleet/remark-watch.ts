/** Remarks that stand open, told again and again: nobody may have seen them. */
import { type Clock, formatVesselDay, type Job, type Log } from '../core/model/index.ts';
import type { LedgerView } from '../lake/ledger/ledger-view.ts';
import { describeRemarks, howToAccept } from '../lake/remarks.ts';
import type { OnFleetEvent } from './events.ts';

interface RemarkWatchOptions {
  readonly jobs: readonly Job[];
  readonly ledger: LedgerView;
  readonly clock: Clock;
  readonly log: Log;
  readonly onEvent?: OnFleetEvent;
}

/** Between looks: each costs a request to the store for every vessel that has a remark. */
const LOOK_MS = 300_000;
/** Lines of one job and look; the rest is counted. */
const SAID_AT_MOST = 20;

/**
 * A look at what the ledger has shown so far, unless one has just been taken. A remark is logged once for each day
 * that carries it on. Throws what the store throws.
 */
export function createRemarkWatch({ jobs, ledger, clock, log, onEvent }: RemarkWatchOptions) {
  const said = new Set<string>();
  let lookedMs = Number.NEGATIVE_INFINITY;
  return async (): Promise<void> => {
    if (clock.monotonicMs() - lookedMs < LOOK_MS) return;
    lookedMs = clock.monotonicMs();
    for (const { name } of jobs) {
      const open = await ledger.openRemarks(name);
      onEvent?.({ kind: 'remarked', job: name, open });
      const news = open.filter(({ day }) => !said.has(formatVesselDay(day)));
      for (const { day, warnings } of news.slice(0, SAID_AT_MOST))
        log.warn(
          { vesselDay: formatVesselDay(day), remark: describeRemarks(warnings), accept: howToAccept(day) },
          'a remark stands open',
        );
      if (news.length > SAID_AT_MOST)
        log.warn({ job: name, more: news.length - SAID_AT_MOST }, 'a remark stands open');
      for (const { day } of news) said.add(formatVesselDay(day));
    }
  };
}
