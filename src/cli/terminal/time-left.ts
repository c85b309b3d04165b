/** Estimates how much of an export is done, and how long the rest takes. The time is passed in. */
import { formatVesselDay, type VesselDay } from '../../core/model/index.ts';
import type { Progress } from '../../export/events.ts';

/** Share of the time of an average vessel-day that uploading, verifying and publishing takes. */
const TAIL = 0.1;
/** The rate of a job is that of its last seconds; a job that has just begun has none. */
const WINDOW_MS = 30_000;
const MIN_MS = 1_000;
const MIN_WORK = 0.001;

export type Outlook = ReturnType<TimeLeft['look']>;

type Sample = Readonly<{ atMs: number; done: number; rows: number }>;

interface JobWork {
  planned: number;
  finished: number;
  finishedRows: number;
  readonly underWay: Map<string, Progress>;
  /** The first sample, then those of the window. */
  readonly samples: Sample[];
}

/** Gets every vessel-day of a run; `look` is called whenever the bar is drawn. */
export class TimeLeft {
  readonly #jobs = new Map<string, JobWork>();

  plan(days: readonly VesselDay[]): void {
    this.#jobs.clear();
    for (const [job, { length: planned }] of Map.groupBy(days, ({ job }) => job))
      this.#jobs.set(job, { planned, finished: 0, finishedRows: 0, underWay: new Map(), samples: [] });
  }

  progress(day: VesselDay, progress: Progress): void {
    this.#jobs.get(day.job)?.underWay.set(formatVesselDay(day), progress);
  }

  /** `rows` of the vessel-day; undefined: those that were fetched. */
  finish(day: VesselDay, rows?: number): void {
    const job = this.#jobs.get(day.job);
    if (job === undefined) return;
    job.finished++;
    job.finishedRows += rows ?? job.underWay.get(formatVesselDay(day))?.rows ?? 0;
    job.underWay.delete(formatVesselDay(day));
  }

  look(nowMs: number) {
    let isTurn = true;
    const jobs = [...this.#jobs.values()].map((job) => {
      const work = workOf(job);
      const rate = rateOf(job.samples, { atMs: nowMs, ...work }, isTurn, job.finished > 0);
      const isOpen = job.finished < job.planned;
      isTurn &&= !isOpen;
      return { ...work, rate, isOpen, secondsLeft: rate && (work.planned - work.done) / rate.work };
    });
    const sum = (of: (job: (typeof jobs)[number]) => number) => jobs.reduce((all, job) => all + of(job), 0);
    const [counted, planned] = [sum((job) => job.counted), sum((job) => job.planned)];
    const meanOfAll = sum((job) => job.known) / counted;
    const expectedRows = sum((job) => job.known + (job.planned - job.counted) * (job.mean ?? meanOfAll));
    const isKnown = jobs.some(({ secondsLeft }) => secondsLeft !== undefined);
    return {
      rows: sum((job) => job.rows),
      /** Vessel-days that are not counted yet are assumed to be like the others. */
      expectedRows: counted === 0 ? undefined : expectedRows,
      counted: counted === planned,
      share: sum((job) => job.done) / Math.max(1, planned),
      rowsPerSecond: sum((job) => job.rate?.rows ?? 0),
      /** For the jobs that have begun; undefined while it is unknown. */
      secondsLeft: isKnown ? sum((job) => job.secondsLeft ?? 0) : undefined,
      /** Whether some jobs have not begun, so that it takes longer. */
      isLeast: jobs.some(({ isOpen, secondsLeft }) => isOpen && secondsLeft === undefined),
    };
  }
}

function workOf({ planned, finished, finishedRows, underWay }: JobWork) {
  const running = [...underWay.values()];
  const sum = (of: (day: Progress) => number) => running.reduce((all, day) => all + of(day), 0);
  const counted = finished + sum(({ rowsKnown }) => (rowsKnown === undefined ? 0 : 1));
  const known = finishedRows + sum(({ rowsKnown }) => rowsKnown ?? 0);
  const mean = counted === 0 ? undefined : known / counted;
  const fetched = finishedRows + sum(({ rows, rowsKnown = mean ?? 0 }) => Math.min(rows, rowsKnown));
  return {
    planned,
    counted,
    known,
    mean,
    rows: finishedRows + sum(({ rows }) => rows),
    // If all are empty, or nothing is counted, the number of vessel-days is the measure.
    done: mean ? (1 - TAIL) * (fetched / mean) + TAIL * finished : finished,
  };
}

/** Work and rows a second; undefined while the job has not begun. Adds `now` to the samples. */
function rateOf(samples: Sample[], now: Sample, isTurn: boolean, hasFinished: boolean) {
  // A job begins with its turn; of the time without rows only the first and the last sample are kept.
  if (now.done === 0) samples.length = isTurn ? Math.min(samples.length, 1) : 0;
  samples.push(now);
  while (samples.length > 2 && now.atMs - samples[1]!.atMs > WINDOW_MS) samples.splice(1, 1);
  const first = samples[0]!;
  const recent = samples.length > 2 ? samples[1]! : first;
  const isStill = now.done - recent.done < MIN_WORK || now.atMs - recent.atMs < MIN_MS;
  // Only after one finished day does the rate include the time before the first row.
  const from = hasFinished && (isStill || now.atMs - first.atMs <= WINDOW_MS) ? first : recent;
  const seconds = (now.atMs - from.atMs) / 1_000;
  if (now.done - from.done < MIN_WORK || seconds * 1_000 < MIN_MS) return undefined;
  return { work: (now.done - from.done) / seconds, rows: Math.max(0, now.rows - from.rows) / seconds };
}
