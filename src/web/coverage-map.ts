/** Coverage of a job as a map: a letter for each vessel and date, with the states of `status`. */
import type { CellState, Coverage, OtherFacts } from '../audit/status/cells.ts';
import { createCoverageSum, isGap, stateOf } from '../audit/status/cells.ts';
import { readJobStatus } from '../audit/status/job-status.ts';
import type { StatusMemory } from '../audit/status/status-memory.ts';
import { createTurns } from '../core/concurrency.ts';
import { cleanMessage, datesBetween, formatVesselDay, type Job } from '../core/model/index.ts';
import type { QueueNames } from '../fleet/queue/vessel-day-queue.ts';
import { describeWarnings } from '../lake/warnings.ts';
import { CELL_LETTERS, type CoverageAnswer, type CoverageTrouble } from './answers.ts';
import type { WebPorts } from './ports.ts';

/** 4,000 vessels and a year are 1.5 million. */
const MAX_VESSEL_DAYS = 2_000_000;
const MAX_TROUBLES = 5_000;
/** Maximum length of a reason; the vessel-day's own page has all of it. */
const LONGEST_MESSAGE_CHARS = 300;
/** Cells that are encoded between two pauses for other requests. */
const STEP = 256;

interface CoverageQuestion {
  readonly job: Job;
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  readonly firstDate: string | undefined;
  readonly queue: QueueNames | 'away' | undefined;
  readonly memory: StatusMemory;
}

/** Throws what the store throws, and ConfigError `too-many-vessel-days`. */
export async function readCoverage(ports: WebPorts, question: CoverageQuestion): Promise<CoverageAnswer> {
  const { job, from, to, firstDate, queue, memory } = question;
  const readAtMs = ports.clock.nowMs();
  // The vessels are those of `status`, without discovery.
  const vessels = 'discover' in job.vessels ? undefined : [...new Set(job.vessels)].sort();
  const request = { from, to, vessels, mostVesselDays: MAX_VESSEL_DAYS };
  const status = await readJobStatus(ports, job, request, memory);
  const map = createMap(status.vessels, datesBetween(from, to).length);
  const sum = createCoverageSum();
  const troubles: CoverageTrouble[] = [];
  let troubleCount = 0;
  const names = queue === 'away' ? undefined : queue;
  const warned = new Map(status.warnings.map(({ day }) => [day.vessel, day.date]));
  const isWarned = ({ day }: Coverage) => warned.get(day.vessel) === day.date;
  const turn = createTurns();
  for (const cell of status.cells) {
    const { state, trouble } = stateOf(cell, { queued: queuedAs(cell, names), isWarned: isWarned(cell) });
    sum.add(cell);
    if (trouble !== undefined && troubleCount++ < MAX_TROUBLES) {
      const { vessel, date } = cell.day;
      const message = cleanMessage(trouble.message, LONGEST_MESSAGE_CHARS);
      troubles.push({ vessel, date, ...trouble, message });
    }
    if (map.add(state, isGap(cell)) % STEP === 0) await turn();
  }
  const { rows, oldestGap, lastPublished } = sum.end();
  return {
    ...{ job: job.name, dataset: job.dataset, from, to, readAtMs },
    isQueueKnown: queue === undefined ? null : queue !== 'away',
    vessels: status.vessels,
    ...map.end(),
    rows,
    firstDate: firstDate ?? null,
    oldestGap: oldestGap && { vessel: oldestGap.vessel, date: oldestGap.date },
    lastPublished: lastPublished && {
      ...{ vessel: lastPublished.vessel, date: lastPublished.date },
      finishedAt: lastPublished.finishedAt,
    },
    ...{ troubles, troubleCount },
    warnings: status.warnings.map(({ day: { vessel, date }, warnings }) => ({
      ...{ vessel, date },
      message: describeWarnings(warnings),
    })),
  };
}

function queuedAs({ day }: Coverage, queue: QueueNames | undefined): OtherFacts['queued'] {
  if (queue === undefined || queue.queued.size + queue.failed.size === 0) return undefined;
  const name = formatVesselDay(day);
  if (queue.queued.has(name)) return 'in-queue';
  return queue.failed.has(name) ? 'failed' : undefined;
}

function createMap(vessels: readonly string[], dates: number) {
  const letters = new Uint8Array(vessels.length * dates);
  const totals = Object.fromEntries(Object.keys(CELL_LETTERS).map((state) => [state, 0])) as Record<
    CellState,
    number
  >;
  const letterOf = (state: CellState) => CELL_LETTERS[state].charCodeAt(0);
  const firstGaps: (number | null)[] = vessels.map(() => null);
  let added = 0;
  return {
    /** The next index by date and then vessel, and how many there are. */
    add(state: CellState, isGap: boolean): number {
      const vessel = added % vessels.length;
      const date = (added - vessel) / vessels.length;
      letters[vessel * dates + date] = letterOf(state);
      if (isGap) firstGaps[vessel] ??= date;
      totals[state]++;
      return ++added;
    },
    end: () => ({ cells: Buffer.from(letters.buffer).toString('latin1'), firstGaps, totals }),
  };
}
